"""Rules of arith and math ops, on scalars and, element by element, on tensors.

The derivative of an op of one operand is a factor in `_FACTORS`; at a kink it is that of one side, as noted there.
"""

from __future__ import annotations

import math as numbers
from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.ir import build
from ragged_dialect.ir.floats import converted
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import View, constant, linearizes, transposes
from ragged_dialect.passes.differentiate.values import compare, is_chosen, number_like, zeros_like


def _sum(*terms: ir.Value | None) -> ir.Value | None:
    total: ir.Value | None = None
    for term in terms:
        if term is not None:
            total = term if total is None else arith.addf(total, term)
    return total


def _times(factor: Callable[[], ir.Value] | None, tangent: ir.Value | None) -> ir.Value | None:
    return tangent if tangent is None or factor is None else arith.mulf(tangent, factor())


# Linear ops ----------------------------------------------------------------------------------------


@transposes(arith.AddFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.lhs, cotangent)
    ctx.add(op.rhs, cotangent)


@linearizes(arith.SubFOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    a, b = ctx.of(op.lhs), ctx.of(op.rhs)
    if a is None or b is None:
        return arith.negf(b) if a is None else a
    return arith.subf(a, b)


@transposes(arith.SubFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.lhs, cotangent)
    if ctx.is_linear(op.rhs):
        ctx.add(op.rhs, arith.negf(cotangent))


@transposes(arith.NegFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.operand, arith.negf(cotangent))


@transposes(arith.MulFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    for one, other in ((op.lhs, op.rhs), (op.rhs, op.lhs)):
        if ctx.is_linear(one):
            ctx.add(one, arith.mulf(cotangent, other))


@linearizes(arith.DivFOp)
def _(ctx: Tangents, op: View) -> ir.Value | None:
    a, b = ctx.of(op.lhs), ctx.of(op.rhs)
    above = None if a is None else arith.divf(a, op.rhs)
    below = None if b is None else arith.negf(arith.mulf(b, arith.divf(op.result, op.rhs)))
    return _sum(above, below)


@transposes(arith.DivFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.lhs, arith.divf(cotangent, op.rhs))


@linearizes(arith.ExtFOp, arith.TruncFOp, arith.ConvertFOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    return converted(ctx.given(op.operands[0]), op.result.type)


@transposes(arith.ExtFOp, arith.TruncFOp, arith.ConvertFOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    ctx.add(op.operands[0], converted(cotangent, op.operands[0].type))


# Choices -------------------------------------------------------------------------------------------


@linearizes(arith.SelectOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    a, b = ctx.of(op.true_value), ctx.of(op.false_value)
    return _select(op.condition, a, b)


def _select(condition: ir.Value, a: ir.Value | None, b: ir.Value | None) -> ir.Value:
    like = next(x for x in (a, b) if x is not None)
    return arith.select(condition, *(zeros_like(like) if x is None else x for x in (a, b)))


@transposes(arith.SelectOp)
def _(ctx: Cotangents, op: View, cotangent: ir.Value) -> None:
    if ctx.is_linear(op.true_value):
        ctx.add(op.true_value, _select(op.condition, cotangent, None))
    if ctx.is_linear(op.false_value):
        ctx.add(op.false_value, _select(op.condition, None, cotangent))


@linearizes(arith.MaxNumFOp, arith.MinNumFOp, arith.MaximumFOp, arith.MinimumFOp)
def _(ctx: Tangents, op: View) -> ir.Value:
    """That of the first operand where it is chosen."""
    return _select(is_chosen(op.operation.name, op.lhs, op.result), ctx.of(op.lhs), ctx.of(op.rhs))


@linearizes(math.ClampFOp)
def _(ctx: Tangents, op: View) -> ir.Value | None:
    """That of a bound beyond it."""
    x, low, high = (ctx.of(v) for v in op.operation.operands)
    like = next(t for t in (x, low, high) if t is not None)
    x, low, high = (zeros_like(like) if t is None else t for t in (x, low, high))
    made = arith.select(compare("olt", op.value, op.min), low, x)
    return arith.select(compare("ogt", op.value, op.max), high, made)


@linearizes(math.SincosOp)
def _(ctx: Tangents, op: View) -> list[ir.Value]:
    sin, cos = op.operation.results
    tangent = ctx.given(op.operand)
    return [arith.mulf(tangent, cos), arith.negf(arith.mulf(tangent, sin))]


# Functions of several operands ---------------------------------------------------------------------

_Partials = tuple[Callable[[], ir.Value] | None, ...]
"""The derivatives of an op by its first operands, and 0 for others; None is 1."""


def _copysign(op: View) -> _Partials:
    one = number_like(op.result, 1)
    return (lambda: arith.mulf(math.copysign(one, op.lhs), math.copysign(one, op.rhs)),)


def _base(x: ir.Value, constant: ir.Value) -> ir.Value:
    """What is raised to a power; 1 in place of nan and of what has no finite inverse where the power is 0, whose
    derivative is 0 there too."""
    inverse = arith.divf(number_like(x, 1), math.absf(x))
    bad = arith.andi(constant, compare("ueq", inverse, number_like(x, numbers.inf)))
    return arith.select(bad, number_like(x, 1), x)


def _power(op: View) -> _Partials:
    """x**y: y x**(y-1) for x; for y log(x) x**y, and 0 where x is 0."""
    zero, one = number_like(op.lhs, 0), number_like(op.lhs, 1)

    def base() -> ir.Value:
        known = _base(op.lhs, compare("oeq", op.rhs, zero))
        return arith.mulf(op.rhs, math.powf(known, arith.subf(op.rhs, one)))

    def exponent() -> ir.Value:
        is_zero = compare("oeq", op.lhs, zero)
        made = arith.mulf(op.result, math.log(arith.select(is_zero, one, op.lhs)))
        return arith.select(is_zero, zero, made)

    return base, exponent


def _atan2(op: View) -> _Partials:
    square = arith.addf(arith.mulf(op.lhs, op.lhs), arith.mulf(op.rhs, op.rhs))
    return lambda: arith.divf(op.rhs, square), lambda: arith.negf(arith.divf(op.lhs, square))


def _integer_power(op: View) -> _Partials:
    """n x**(n-1), without a division by x."""

    def factor() -> ir.Value:
        zero, one = (number_like(op.rhs, number) for number in (0, 1))
        known = _base(op.lhs, build.equal(op.rhs, zero))
        return arith.mulf(arith.sitofp(op.lhs.type, op.rhs), math.fpowi(known, arith.subi(op.rhs, one)))

    return (factor,)


_PARTIALS: dict[View, Callable[[View], _Partials]] = {
    arith.AddFOp: lambda op: (None, None),
    arith.MulFOp: lambda op: (lambda: op.rhs, lambda: op.lhs),
    arith.RemFOp: lambda op: (None, lambda: arith.negf(math.trunc(arith.divf(op.lhs, op.rhs)))),  # x - trunc(x / y) * y
    math.FmaOp: lambda op: (lambda: op.b, lambda: op.a, None),
    math.CopySignOp: _copysign,
    math.PowFOp: _power,
    math.Atan2Op: _atan2,
    math.FPowIOp: _integer_power,
}


@linearizes(*_PARTIALS)
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    given = zip(_PARTIALS[type(op)](op), op.operation.operands, strict=False)
    return [_sum(*[_times(factor, ctx.of(x)) for factor, x in given])]


# Functions of one operand --------------------------------------------------------------------------

_Factor = Callable[[ir.Value, ir.Value], ir.Value]


def _reciprocal(x: ir.Value) -> ir.Value:
    return arith.divf(number_like(x, 1), x)


def _square(x: ir.Value) -> ir.Value:
    return arith.mulf(x, x)


def _less(x: ir.Value, square: ir.Value) -> ir.Value:
    """1 - square."""
    return arith.subf(number_like(x, 1), square)


def _more(x: ir.Value) -> ir.Value:
    """1 + x**2."""
    return arith.addf(number_like(x, 1), _square(x))


def _sign(x: ir.Value) -> ir.Value:
    """-1, 0 or 1: |x| has the derivative 0 at 0."""
    zero = zeros_like(x)
    return arith.select(compare("oeq", x, zero), zero, math.copysign(number_like(x, 1), x))


def _of_erf(sign: float) -> _Factor:
    return lambda x, _: arith.mulf(
        math.exp(arith.negf(_square(x))), number_like(x, sign * 2 / numbers.sqrt(numbers.pi))
    )


def _over(factor: float) -> _Factor:
    return lambda x, _: _reciprocal(arith.mulf(x, number_like(x, factor)))


_FACTORS: dict[View, _Factor] = {
    math.AbsFOp: lambda x, _: _sign(x),
    math.ExpOp: lambda _, y: y,
    math.Exp2Op: lambda x, y: arith.mulf(y, number_like(x, numbers.log(2))),
    math.ExpM1Op: lambda x, y: arith.addf(y, number_like(x, 1)),
    math.LogOp: lambda x, _: _reciprocal(x),
    math.Log2Op: _over(numbers.log(2)),
    math.Log10Op: _over(numbers.log(10)),
    math.Log1pOp: lambda x, _: _reciprocal(arith.addf(x, number_like(x, 1))),
    math.SqrtOp: lambda x, y: arith.divf(number_like(x, 0.5), y),
    math.RsqrtOp: lambda x, y: arith.mulf(number_like(x, -0.5), arith.divf(y, x)),
    math.CbrtOp: lambda x, y: arith.divf(number_like(x, 1 / 3), _square(y)),
    math.SinOp: lambda x, _: math.cos(x),
    math.CosOp: lambda x, _: arith.negf(math.sin(x)),
    math.TanOp: lambda _, y: _more(y),
    math.AsinOp: lambda x, _: _reciprocal(math.sqrt(_less(x, _square(x)))),
    math.AcosOp: lambda x, _: arith.negf(_reciprocal(math.sqrt(_less(x, _square(x))))),
    math.AtanOp: lambda x, _: _reciprocal(_more(x)),
    math.SinhOp: lambda x, _: math.cosh(x),
    math.CoshOp: lambda x, _: math.sinh(x),
    math.TanhOp: lambda x, y: _less(x, _square(y)),
    math.AsinhOp: lambda x, _: _reciprocal(math.sqrt(_more(x))),
    math.AcoshOp: lambda x, _: _reciprocal(math.sqrt(arith.subf(_square(x), number_like(x, 1)))),
    math.AtanhOp: lambda x, _: _reciprocal(_less(x, _square(x))),
    math.ErfOp: _of_erf(1),
    math.ErfcOp: _of_erf(-1),
}
"""The derivative of an op, of its operand and its result."""


@linearizes(*_FACTORS)
def _(ctx: Tangents, op: View) -> ir.Value:
    return arith.mulf(ctx.given(op.operation.operands[0]), _FACTORS[type(op)](op.operation.operands[0], op.result))


constant(
    "piecewise constant", math.FloorOp, math.CeilOp, math.RoundOp, math.RoundEvenOp, math.TruncOp,
    arith.SIToFPOp, arith.UIToFPOp, arith.ConstantOp,
)  # fmt: skip
constant("made of bits", arith.BitcastOp)
