"""Bodies of ufuncs: scalar IR for elements that are in the dtypes of NumPy's loop already. Here those of one or a
few operations; others in `ufunc_floats`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import NamedTuple, TypeAlias, TypeVar, overload

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.elements import (
    BOOL,
    SINGLE,
    compare,
    constant,
    convert,
    create,
    infinity,
    kind,
    negated,
    select,
)
from ragged_dialect.arrays.tracing.trace import element_type


class Loop(NamedTuple):
    """The dtypes of a ufunc's loop: its first input, and its first result."""

    dtype: DType
    result: DType

    def number(self, value: float) -> ir.Value:
        """A constant of the input's dtype."""
        return constant(self.dtype, value)

    @property
    def is_float(self) -> bool:
        """Whether the input is a float."""
        return kind(self.dtype) == "f"

    @property
    def is_bool(self) -> bool:
        """Whether the input is a boolean."""
        return kind(self.dtype) == "b"


Body: TypeAlias = "Callable[..., ir.Value | list[ir.Value]]"
"""Takes the loop and the elements, and gives one or a list."""

Typed = TypeVar("Typed", bound=Callable[..., "ir.Value | list[ir.Value]"])

BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name."""


def element(name: str, loop: Loop, *x: ir.Value) -> ir.Value:
    """What a ufunc of one result makes of elements."""
    made = BODIES[name](loop, *x)
    assert not isinstance(made, list)
    return made


def register(table: dict[str, Body], *names: str) -> Callable[[Typed], Typed]:
    """Put a body into a table, under the names of ufuncs."""

    def put(body: Typed) -> Typed:
        for name in names:
            table[name] = body
        return body

    return put


@overload
def in_single(body: Callable[..., ir.Value]) -> Callable[..., ir.Value]: ...
@overload
def in_single(body: Callable[..., list[ir.Value]]) -> Callable[..., list[ir.Value]]: ...
def in_single(body: Body) -> Body:
    """A body whose short floats are computed in float32 and rounded once, as NumPy does. Exponents are integers."""

    @wraps(body)
    def made(loop: Loop, *x: ir.Value) -> ir.Value | list[ir.Value]:
        if not loop.is_float or loop.dtype.itemsize > 2:
            return body(loop, *x)
        found = body(Loop(SINGLE, SINGLE), *_floats_converted(x, loop.dtype, SINGLE))
        short = _floats_converted(found if isinstance(found, list) else [found], SINGLE, loop.dtype)
        return short if isinstance(found, list) else short[0]

    return made


def _floats_converted(values: Iterable[ir.Value], source: DType, target: DType) -> list[ir.Value]:
    return [v if isinstance(v.type, ir.IntegerType) else convert(v, source, target) for v in values]


def _math(name: str, op: str) -> None:
    def body(loop: Loop, *x: ir.Value) -> ir.Value:
        return create(op, *x)

    BODIES[name] = body


for _name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt cbrt copysign".split():
    _math(_name, f"math.{_name}")
for _name, _op in {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "rint": "roundeven", "fabs": "absf", "float_power": "powf",
}.items():  # fmt: skip
    _math(_name, f"math.{_op}")


def _rounding(name: str) -> None:
    """Integers and booleans are whole already."""

    def body(loop: Loop, x: ir.Value) -> ir.Value:
        return create(f"math.{name}", x) if loop.is_float else x

    BODIES[name] = body


for _name in ("floor", "ceil", "trunc"):
    _rounding(_name)


def _by_kind(name: str, floats: str, integers: str, booleans: str) -> None:
    def body(loop: Loop, *x: ir.Value) -> ir.Value:
        return create(floats if loop.is_float else booleans if loop.is_bool else integers, *x)

    BODIES[name] = body


_by_kind("add", "arith.addf", "arith.addi", "arith.ori")
_by_kind("subtract", "arith.subf", "arith.subi", "arith.xori")
_by_kind("multiply", "arith.mulf", "arith.muli", "arith.andi")
_by_kind("maximum", "arith.maximumf", "arith.maxsi", "arith.ori")
_by_kind("minimum", "arith.minimumf", "arith.minsi", "arith.andi")
_by_kind("fmax", "arith.maxnumf", "arith.maxsi", "arith.ori")
_by_kind("fmin", "arith.minnumf", "arith.minsi", "arith.andi")
_by_kind("bitwise_and", "", "arith.andi", "arith.andi")
_by_kind("bitwise_or", "", "arith.ori", "arith.ori")
_by_kind("bitwise_xor", "", "arith.xori", "arith.xori")
_by_kind("divide", "arith.divf", "", "")


def _comparison(name: str, predicate: str) -> None:
    def body(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
        return compare(predicate, a, b)

    BODIES[name] = body


for _name, _predicate in {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}.items():  # fmt: skip
    _comparison(_name, _predicate)


@register(BODIES, "logical_and")
def logical_and(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """Both are not 0."""
    return arith.andi(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@register(BODIES, "logical_or")
def logical_or(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """One is not 0."""
    return arith.ori(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@register(BODIES, "logical_xor")
def logical_xor(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
    """One is 0, the other is not."""
    return arith.xori(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@register(BODIES, "logical_not")
def logical_not(loop: Loop, x: ir.Value) -> ir.Value:
    """x is 0."""
    return negated(convert(x, loop.dtype, BOOL))


@register(BODIES, "invert")
def invert(loop: Loop, x: ir.Value) -> ir.Value:
    """All bits flipped."""
    return arith.xori(x, loop.number(1 if loop.is_bool else -1))


@register(BODIES, "positive", "conjugate")
def positive(loop: Loop, x: ir.Value) -> ir.Value:
    """x."""
    return x


@register(BODIES, "negative")
def negative(loop: Loop, x: ir.Value) -> ir.Value:
    """-x."""
    return arith.negf(x) if loop.is_float else arith.subi(loop.number(0), x)


@register(BODIES, "absolute")
def absolute(loop: Loop, x: ir.Value) -> ir.Value:
    """|x|; the least integer stays what it is."""
    if loop.is_bool:
        return x
    return create("math.absf", x) if loop.is_float else create("math.absi", x)


@register(BODIES, "square")
def square(loop: Loop, x: ir.Value) -> ir.Value:
    """x²."""
    return element("multiply", loop, x, x)


@register(BODIES, "sign")
def sign(loop: Loop, x: ir.Value) -> ir.Value:
    """-1, 0, 1, or nan."""
    zero = loop.number(0)
    found = select(compare("gt", x, zero), loop.number(1), select(compare("lt", x, zero), loop.number(-1), zero))
    return select(compare("ne", x, x), x, found) if loop.is_float else found


@register(BODIES, "isnan")
def isnan(loop: Loop, x: ir.Value) -> ir.Value:
    """x is not a number."""
    return compare("ne", x, x) if loop.is_float else constant(BOOL, 0)


@register(BODIES, "isinf")
def isinf(loop: Loop, x: ir.Value) -> ir.Value:
    """|x| is infinite."""
    return compare("eq", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 0)


@register(BODIES, "isfinite")
def isfinite(loop: Loop, x: ir.Value) -> ir.Value:
    """x is a number and finite."""
    return compare("lt", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 1)


@register(BODIES, "signbit")
def signbit(loop: Loop, x: ir.Value) -> ir.Value:
    """The sign bit is set, also that of -0.0 and nan."""
    bits = np.dtype(f"i{loop.dtype.itemsize}")
    return compare("lt", arith.bitcast(element_type(bits), x), constant(bits, 0))
