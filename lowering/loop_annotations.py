"""Annotations of loops for LLVM, from `scf.for` to the branches that become of it."""

from __future__ import annotations

from collections.abc import Iterable

from ragged_dialect._mlir import ir

BRANCHES = frozenset({"llvm.br", "llvm.cond_br"})
LOOP = "llvm.loop_annotation"
"""Attribute of an `scf.for`. It survives the conversions as an attribute that translation does not read."""

NOT_UNROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
"""For loops with long bodies, or that run once for much other work: copies take time to compile."""

_READ = LOOP.removeprefix("llvm.")


def keep_rolled(loop: ir.Operation) -> None:
    """Have LLVM unroll no copies of an `scf.for`."""
    loop.attributes[LOOP] = ir.Attribute.parse(NOT_UNROLLED)


def settle(branches: Iterable[ir.Operation]) -> None:
    """Give branches of the LLVM dialect the annotations that translation reads."""
    for branch in branches:
        if LOOP in branch.attributes:
            branch.attributes[_READ] = branch.attributes[LOOP]
            del branch.attributes[LOOP]
