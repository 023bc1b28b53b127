"""Annotations of loops for LLVM, from `scf.for` to the branches that become of it."""

from __future__ import annotations

from collections.abc import Iterable

from ragged_dialect._mlir import ir

BRANCHES = frozenset({"llvm.br", "llvm.cond_br"})
LOOP = "llvm.loop_annotation"
"""Attribute of an `scf.for`. It survives the conversions as an attribute that translation does not read."""

NOT_UNROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
"""For loops with long bodies, or that run once for much other work: copies take time to compile."""

OF_VECTORS = "#llvm.loop_annotation<vectorize = <disable = true>, unroll = <disable = true>>"
"""For loops of vectors, which are several registers wide as it is, and what is left for their ends, a few iterations:
copies are no faster (Zen 5), and an eighth of the time to compile."""

_READ = LOOP.removeprefix("llvm.")


def keep_rolled(loop: ir.Operation) -> None:
    """Have LLVM unroll no copies of an `scf.for`."""
    loop.attributes[LOOP] = ir.Attribute.parse(NOT_UNROLLED)


def keep_vectors(loop: ir.Operation) -> None:
    """Have LLVM take a loop of vectors as it is."""
    loop.attributes[LOOP] = ir.Attribute.parse(OF_VECTORS)


def is_of_vectors(loop: ir.Operation) -> bool:
    """Whether a loop was made one of vectors."""
    return LOOP in loop.attributes and loop.attributes[LOOP] == ir.Attribute.parse(OF_VECTORS)


def settle(branches: Iterable[ir.Operation]) -> None:
    """Give branches of the LLVM dialect the annotations that translation reads."""
    for branch in branches:
        if LOOP in branch.attributes:
            branch.attributes[_READ] = branch.attributes[LOOP]
            del branch.attributes[LOOP]
