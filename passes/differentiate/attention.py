"""The rules of attention: its tangents are an op of their own, whose transposes are ops with kernels. What these mean
is differentiated in their place."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import generic
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import element_of
from ragged_dialect.ops.attention import AttentionJvpOp, AttentionOp, AttentionVjpKvOp, AttentionVjpQOp
from ragged_dialect.ops.regions import YieldOp
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents, recorded
from ragged_dialect.passes.differentiate.tables import View, constant, linearizes, transposes
from ragged_dialect.passes.differentiate.values import or_zeros, zeros_like
from ragged_dialect.passes.differentiate.views import without_gaps
from ragged_dialect.passes.ragged_decompose_attention import decomposed

constant("is a part of attention", YieldOp)


@linearizes(AttentionOp)
def _attention(ctx: Tangents, op: AttentionOp) -> list[ir.Value | None]:
    if any(ctx.of(x) is not None for x in op.captured):
        return _of_its_meaning(ctx, op)  # kernels make no cotangents of what scores read
    given = [op.q, op.k, op.v]
    tangents = [ctx.of(x) for x in given]
    whole = [without_gaps(x) for x in given]
    tangents = [zeros_like(x) if t is None else without_gaps(t) for x, t in zip(whole, tangents, strict=True)]
    results = list(op.operation.results)
    made = builders.attention_jvp(op.operation, [*whole, *results, *tangents])
    if op.scored is not None:
        block = op.scored
        builders.scores(made, lambda score, numbers: _with_slope(block, [score, *numbers]))
    return [t if ctx.wants(r) else None for r, t in zip(results, made.results, strict=True)]


def _with_slope(block: ir.Block, arguments: list[ir.Value]) -> list[ir.Value]:
    """What a block makes of a score, and what that grows by with it."""
    ops, made = recorded(ir.InsertionPoint.current.block, lambda: inlined(block, arguments))
    scope = Tangents({arguments[0]: build.constant(arguments[0].type, 1.0)})
    scope.run(ops, made)
    return [*made, or_zeros(scope.of(made[0]), made[0])]


def _of_its_meaning(ctx: Tangents, op: View) -> list[ir.Value | None]:
    """The tangents of what says what an op means."""
    wanted = [ctx.wants(r) for r in op.operation.results]
    ops, made = recorded(ir.InsertionPoint.current.block, lambda: decomposed(op.operation, wanted))
    scope = ctx.inside({})
    scope.run(ops, [x for x in made if x is not None])
    return [None if x is None else scope.of(x) for x in made]


linearizes(AttentionJvpOp, AttentionVjpQOp, AttentionVjpKvOp)(_of_its_meaning)


@transposes(AttentionJvpOp)
def _transpose(back: Cotangents, op: AttentionJvpOp, given: Sequence[ir.Value | None]) -> None:
    upstream = or_zeros(given[0], op.o)
    rest = [op.lse, upstream, _delta(op.o, upstream, op.lse, given[1])]
    if back.is_linear(op.tq):
        back.add(op.tq, builders.attention_vjp_q(op.operation, [op.q, op.k, op.v, *rest]))
    if back.is_linear(op.tk) or back.is_linear(op.tv):
        made = builders.attention_vjp_kv(op.operation, [op.k, op.v, op.q, *rest])
        for tangent, cotangent in zip((op.tk, op.tv), made, strict=True):
            back.add(tangent, cotangent)


def _delta(o: ir.Value, upstream: ir.Value, lse: ir.Value, above: ir.Value | None) -> ir.Value:
    """The sums of `o * upstream` over rows, less the cotangent of `lse`."""
    start = zeros_like(lse) if above is None else arith.negf(above)
    rows = ir.AffineMap.get(4, 0, [ir.AffineDimExpr.get(k) for k in range(3)])
    element = element_of(lse.type)

    def body(a: list[ir.Value]) -> list[ir.Value]:
        return [arith.addf(a[2], arith.mulf(converted(a[0], element), converted(a[1], element)))]

    maps = [ir.AffineMap.get_identity(4)] * 2
    return generic([o, upstream], [start], [*maps, rows], ["parallel"] * 3 + ["reduction"], body).result
