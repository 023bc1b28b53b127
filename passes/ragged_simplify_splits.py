"""`ragged-simplify-splits`: what divisibility makes simpler."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm
from typing import ClassVar

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.errors import PassError
from ragged_dialect.ir.match import definer
from ragged_dialect.iteration import LINALG_OPS
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.divisibility import Divisors
from ragged_dialect.passes.loop_layouts import operand_loops
from ragged_dialect.passes.matching import attempt, dim_of, factor_of, producer, same_meaning, shape, source
from ragged_dialect.passes.rewriting import Rewriter, walk
from ragged_dialect.passes.split_expansion import expand_splits
from ragged_dialect.types import is_tensor

DIVISIBLE = "ragged.divisible"
"""On a split: every length is a multiple of the factor, so no tile has holes."""
EXACT_LOOPS = "ragged.exact_loops"
"""On a linalg op: tile loops without holes; they need no bound but the factor."""
VECTORIZABLE = "ragged.vectorizable"
"""On a linalg op: every trip count of the innermost loop is a multiple of this."""


@dataclass(frozen=True)
class RaggedSimplifySplits(RaggedPass):
    """Uses what divides what: moves splits over merges, marks splits without holes, makes two dims of a plain one.

    ```mlir
    // before
    %0 = ragged.assume %x {level = 1, divisible_by = 8} : …
    %1 = ragged.split %0 {dim = 1, factor = 4} : …
    %2 = ragged.split %y {dim = 0, factor = 4} : (tensor<8xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">>
    // after
    %1 = ragged.split %0 {dim = 1, factor = 4, ragged.divisible} : …
    %2 = tensor.expand_shape %y [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    ```

    Facts: static extents, constant offsets and lengths, `ragged.assume`, the argument attribute
    `ragged.divisible_by`, and what follows through the ops. Merge-then-split becomes
    split-then-merge where the factor divides the inner extent. A plain dim becomes two where every
    use of the split can take them; a split whose value leaves the function stays. Compute ops are
    marked with `ragged.exact_loops` and `ragged.vectorizable`.

    Options: `expand` (default true) allows the two dims, `vector-width` (default 4, at least 1) is
    the least multiple worth a mark.
    """

    name: ClassVar[str] = "ragged-simplify-splits"

    expand: bool = True
    vector_width: int = 4

    def __post_init__(self) -> None:
        if self.vector_width < 1:
            raise PassError(f"expected a vector-width of at least 1, got {self.vector_width}")

    def run(self, op: ir.Operation) -> None:
        """Rewrite and mark in program order; never fails."""
        known = Divisors()
        replaced: list[ir.Operation] = []
        for found in list(walk(op)):
            if found.name == "ragged.split":
                replaced += _simplify_split(found, known)
            known.visit(found)
        if self.expand:
            replaced += expand_splits(op, known)
        for found in walk(op):
            if found.name in LINALG_OPS:
                self._mark_loops(found, known)
        for found in dict.fromkeys(reversed(replaced)):
            if not any(True for _ in found.results[0].uses):
                found.erase()

    def _mark_loops(self, op: ir.Operation, known: Divisors) -> None:
        divisors, exact = _loops(op, known)
        if exact:
            op.attributes[EXACT_LOOPS] = ir.DenseI64ArrayAttr.get(exact)
        trip = divisors.get(max(divisors, default=0), 1)
        if trip and trip % self.vector_width == 0:
            op.attributes[VECTORIZABLE] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), trip)


def _simplify_split(op: ir.Operation, known: Divisors) -> list[ir.Operation]:
    """Move a split over merges as far as it goes and mark it where it leaves no holes; returns the
    ops that were replaced."""
    replaced: list[ir.Operation] = []
    while (moved := _split_before_merge(op, known)) is not None:
        replaced += [definer(source(op.operands[0])), op]
        op = moved
    if known.of(op.operands[0])[dim_of(op)] % factor_of(op) == 0:
        op.attributes[DIVISIBLE] = ir.UnitAttr.get()
    return replaced


def _split_before_merge(op: ir.Operation, known: Divisors) -> ir.Operation | None:
    """split{d, f}(merge{d}(y)) -> merge{d}(split{d+1, f}(y)) where f divides the inner extent of y
    and the layout stays; the new split."""
    merged = producer(op.operands[0], "ragged.merge")
    dim, factor = dim_of(op), factor_of(op)
    if merged is None or dim_of(merged) != dim:
        return None
    y = merged.operands[0]
    if known.of(y)[dim + 1] % factor:
        return None
    middle = attempt(lambda: shape(y).split(dim + 1, factor))
    if middle is None or not same_meaning(attempt(lambda: middle.merge(dim)), shape(op.results[0])):
        return None
    rewriter = Rewriter()
    with rewriter.before(op):
        split = builders.split(y, dim + 1, factor)
        rewriter.replace(op, builders.merge(split, dim))
    return definer(split)


def _loops(op: ir.Operation, known: Divisors) -> tuple[dict[int, int], list[int]]:
    """Per loop a divisor of its trip counts, and the tile loops without holes. A dense operand may
    be longer than a ragged loop, so the ragged ones alone decide where there are any."""
    dense: dict[int, int] = {}
    ragged: dict[int, int] = {}
    holes: dict[int, bool] = {}
    for value, loops in zip(op.operands, operand_loops(op), strict=True):
        if not is_tensor(value.type):
            continue
        x = shape(value)
        for dim, loop in enumerate(loops):
            if loop is None:
                continue
            of_kind = dense if x.layout.letter(dim) == "d" and not x.layout.is_split_outer(dim) else ragged
            of_kind[loop] = lcm(of_kind.get(loop, 1), known.of(value)[dim])
            if x.layout.letter(dim) == "t":
                holes[loop] = holes.get(loop, False) or known.of(value)[dim] != x.shape[dim]
    return dense | ragged, sorted(loop for loop, some in holes.items() if not some)
