"""Bodies of ufuncs that divide. Integers divided by 0 give 0, as in every program (`define-integer-divisions`)."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.ops.ufunc_bodies import Body, Loop, in_single, register
from ragged_dialect.arrays.tracing.elements import compare, create, infinity, select

BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name."""


@register(BODIES, "reciprocal")
def reciprocal(loop: Loop, x: ir.Value) -> ir.Value:
    """1 / x; of integers without the remainder."""
    return arith.divf(loop.number(1), x) if loop.is_float else arith.divsi(loop.number(1), x)


@register(BODIES, "fmod")
def fmod(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The remainder with the sign of a; 0 for integers by 0."""
    return arith.remf(a, b) if loop.is_float else arith.remsi(a, b)


def _divmod_floats(loop: Loop, a: ir.Value, b: ir.Value) -> tuple[ir.Value, ir.Value]:
    """floor(a / b) and the remainder with the sign of b: the steps of NumPy's divmod."""
    zero, one = loop.number(0), loop.number(1)
    rest = arith.remf(a, b)
    quotient = arith.divf(arith.subf(a, rest), b)
    moved = arith.andi(
        arith.xori(compare("lt", rest, zero), compare("lt", b, zero)),
        compare("ne", rest, zero),
    )
    quotient = select(moved, arith.subf(quotient, one), quotient)
    floor = create("math.floor", quotient)
    rounded = select(compare("gt", arith.subf(quotient, floor), loop.number(0.5)), arith.addf(floor, one), floor)
    plain = arith.divf(a, b)
    rounded = select(compare("eq", quotient, zero), create("math.copysign", zero, plain), rounded)
    signed = select(compare("eq", rest, zero), create("math.copysign", zero, b), rest)
    return select(compare("eq", b, zero), plain, rounded), select(moved, arith.addf(rest, b), signed)


@register(BODIES, "remainder")
@in_single
def remainder(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The remainder with the sign of b; 0 for integers by 0, nan for floats."""
    if loop.is_float:
        return _divmod_floats(loop, a, b)[1]
    zero = loop.number(0)
    rest = arith.remsi(a, b)
    opposite = arith.xori(compare("lt", rest, zero), compare("lt", b, zero))
    moved = arith.andi(arith.andi(opposite, compare("ne", rest, zero)), compare("ne", b, zero))
    return select(moved, arith.addi(rest, b), rest)


@register(BODIES, "floor_divide")
@in_single
def floor_divide(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """The largest integer not above a / b; 0 for integers by 0."""
    if loop.is_float:
        return _divmod_floats(loop, a, b)[0]
    quotient, rest = arith.divsi(a, b), arith.remsi(a, b)
    zero = loop.number(0)
    below = arith.andi(compare("ne", rest, zero), arith.xori(compare("lt", a, zero), compare("lt", b, zero)))
    below = arith.andi(below, compare("ne", b, zero))
    return select(below, arith.subi(quotient, loop.number(1)), quotient)


@register(BODIES, "divmod")
@in_single
def divmod_(loop: Loop, a: ir.Value, b: ir.Value) -> list[ir.Value]:
    """floor_divide and remainder."""
    return list(_divmod_floats(loop, a, b)) if loop.is_float else [floor_divide(loop, a, b), remainder(loop, a, b)]


@register(BODIES, "modf")
def modf(loop: Loop, x: ir.Value) -> list[ir.Value]:
    """The fraction and the integer, both with the sign of x."""
    whole = create("math.trunc", x)
    infinite = compare("eq", create("math.absf", x), infinity(loop.dtype, 1))
    fraction = select(infinite, loop.number(0), arith.subf(x, whole))
    return [create("math.copysign", fraction, x), whole]
