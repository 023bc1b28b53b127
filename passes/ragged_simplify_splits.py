"""`ragged-simplify-splits`: what divisibility makes simpler."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import definer, is_read
from ragged_dialect.passes.analysis.divisibility import Divisors
from ragged_dialect.passes.analysis.split_expansion import expand_splits
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.patterns.matching import attempt, dim_of, factor_of, producer, same_meaning, shape, source
from ragged_dialect.passes.patterns.rewriting import Rewriter, walk


@dataclass(frozen=True)
class RaggedSimplifySplits(RaggedPass):
    """Uses what divides what: moves splits over merges, makes two dims of a plain one.

    ```mlir
    // before
    %0 = ragged.merge %x {dim = 0} : (tensor<2x8x?xf32, #ddr>) -> tensor<16x?xf32, #dr>
    %1 = ragged.split %0 {dim = 0, factor = 4} : (tensor<16x?xf32, #dr>) -> tensor<4x4x?xf32, #ddr>
    %2 = ragged.split %y {dim = 0, factor = 4} : (tensor<8xf32>) -> tensor<2x4xf32, #ragged.layout<"dt">>
    // after
    %0 = ragged.split %x {dim = 1, factor = 4} : …
    %1 = ragged.merge %0 {dim = 0} : …
    %2 = tensor.expand_shape %y [[0, 1]] output_shape [2, 4] : tensor<8xf32> into tensor<2x4xf32>
    ```

    Facts: static extents, constant offsets and lengths, `ragged.assume`, the argument attribute
    `ragged.divisible_by`, and what follows through the ops. Merge-then-split becomes
    split-then-merge where the factor divides the inner extent. A plain dim becomes two where every
    use of the split can take them; a split whose value leaves the function stays. By the same facts
    `convert-ragged-to-scf` knows tiles without holes, whose loops are static.

    Option: `expand` (default true) allows the two dims.
    """

    anchor = "any"

    expand: bool = True

    def run(self, op: ir.Operation) -> None:
        """Rewrite in program order; never fails."""
        known = Divisors()
        replaced: list[ir.Operation] = []
        for found in list(walk(op)):
            if found.name == "ragged.split":
                replaced += _simplify_split(found, known)
            known.visit(found)
        if self.expand:
            replaced += expand_splits(op, known)
        for found in dict.fromkeys(reversed(replaced)):
            if not is_read(found.results[0]):
                found.erase()


def _simplify_split(op: ir.Operation, known: Divisors) -> list[ir.Operation]:
    """Move a split over merges as far as possible; the ops that were replaced."""
    replaced: list[ir.Operation] = []
    while (moved := _split_before_merge(op, known)) is not None:
        replaced += [definer(source(op.operands[0])), op]
        op = moved
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
