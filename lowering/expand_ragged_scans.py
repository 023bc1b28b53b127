"""`expand-ragged-scans`: scans as one pass over each component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.kinds import combine, combiner
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.iteration import BACKWARDS
from ragged_dialect.lowering.combiners import NEUTRAL, neutral_constant
from ragged_dialect.lowering.standing import standing_for
from ragged_dialect.ops.making import ScanOp
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.ragged_decompose_scans import without
from ragged_dialect.traits import has_unit


@dataclass(frozen=True)
class ExpandRaggedScans(RaggedPass):
    """Replace `ragged.scan` by a `linalg.generic` that stores what it has so far, so that `ragged-fuse` finds loops.

    ```mlir
    %y = ragged.scan %x {dim = 1, kind = "sum"} : (!jagged) -> !jagged
    // becomes
    %last, %y = linalg.generic {iterator_types = ["parallel", "reduction"]} ins(%x) outs(%zeros, %e) {
      %sum = arith.addf %so_far, %in
      linalg.yield %sum, %sum
    } -> (tensor<?xf32>, !jagged)
    ```

    Of scans with `reverse` the loop is marked `ragged.backwards`. A CPU goes over a component once;
    `ragged-decompose-scans` is for GPUs.
    """

    name: ClassVar[str] = "expand-ragged-scans"
    anchor: ClassVar[str] = "any"

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        expand_scans(op)


def expand_scans(module: ir.Operation) -> None:
    """Replace every scan."""
    for op in find_ops(module, ScanOp.OPERATION_NAME):
        with standing_for(op):
            op.results[0].replace_all_uses_with(_expanded(op))
        op.erase()


def _expanded(op: ir.Operation) -> ir.Value:
    """What a scan computes, as a reduction that stores what it has so far, at the insertion point. One of what is
    behind each element goes over the components backwards."""
    scan = view_of(op, ScanOp)
    dim, kind = scan.dim.value, scan.kind.value
    x = scan.x if scan.x.type == scan.res.type else builders.compact(scan.x)
    rank, element = len(x.type.shape), x.type.element_type
    whole = ir.AffineMap.get_identity(rank)
    kinds = ["reduction" if k == dim else "parallel" for k in range(rank)]
    start = neutral_constant(element, NEUTRAL[combiner(kind, element)])
    folded = shapes.fill(start, empty_without(x, frozenset({dim})))

    def body(given: list[ir.Value]) -> list[ir.Value]:
        made = combine(kind, given[1], given[0])
        return [made, made]

    made = generic([x], [folded, empty_like(x)], [whole, without(rank, dim), whole], kinds, body)
    if has_unit(op, "reverse"):
        made.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), dim)
    return made.results[1]
