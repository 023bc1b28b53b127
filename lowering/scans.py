"""Scans on a CPU: one pass over each component."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.kinds import combine, combiner
from ragged_dialect.ir.match import view_of
from ragged_dialect.lowering.attributes import BACKWARDS
from ragged_dialect.lowering.combiners import NEUTRAL, neutral_constant
from ragged_dialect.ops.making import ScanOp
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.ragged_decompose_scans import without
from ragged_dialect.traits import has_unit


def expand_scan(op: ir.Operation) -> ir.Value:
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
