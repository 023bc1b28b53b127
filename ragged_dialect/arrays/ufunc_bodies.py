"""One body per ufunc: scalar IR for elements that are in the dtypes of NumPy's loop already."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.elements import BOOL, compare, constant, convert, create, infinity, kind, negated, select
from ragged_dialect.arrays.spec import DType
from ragged_dialect.arrays.trace import element_type


class Loop(NamedTuple):
    """The dtypes of a ufunc's loop: its first input, and its first result."""

    dtype: DType
    result: DType

    def number(self, value: Any) -> Any:
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


Body = Callable[..., Any]
BODIES: dict[str, Body] = {}
"""Bodies by the ufunc's name; each takes the loop and the elements, and gives one or a list."""


def _body(*names: str) -> Callable[[Body], Body]:
    def register(body: Body) -> Body:
        for name in names:
            BODIES[name] = body
        return body

    return register


def _math(name: str, op: str) -> None:
    BODIES[name] = lambda loop, *x: create(op, *x)


for _name in "exp exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh sqrt cbrt copysign".split():
    _math(_name, f"math.{_name}")
for _name, _op in {
    "arcsin": "asin", "arccos": "acos", "arctan": "atan", "arcsinh": "asinh", "arccosh": "acosh", "arctanh": "atanh",
    "arctan2": "atan2", "rint": "roundeven", "fabs": "absf", "float_power": "powf",
}.items():  # fmt: skip
    _math(_name, f"math.{_op}")


def _rounding(name: str) -> None:
    """Integers and booleans are whole already."""
    BODIES[name] = lambda loop, x: create(f"math.{name}", x) if loop.is_float else x


for _name in ("floor", "ceil", "trunc"):
    _rounding(_name)


def _by_kind(name: str, floats: str, integers: str, booleans: str) -> None:
    def body(loop: Loop, *x: Any) -> Any:
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

for _name, _predicate in {
    "less": "lt", "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq", "not_equal": "ne",
}.items():  # fmt: skip
    BODIES[_name] = lambda loop, a, b, predicate=_predicate: compare(predicate, a, b)


@_body("logical_and")
def logical_and(loop: Loop, a: Any, b: Any) -> Any:
    """Both are not 0."""
    return arith.andi(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@_body("logical_or")
def logical_or(loop: Loop, a: Any, b: Any) -> Any:
    """One is not 0."""
    return arith.ori(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@_body("logical_xor")
def logical_xor(loop: Loop, a: Any, b: Any) -> Any:
    """One is 0, the other is not."""
    return arith.xori(convert(a, loop.dtype, BOOL), convert(b, loop.dtype, BOOL))


@_body("logical_not")
def logical_not(loop: Loop, x: Any) -> Any:
    """x is 0."""
    return negated(convert(x, loop.dtype, BOOL))


@_body("invert")
def invert(loop: Loop, x: Any) -> Any:
    """All bits flipped."""
    return arith.xori(x, loop.number(1 if loop.is_bool else -1))


@_body("positive", "conjugate")
def positive(loop: Loop, x: Any) -> Any:
    """x."""
    return x


@_body("negative")
def negative(loop: Loop, x: Any) -> Any:
    """-x."""
    return arith.negf(x) if loop.is_float else arith.subi(loop.number(0), x)


@_body("absolute")
def absolute(loop: Loop, x: Any) -> Any:
    """|x|; the least integer stays what it is."""
    if loop.is_bool:
        return x
    return create("math.absf", x) if loop.is_float else create("math.absi", x)


@_body("square")
def square(loop: Loop, x: Any) -> Any:
    """x²."""
    return BODIES["multiply"](loop, x, x)


@_body("reciprocal")
def reciprocal(loop: Loop, x: Any) -> Any:
    """1 / x; of integers without the remainder."""
    return arith.divf(loop.number(1), x) if loop.is_float else divide_integers(loop, loop.number(1), x)


@_body("sign")
def sign(loop: Loop, x: Any) -> Any:
    """-1, 0, 1, or nan."""
    zero = loop.number(0)
    found = select(compare("gt", x, zero), loop.number(1), select(compare("lt", x, zero), loop.number(-1), zero))
    return select(compare("ne", x, x), x, found) if loop.is_float else found


@_body("isnan")
def isnan(loop: Loop, x: Any) -> Any:
    """x is not a number."""
    return compare("ne", x, x) if loop.is_float else constant(BOOL, 0)


@_body("isinf")
def isinf(loop: Loop, x: Any) -> Any:
    """|x| is infinite."""
    return compare("eq", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 0)


@_body("isfinite")
def isfinite(loop: Loop, x: Any) -> Any:
    """x is a number and finite."""
    return compare("lt", create("math.absf", x), infinity(loop.dtype, 1)) if loop.is_float else constant(BOOL, 1)


@_body("signbit")
def signbit(loop: Loop, x: Any) -> Any:
    """The sign bit is set, also that of -0.0 and nan."""
    bits = np.dtype(f"i{loop.dtype.itemsize}")
    return compare("lt", arith.bitcast(element_type(bits), x), constant(bits, 0))


def _nonzero_divisor(loop: Loop, b: Any) -> tuple[Any, Any]:
    """A divisor the processor accepts, and whether the given one was."""
    legal = compare("ne", b, loop.number(0))
    minus = compare("eq", b, loop.number(-1))
    return select(arith.andi(legal, negated(minus)), b, loop.number(1)), legal


def divide_integers(loop: Loop, a: Any, b: Any) -> Any:
    """a / b towards 0; 0 for a divisor of 0, and what overflow gives for -1."""
    divisor, legal = _nonzero_divisor(loop, b)
    quotient = arith.divsi(a, divisor)
    quotient = select(compare("eq", b, loop.number(-1)), arith.subi(loop.number(0), a), quotient)
    return select(legal, quotient, loop.number(0))


def remainder_toward_zero(loop: Loop, a: Any, b: Any) -> Any:
    """The remainder of integers with the sign of a; 0 for a divisor of 0."""
    divisor, _ = _nonzero_divisor(loop, b)
    return arith.remsi(a, divisor)


@_body("fmod")
def fmod(loop: Loop, a: Any, b: Any) -> Any:
    """The remainder with the sign of a; 0 for integers by 0."""
    return arith.remf(a, b) if loop.is_float else remainder_toward_zero(loop, a, b)


@_body("remainder")
def remainder(loop: Loop, a: Any, b: Any) -> Any:
    """The remainder with the sign of b; 0 for integers by 0, nan for floats."""
    zero = loop.number(0)
    rest = fmod(loop, a, b)
    add = arith.addf if loop.is_float else arith.addi
    opposite = arith.xori(compare("lt", rest, zero), compare("lt", b, zero))
    moved = arith.andi(opposite, compare("ne", rest, zero))
    if not loop.is_float:
        moved = arith.andi(moved, compare("ne", b, zero))
        return select(moved, add(rest, b), rest)
    exact = create("math.copysign", zero, b)
    return select(compare("eq", rest, zero), exact, select(moved, add(rest, b), rest))


@_body("floor_divide")
def floor_divide(loop: Loop, a: Any, b: Any) -> Any:
    """The largest integer not above a / b; 0 for integers by 0."""
    if not loop.is_float:
        quotient, rest = divide_integers(loop, a, b), remainder_toward_zero(loop, a, b)
        zero = loop.number(0)
        below = arith.andi(compare("ne", rest, zero), arith.xori(compare("lt", a, zero), compare("lt", b, zero)))
        below = arith.andi(below, compare("ne", b, zero))
        return select(below, arith.subi(quotient, loop.number(1)), quotient)
    rest = remainder(loop, a, b)
    quotient = arith.divf(arith.subf(a, rest), b)
    floor = create("math.floor", quotient)
    rounded = select(
        compare("gt", arith.subf(quotient, floor), loop.number(0.5)), arith.addf(floor, loop.number(1)), floor
    )
    plain = arith.divf(a, b)
    rounded = select(compare("eq", quotient, loop.number(0)), create("math.copysign", loop.number(0), plain), rounded)
    return select(compare("eq", b, loop.number(0)), plain, rounded)


@_body("divmod")
def divmod_(loop: Loop, a: Any, b: Any) -> list[Any]:
    """floor_divide and remainder."""
    return [floor_divide(loop, a, b), remainder(loop, a, b)]


@_body("modf")
def modf(loop: Loop, x: Any) -> list[Any]:
    """The fraction and the integer, both with the sign of x."""
    whole = create("math.trunc", x)
    infinite = compare("eq", create("math.absf", x), infinity(loop.dtype, 1))
    fraction = select(infinite, loop.number(0), arith.subf(x, whole))
    return [create("math.copysign", fraction, x), whole]


@_body("power")
def power(loop: Loop, a: Any, b: Any) -> Any:
    """a to the b; integers to a negative power give what 1 / a would, without the remainder."""
    return create("math.powf", a, b) if loop.is_float else create("math.ipowi", a, b)


@_body("ldexp")
def ldexp(loop: Loop, x: Any, exponent: Any) -> Any:
    """x times 2 to the exponent, in two steps: a power alone may overflow where the product does not."""
    float_ = element_type(loop.dtype)
    half = arith.divsi(
        exponent,
        ir.Operation.create(
            "arith.constant", results=[exponent.type], attributes={"value": ir.IntegerAttr.get(exponent.type, 2)}
        ).result,
    )
    steps = [half, arith.subi(exponent, half)]
    for step in steps:
        x = arith.mulf(x, create("math.exp2", arith.sitofp(float_, step)))
    return x


@_body("heaviside")
def heaviside(loop: Loop, x: Any, at_zero: Any) -> Any:
    """0 below 0, 1 above, `at_zero` at 0."""
    zero = loop.number(0)
    found = select(compare("eq", x, zero), at_zero, select(compare("lt", x, zero), zero, loop.number(1)))
    return select(compare("ne", x, x), x, found)


@_body("hypot")
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


@_body("logaddexp")
def logaddexp(loop: Loop, a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b))."""
    return _add_exponentials(loop, a, b, "math.exp", 1)


@_body("logaddexp2")
def logaddexp2(loop: Loop, a: Any, b: Any) -> Any:
    """log2(2**a + 2**b)."""
    return _add_exponentials(loop, a, b, "math.exp2", 1 / math.log(2))


@_body("deg2rad", "radians")
def radians(loop: Loop, x: Any) -> Any:
    """Degrees to radians."""
    return arith.mulf(x, loop.number(math.pi / 180))


@_body("rad2deg", "degrees")
def degrees(loop: Loop, x: Any) -> Any:
    """Radians to degrees."""
    return arith.mulf(x, loop.number(180 / math.pi))


def _bits(loop: Loop) -> int:
    return 8 * loop.dtype.itemsize


@_body("left_shift")
def left_shift(loop: Loop, a: Any, b: Any) -> Any:
    """a times 2 to the b; 0 where all bits go."""
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("lt", b, loop.number(_bits(loop) - 1)))
    last = compare("eq", b, loop.number(_bits(loop) - 1))
    inside = arith.ori(inside, last)
    return select(inside, arith.shli(a, select(inside, b, loop.number(0))), loop.number(0))


@_body("right_shift")
def right_shift(loop: Loop, a: Any, b: Any) -> Any:
    """a by 2 to the b, rounded down; the sign where all bits go."""
    most = loop.number(_bits(loop) - 1)
    inside = arith.andi(compare("ge", b, loop.number(0)), compare("le", b, most))
    return arith.shrsi(a, select(inside, b, most))
