"""Rules of linalg ops: the body is differentiated as any list of ops; reductions by their combiner."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import along, without
from ragged_dialect.ir.match import combiner_of
from ragged_dialect.iteration import LINALG_OPS
from ragged_dialect.passes.differentiate import reductions
from ragged_dialect.passes.differentiate.adjoint import Adjoint
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.gathers import of_gathered
from ragged_dialect.passes.differentiate.nests import Access, Nest, computed, mapped, starting_at
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, View, linearizes, transposes
from ragged_dialect.passes.differentiate.values import empty_without, or_zeros, zeros_like

WITH_BODY = tuple(sorted(LINALG_OPS - {"linalg.softmax", "linalg.select"}))
"""Ops whose body says what they compute."""

_COMBINERS: dict[str, Callable[[Tangents, Nest, int, ir.Operation], ir.Value | None]] = {
    **dict.fromkeys(("arith.maximumf", "arith.minimumf", "arith.maxnumf", "arith.minnumf"), reductions.chosen),
    "arith.mulf": reductions.multiplied,
}


@linearizes(*WITH_BODY)
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    nest = Nest.of(op.operation)
    return [_tangent(ctx, nest, number) if ctx.wants(r) else None for number, r in enumerate(op.operation.results)]


def _tangent(ctx: Tangents, nest: Nest, number: int) -> ir.Value | None:
    read = nest.outs_of(number)
    if not read or not nest.reduces:
        return _of_elements(ctx, nest, number, read)
    if read != [number]:
        text = "expected a reduction of each result that reads no other one"
        raise DerivativeFailure(
            nest.op, f"{text}, got result #{number} that reads #{next(k for k in read if k != number)}"
        )
    names = ("arith.addf", "arith.subf", *_COMBINERS)
    combiner = combiner_of(nest.accumulator(number), nest.yielded(number), names)
    if combiner is None or (combiner.name == "arith.subf" and combiner.operands[0] != nest.accumulator(number)):
        wanted = ", ".join(names)
        raise DerivativeFailure(
            nest.op, f"expected a reduction by one of {wanted}, got '{nest.op.name}' with another body"
        )
    made = _COMBINERS.get(combiner.name)
    return _summed(ctx, nest, number) if made is None else made(ctx, nest, number, combiner)


def _with_tangents(ctx: Tangents, ins: tuple[Access, ...]) -> tuple[list[Access], list[int]]:
    """Inputs, then the tangents of those that have one, and which these are."""
    active = [k for k, access in enumerate(ins) if ctx.of(access.value) is not None]
    return [*ins, *(Access(ctx.given(ins[k].value), ins[k].map) for k in active)], active


def _of_elements(ctx: Tangents, nest: Nest, number: int, read: list[int]) -> ir.Value | None:
    """The tangent of a result whose elements are computed once, of inputs and of what is in some outs before."""
    own = (*nest.ins, *(nest.outs[k] for k in read))
    ins, active = _with_tangents(ctx, own)
    if not active and not nest.gathers(lambda v: ctx.of(v) is not None):
        return None
    if not nest.computes_once(number):
        raise DerivativeFailure(
            nest.op,
            "expected a reduction, or an iteration for every element of the result, "
            f"got map {nest.outs[number].map} in '{nest.op.name}'",
        )
    arguments = [*nest.elements, *(nest.accumulator(k) for k in read)]

    def body(elements: list[ir.Value]) -> ir.Value:
        known = dict(zip(arguments, elements, strict=False))
        given = dict(zip((elements[k] for k in active), elements[len(own) :], strict=True))
        return yielded_tangent(ctx, nest, number, known, given)

    return mapped(ins, nest.outs[number], nest.kinds, body)


def _summed(ctx: Tangents, nest: Nest, number: int) -> ir.Value | None:
    """The tangent of a sum: the sum of the tangents."""
    out = nest.outs[number]
    ins, active = _with_tangents(ctx, nest.ins)
    if not active and not nest.gathers(lambda v: ctx.of(v) is not None):
        return ctx.of(out.value)

    def body(elements: list[ir.Value]) -> ir.Value:
        *given, accumulator = elements
        known = {**dict(zip(nest.elements, given, strict=False)), nest.accumulator(number): accumulator}
        tangents = dict(zip((given[k] for k in active), given[len(nest.ins) :], strict=True))
        return yielded_tangent(ctx, nest, number, known, {**tangents, accumulator: accumulator})

    return computed(ins, out, nest.kinds, body, starting_at(ctx.of(out.value)))


def yielded_tangent(
    ctx: Tangents, nest: Nest, number: int, known: dict[ir.Value, ir.Value], given: dict[ir.Value, ir.Value]
) -> ir.Value:
    """The tangent of what a body yields, from those of its elements."""
    scope = ctx.inside(given)
    steps = nest.steps(known)
    result = nest.yielded(number)
    result = known.get(result, result)
    scope.run(steps, [result])
    return or_zeros(scope.of(result), result)


@transposes(*WITH_BODY)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    """The maps are swapped: what the op reads is what its transpose writes. A sum gives its cotangent to what it
    starts from as well."""
    nest = Nest.of(op.operation)
    ctx.add(nest.outs[0].value, cotangent if nest.reads_out(0) else None)  # None where that is overwritten
    adjoint = Adjoint(ctx, nest, cotangent)
    for number, access in enumerate(nest.ins):
        if ctx.is_linear(access.value):
            ctx.add(access.value, adjoint.of_input(number))
    of_gathered(adjoint)


@linearizes("linalg.softmax")
def _(ctx: Tangents, op: View) -> ir.Value | None:
    """y (t - sum(y t)), of the result y alone."""
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
