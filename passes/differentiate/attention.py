"""The rule of `ragged.attention`: the tangents are those of what it means, computed again beside it."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ops.attention import AttentionOp
from ragged_dialect.passes.differentiate.flow import Tangents, recorded
from ragged_dialect.passes.differentiate.tables import linearizes
from ragged_dialect.passes.ragged_decompose_attention import decomposed


@linearizes(AttentionOp)
def _attention(ctx: Tangents, op: AttentionOp) -> list[ir.Value | None]:
    results = list(op.operation.results)
    wanted = [ctx.wants(r) for r in results]
    ops, made = recorded(ir.InsertionPoint.current.block, lambda: decomposed(op.operation, wanted))
    scope = ctx.inside({})
    scope.run(ops, [x for x in made if x is not None])
    return [None if x is None else scope.of(x) for x in made]
