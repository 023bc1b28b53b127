"""`share-long-reductions`: all threads work on a reduction of all rows into a few elements."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.match import enclosing
from ragged_dialect.ir.walk import outermost
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers import extent, is_buffer, plain_dim
from ragged_dialect.lowering.skew.parts import Parts
from ragged_dialect.passes.base import PassFailure, RaggedPass

_PER_RESULT = 16
"""Elements of a part for each result: what is left of all parts is 1/16 of the widest buffer at most."""
_LOOPS = ("scf.for", "scf.forall", "scf.parallel", "scf.while")


@dataclass(frozen=True)
class ShareLongReductions(RaggedPass):
    """Reduce all rows of a buffer into a few elements in two steps: parts of the rows, by a forall, and then the parts.

    ```mlir
    linalg.generic … ["reduction", "parallel"] ins(%x : memref<?x64xf32>) outs(%sums : memref<64xf32>)
    // becomes
    %parts = memref.alloc(%tiles) : memref<?x64xf32>
    scf.forall (%t) in (%tiles) { … fill of an own sum … linalg.generic … ins(%rows) outs(%own) … copy to the part … }
    linalg.generic … ["reduction", "parallel"] ins(%parts : memref<?x64xf32>) outs(%sums : memref<64xf32>)
    ```

    Other flat ops are cut along the rows of what they write by `convert-ragged-forall-to-loops`; here these are few.
    The parts have `elements` of the widest buffer each, or 16 for each result, and are combined in their order, so
    results do not depend on the number of threads. Reductions stay as they are that have more than `results`, whose
    parts cannot be combined, or that are in loops. Precondition: bufferized.
    """

    name: ClassVar[str] = "share-long-reductions"
    elements: int = 16384
    results: int = 65536

    def run(self, op: ir.Operation) -> None:
        """Rewrite the reductions of every function of a module."""
        if self.elements < 1:
            raise PassFailure(op, f"expected elements of at least 1, got {self.elements}")
        for generic in outermost(op, "linalg.generic"):
            results = _results(generic)
            if results is not None and results <= self.results and not _is_in_loop(generic):
                _share(generic, max(self.elements, _PER_RESULT * results))


def _results(op: ir.Operation) -> int | None:
    """The elements of the largest result of an op, None where they are not known, or it says how it is done."""
    outs = list(op.operands)[op.attributes["operandSegmentSizes"][0] :]
    if Mapping.of(op) != Mapping() or not all(is_buffer(x) and DYNAMIC not in x.type.shape for x in outs):
        return None
    return max(prod(x.type.shape) for x in outs)


def _share(op: ir.Operation, elements: int) -> None:
    for loop, kind in enumerate(iterator_kinds(op)):
        rows = _rows(op, loop) if kind == "reduction" else None
        parts = None if rows is None else Parts.over(op, loop)
        if rows is not None and parts is not None and not parts.runs:
            with ir.InsertionPoint(op), op.location:
                length = build.value(extent(*rows))
            parts.share(length, elements)
            return


def _rows(op: ir.Operation, loop: int) -> tuple[ir.Value, int] | None:
    """A buffer and its dim that a loop of unknown extent is along."""
    for x, map_ in zip(op.operands, indexing_maps(op), strict=True):
        dim = plain_dim(map_, loop)
        if is_buffer(x) and dim is not None and dim >= 0 and x.type.shape[dim] == DYNAMIC:
            return x, dim
    return None


def _is_in_loop(op: ir.Operation) -> bool:
    while op.name != "func.func":
        op = enclosing(op)
        if op.name in _LOOPS:
            return True
    return False
