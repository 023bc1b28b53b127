"""Bodies of ufuncs that are small formulas of floats."""

from __future__ import annotations

import math
from typing import Any

from ragged_dialect._mlir import arith
from ragged_dialect.arrays.ops.ufunc_bodies import Body, Loop, register
from ragged_dialect.arrays.tracing.elements import compare, create, infinity, select
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.ir import build

BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name."""


@register(BODIES, "power")
def power(loop: Loop, a: Any, b: Any) -> Any:
    """a to the b; integers to a negative power give what 1 / a would, without the remainder."""
    return create("math.powf", a, b) if loop.is_float else create("math.ipowi", a, b)


@register(BODIES, "ldexp")
def ldexp(loop: Loop, x: Any, exponent: Any) -> Any:
    """x times 2 to the exponent, in two steps: a power alone may overflow where the product does not."""
    float_ = element_type(loop.dtype)
    half = arith.divsi(exponent, build.constant(exponent.type, 2))
    steps = [half, arith.subi(exponent, half)]
    for step in steps:
        x = arith.mulf(x, create("math.exp2", arith.sitofp(float_, step)))
    return x


@register(BODIES, "heaviside")
def heaviside(loop: Loop, x: Any, at_zero: Any) -> Any:
    """0 below 0, 1 above, `at_zero` at 0."""
    zero = loop.number(0)
    found = select(compare("eq", x, zero), at_zero, select(compare("lt", x, zero), zero, loop.number(1)))
    return select(compare("ne", x, x), x, found)


@register(BODIES, "hypot")
def hypot(loop: Loop, a: Any, b: Any) -> Any:
    """The root of a² + b², without overflow on the way."""
    a, b = create("math.absf", a), create("math.absf", b)
    high, low = arith.maximumf(a, b), arith.minimumf(a, b)
    ratio = arith.divf(low, high)
    root = arith.mulf(high, create("math.sqrt", arith.addf(loop.number(1), arith.mulf(ratio, ratio))))
    found = select(compare("eq", high, loop.number(0)), high, root)
    infinite = arith.ori(compare("eq", a, infinity(loop.dtype, 1)), compare("eq", b, infinity(loop.dtype, 1)))
    return select(infinite, infinity(loop.dtype, 1), found)


def _add_exponentials(loop: Loop, a: Any, b: Any, exp: str, scale: float) -> Any:
    high = arith.maximumf(a, b)
    below = arith.negf(create("math.absf", arith.subf(a, b)))
    added = create("math.log1p", create(exp, below))
    found = arith.addf(high, arith.mulf(added, loop.number(scale)) if scale != 1 else added)
    return select(compare("eq", a, b), arith.addf(a, loop.number(math.log(2) * scale)), found)


@register(BODIES, "logaddexp")
def logaddexp(loop: Loop, a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    return _add_exponentials(loop, a, b, "math.exp", 1)


@register(BODIES, "logaddexp2")
def logaddexp2(loop: Loop, a: Any, b: Any) -> Any:
    """log2(2**a + 2**b)."""
    return _add_exponentials(loop, a, b, "math.exp2", 1 / math.log(2))


@register(BODIES, "deg2rad", "radians")
def radians(loop: Loop, x: Any) -> Any:
    """Degrees to radians."""
    return arith.mulf(x, loop.number(math.pi / 180))


@register(BODIES, "rad2deg", "degrees")
def degrees(loop: Loop, x: Any) -> Any:
    """Radians to degrees."""
    return arith.mulf(x, loop.number(180 / math.pi))
