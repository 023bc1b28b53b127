"""What loops and kernels are marked with: facts for later passes, and annotations for LLVM."""

from __future__ import annotations

from collections.abc import Iterable

from ragged_dialect._mlir import ir

BRANCHES = frozenset({"llvm.br", "llvm.cond_br"})
LOOP = "llvm.loop_annotation"
"""Attribute of an `scf.for`. It survives the conversions as an attribute that translation does not read."""

NOT_UNROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
"""For loops with long bodies, or that run once for much other work: copies take time to compile."""

PARALLEL = "ragged.parallel"
"""Attribute of an `scf.for` whose iterations are independent."""

KERNEL = "ragged.kernel"
"""Attribute of a function over a range of independent iterations: (lo, hi, work, captures…)."""

_READ = LOOP.removeprefix("llvm.")


def settle(branches: Iterable[ir.Operation]) -> None:
    """Give branches of the LLVM dialect the annotations that translation reads."""
    for branch in branches:
        if LOOP in branch.attributes:
            branch.attributes[_READ] = branch.attributes[LOOP]
            del branch.attributes[LOOP]
