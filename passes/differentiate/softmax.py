"""The rule of `linalg.softmax`: y (t - sum(y t)), of the result y alone."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import along, without
from ragged_dialect.passes.differentiate.flow import Tangents
from ragged_dialect.passes.differentiate.nests import Access, computed, mapped
from ragged_dialect.passes.differentiate.tables import View, linearizes
from ragged_dialect.passes.differentiate.values import empty_without, zeros_like


@linearizes("linalg.softmax")
def _(ctx: Tangents, op: View) -> ir.Value | None:
    """The tangent of the result of a softmax."""
    given = ctx.of(op.operation.operands[0])
    if given is None:
        return None
    result = op.operation.results[0]
    rank = len(result.type.shape)
    dim = op.operation.attributes["dimension"].value
    whole = ir.AffineMap.get_identity(rank)
    rest = without(rank, dim)
    y, t = Access(result, whole), Access(given, whole)
    total = computed(
        [y, t],
        Access(empty_without(result, frozenset({dim})), rest),
        along(rank, dim),
        lambda e: arith.addf(e[2], arith.mulf(e[1], e[0])),
        zeros_like,
    )
    ins = [y, t, Access(total, rest)]
    return mapped(ins, y, ["parallel"] * rank, lambda e: arith.mulf(arith.subf(e[1], e[2]), e[0]))
