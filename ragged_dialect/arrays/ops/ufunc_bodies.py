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


def register(*names: str) -> Callable[[Typed], Typed]:
    """Put a body into the table, under the names of ufuncs."""

    def put(body: Typed) -> Typed:
        BODIES.update(dict.fromkeys(names, body))
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


def _of_op(name: str, floats: str, integers: str, booleans: str) -> None:
    """A ufunc that is an op for each kind of number; without one the element stays what it is."""

    def body(loop: Loop, *x: ir.Value) -> ir.Value:
        op = floats if loop.is_float else booleans if loop.is_bool else integers
        return create(op, *x) if op else x[0]

    BODIES[name] = body


for _name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt cbrt copysign".split():
    _of_op(_name, f"math.{_name}", "", "")
for _name, _op in {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "rint": "roundeven", "fabs": "absf", "float_power": "powf",
    "floor": "floor", "ceil": "ceil", "trunc": "trunc",
}.items():  # fmt: skip
    _of_op(_name, f"math.{_op}", "", "")  # integers, which NumPy gives to none but the last three, are whole already
for _name, *_ops in (
    ("add", "arith.addf", "arith.addi", "arith.ori"),
    ("subtract", "arith.subf", "arith.subi", "arith.xori"),
    ("multiply", "arith.mulf", "arith.muli", "arith.andi"),
    ("maximum", "arith.maximumf", "arith.maxsi", "arith.ori"),
    ("minimum", "arith.minimumf", "arith.minsi", "arith.andi"),
    ("fmax", "arith.maxnumf", "arith.maxsi", "arith.ori"),
    ("fmin", "arith.minnumf", "arith.minsi", "arith.andi"),
    ("bitwise_and", "", "arith.andi", "arith.andi"),
    ("bitwise_or", "", "arith.ori", "arith.ori"),
    ("bitwise_xor", "", "arith.xori", "arith.xori"),
    ("divide", "arith.divf", "", ""),
    ("fmod", "arith.remf", "arith.remsi", ""),  # with the sign of a; 0 for integers by 0
    ("power", "math.powf", "math.ipowi", ""),  # of integers to a negative power what 1 / a gives, without the remainder
    ("absolute", "math.absf", "math.absi", ""),  # the least integer stays what it is
    ("positive", "", "", ""),
    ("conjugate", "", "", ""),
):
    _of_op(_name, *_ops)


def _of_truth(name: str, op: Callable[[ir.Value, ir.Value], ir.Value]) -> None:
    """A function of whether the elements are not 0."""

    def body(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
        return op(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))

    BODIES[name] = body


_of_truth("logical_and", arith.andi)
_of_truth("logical_or", arith.ori)
_of_truth("logical_xor", arith.xori)


def _comparison(name: str, predicate: str) -> None:
    def body(loop: Loop, a: ir.Value, b: ir.Value) -> ir.Value:
        return compare(predicate, a, b)

    BODIES[name] = body


for _name, _predicate in {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}.items():  # fmt: skip
    _comparison(_name, _predicate)


@register("logical_not")
def logical_not(loop: Loop, x: ir.Value) -> ir.Value:
    """x is 0."""
    return negated(convert(x, loop.dtype, BOOL))


@register("invert")
def invert(loop: Loop, x: ir.Value) -> ir.Value:
    """All bits flipped."""
    return arith.xori(x, loop.number(1 if loop.is_bool else -1))


@register("negative")
def negative(loop: Loop, x: ir.Value) -> ir.Value:
    """-x."""
    return arith.negf(x) if loop.is_float else arith.subi(loop.number(0), x)


@register("square")
def square(loop: Loop, x: ir.Value) -> ir.Value:
    """x²."""
    return element("multiply", loop, x, x)


@register("sign")
def sign(loop: Loop, x: ir.Value) -> ir.Value:
    """-1, 0, 1, or nan."""
    zero = loop.number(0)
    found = select(compare("gt", x, zero), loop.number(1), select(compare("lt", x, zero), loop.number(-1), zero))
    return select(compare("ne", x, x), x, found) if loop.is_float else found


@register("isnan")
def isnan(loop: Loop, x: ir.Value) -> ir.Value:
    """x is not a number."""
    return compare("ne", x, x) if loop.is_float else constant(BOOL, 0)


@register("isinf")
def isinf(loop: Loop, x: ir.Value) -> ir.Value:
    """|x| is infinite."""
    return compare("eq", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 0)


@register("isfinite")
def isfinite(loop: Loop, x: ir.Value) -> ir.Value:
    """x is a number and finite."""
    return compare("lt", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 1)


@register("signbit")
def signbit(loop: Loop, x: ir.Value) -> ir.Value:
    """The sign bit is set, also that of -0.0 and nan."""
    bits = np.dtype(f"i{loop.dtype.itemsize}")
    return compare("lt", arith.bitcast(element_type(bits), x), constant(bits, 0))
