"""`ragged-compute-once`: what is the same in all iterations of a loop is reduced once."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import (
    generic,
    index_loops,
    indexing_maps,
    iterator_kinds,
    left_of,
    renumber_loops,
    without_body,
)
from ragged_dialect.ir import shapes
from ragged_dialect.ir.clone import copy_regions
from ragged_dialect.ir.match import defining_op, filled_with
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.iteration import BACKWARDS, expr_uses, share_mapping
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.values import empty_without


class RaggedComputeOnce(RaggedPass):
    """Computes reductions without the loops that only their result has, and repeats what they give.

    ```mlir
    %1 = linalg.generic {indexing_maps = [(b, i, n, k) -> (b, n), (b, i, n, k) -> (k, n), (b, i, n, k) -> (b, i, k)], …}
      ins(%g, %w : tensor<?x32xf32>, tensor<64x32xf32>) outs(%zeros : tensor<?x?x64xf32, #ragged.layout<"dr|d">>)
    // becomes
    %0 = linalg.generic {indexing_maps = [(b, n, k) -> (b, n), (b, n, k) -> (k, n), (b, n, k) -> (b, k)], …}
      ins(%g, %w) outs(%fewer_zeros : tensor<?x64xf32>)
    %1 = linalg.generic {indexing_maps = [(b, i, k) -> (b, k), (b, i, k) -> (b, i, k)], …}
      ins(%0) outs(%empty : tensor<?x?x64xf32, #ragged.layout<"dr|d">>)
    ```

    Gradients of products whose rows are summed, or averaged, are such: all rows of a component have the same. Only for
    `linalg.generic` with one result, which starts as a fill. Loops stay that a layout needs: those around a ragged dim
    that stays. The same numbers are computed, in the same order.
    """

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Rewrite in every block below `op`."""
        for found in find_ops(op, "linalg.generic"):
            with found.location, ir.InsertionPoint(found):
                _compute_once(found)


def _compute_once(op: ir.Operation) -> None:
    *ins, out = op.operands
    *maps, written = indexing_maps(op)
    kinds, fill = iterator_kinds(op), defining_op(out)
    number = None if fill is None else filled_with(fill)
    if len(op.results) != 1 or number is None or "reduction" not in kinds or BACKWARDS in op.attributes:
        return
    if not all(isinstance(expr, ir.AffineDimExpr) for expr in written.results):
        return
    used = index_loops(op.regions[0].blocks[0])
    used |= {k for k in range(len(kinds)) if any(expr_uses(expr, k) for m in maps for expr in m.results)}
    loops = [ir.AffineDimExpr(expr).position for expr in written.results]
    gone = frozenset(dim for dim, loop in enumerate(loops) if loop not in used)
    if not gone:
        return
    try:
        start = shapes.fill(number, empty_without(out, gone))
    except LayoutError:
        return
    place = {
        loop: k for k, loop in enumerate(sorted(used | {k for k, kind in enumerate(kinds) if kind == "reduction"}))
    }
    once = without_body(
        ins,
        [start],
        [*(left_of(m, place) for m in maps), left_of(written, place, gone)],
        [kinds[loop] for loop in place],
    )
    copy_regions(op, once)
    renumber_loops(once, place)
    share_mapping(op, once)
    whole = ir.AffineMap.get_identity(len(loops))
    read = left_of(whole, {k: k for k in range(len(loops))}, gone)
    again = generic([once.results[0]], [out], [read, whole], ["parallel"] * len(loops), lambda given: given[:1])
    share_mapping(op, again)
    replace(op, again.results[0])
