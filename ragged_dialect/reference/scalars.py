"""The arith ops on NumPy scalars and arrays, with MLIR's wrap-around, signs and rounding.

i1 is `bool`, index is `int64`; other integers are signed NumPy types whatever the op makes of
their sign. Every function takes arrays or scalars of the operands' types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from ragged_dialect.errors import RaggedError

Data: TypeAlias = np.ndarray
"""A scalar is taken for an array of rank 0, whose interface it has."""
Function: TypeAlias = Callable[[Data], Data] | Callable[[Data, Data], Data] | Callable[[Data, Data, Data], Data]


def dtype_of(x: Data) -> np.dtype:
    """The dtype of a scalar or array."""
    return np.asarray(x).dtype


def is_float(dtype: np.dtype) -> bool:
    """Whether a dtype is one of the float types (bfloat16 is of kind V or f in NumPy's terms)."""
    return dtype.kind not in "iub"


def width(dtype: np.dtype) -> int:
    """Bits of an integer type."""
    return 1 if dtype.kind == "b" else 8 * dtype.itemsize


def signed(x: Data) -> Data:
    """An integer as signed: true of i1 is -1."""
    x = np.asarray(x)
    return -x.astype(np.int8) if x.dtype.kind == "b" else x


def unsigned(x: Data) -> Data:
    """An integer as unsigned."""
    x = np.asarray(x)
    return x.astype(np.uint8) if x.dtype.kind == "b" else x.view(f"u{x.dtype.itemsize}")


def to_integer(x: Data, dtype: np.dtype) -> Data:
    """The low bits of an integer in a type."""
    x = np.asarray(x)
    if dtype.kind == "b":
        return (x & 1) != 0
    return (
        x.astype(f"u{x.dtype.itemsize}").astype(f"u{dtype.itemsize}").view(dtype)
        if x.dtype.itemsize >= dtype.itemsize
        else x.astype(dtype)
    )


def _like(function: Callable[..., Data], view: Callable[[Data], Data]) -> Callable[..., Data]:
    def run(*operands: Data) -> Data:
        return to_integer(function(*map(view, operands)), dtype_of(operands[0]))

    return run


def _signed(function: Callable[..., Data]) -> Callable[..., Data]:
    return _like(function, signed)


def _unsigned(function: Callable[..., Data]) -> Callable[..., Data]:
    return _like(function, unsigned)


def _divided(function: Callable[[Data, Data], Data]) -> Callable[[Data, Data], Data]:
    """A division that gives 0 for a divisor of 0: MLIR leaves it undefined."""

    def run(a: Data, b: Data) -> Data:
        zero = np.asarray(b) == 0
        return np.where(zero, 0, function(a, np.where(zero, 1, b)))

    return run


@_divided
def _floordiv(a: Data, b: Data) -> Data:
    return np.floor_divide(a, b)


@_divided
def _ceildiv(a: Data, b: Data) -> Data:
    quotient = np.floor_divide(a, b)
    return quotient + (np.multiply(quotient, b) != a)


@_divided
def _truncdiv(a: Data, b: Data) -> Data:
    quotient = np.floor_divide(a, b)
    inexact = np.multiply(quotient, b) != a
    return quotient + (inexact & ((np.asarray(a) < 0) != (np.asarray(b) < 0)))


def _truncrem(a: Data, b: Data) -> Data:
    """What is left of a; nothing by 0."""
    return np.where(np.asarray(b) == 0, 0, a - _truncdiv(a, b) * b)


def _shift(function: Callable[[Data, Data], Data]) -> Callable[..., Data]:
    def run(a: Data, b: Data) -> Data:
        bits = width(dtype_of(a))
        if np.any(unsigned(b) >= bits):
            raise RaggedError(f"expected a shift below {bits}, got {b}")
        return function(a, b)

    return run


def _float_min_max(largest: bool, nan_wins: bool) -> Callable[..., Data]:
    """maximumf and minimumf: NaN wins, -0 < +0; maxnumf and minnumf: NaN loses."""

    def run(a: Data, b: Data) -> Data:
        a, b = np.asarray(a), np.asarray(b)
        less = (a < b) | ((a == b) & np.signbit(a) & ~np.signbit(b))
        out = np.where(less != largest, a, b)
        if nan_wins:
            return np.where(np.isnan(a), a, np.where(np.isnan(b), b, out)).astype(a.dtype)
        return np.where(np.isnan(a), b, np.where(np.isnan(b), a, out)).astype(a.dtype)

    return run


def _rounded(function: Callable[..., Data]) -> Callable[..., Data]:
    """A float op of which the result has the type of its operands."""

    def run(*operands: Data) -> Data:
        return np.asarray(function(*map(np.asarray, operands))).astype(dtype_of(operands[0]))

    return run


_SIGNED_AND_NOT = {"rem": _truncrem, "max": np.maximum, "min": np.minimum, "ceildiv": _ceildiv}
_BITS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "and": np.bitwise_and, "or": np.bitwise_or,
         "xor": np.bitwise_xor}  # fmt: skip
_FLOATS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "rem": np.fmod}

BINARY: dict[str, Callable[..., Data]] = {
    **{f"{name}i": _unsigned(function) for name, function in _BITS.items()},
    **{f"{name}si": _signed(function) for name, function in _SIGNED_AND_NOT.items()},
    **{f"{name}ui": _unsigned(function) for name, function in _SIGNED_AND_NOT.items()},
    "divsi": _signed(_truncdiv),
    "divui": _unsigned(_floordiv),
    "floordivsi": _signed(_floordiv),
    "shli": _shift(_unsigned(np.left_shift)),
    "shrsi": _shift(_signed(np.right_shift)),
    "shrui": _shift(_unsigned(np.right_shift)),
    **{f"{name}f": _rounded(function) for name, function in _FLOATS.items()},
    "maximumf": _float_min_max(True, True),
    "minimumf": _float_min_max(False, True),
    "maxnumf": _float_min_max(True, False),
    "minnumf": _float_min_max(False, False),
}
"""The arith ops of operands and result of one type, by name without `arith.`."""


def select(condition: Data, a: Data, b: Data) -> Data:
    """`arith.select`, also with one condition for a whole tensor."""
    return np.where(condition, a, b).astype(dtype_of(a))


INTEGER_PREDICATES: tuple[Callable[[Data, Data], Data], ...] = tuple(
    (lambda a, b, f=f, view=view: f(view(a), view(b)))
    for f, view in (
        *((f, signed) for f in (np.equal, np.not_equal)),
        *((f, view) for view in (signed, unsigned) for f in (np.less, np.less_equal, np.greater, np.greater_equal)),
    )
)
"""`arith.cmpi` by the number of its predicate."""


def _either_nan(a: Data, b: Data) -> Data:
    return np.isnan(a) | np.isnan(b)


_ORDERED: tuple[Callable[[Data, Data], Data], ...] = (
    np.equal, np.greater, np.greater_equal, np.less, np.less_equal, np.not_equal,
)  # fmt: skip

FLOAT_PREDICATES: tuple[Callable[[Data, Data], Data], ...] = (
    lambda a, b: np.zeros_like(_either_nan(a, b)),
    *((lambda a, b, f=f: f(a, b) & ~_either_nan(a, b)) for f in _ORDERED),
    lambda a, b: ~_either_nan(a, b),
    *((lambda a, b, f=f: f(a, b) | _either_nan(a, b)) for f in _ORDERED),
    _either_nan,
    lambda a, b: np.ones_like(_either_nan(a, b)),
)
"""`arith.cmpf` by the number of its predicate: false, the ordered ones, ord, the unordered ones,
uno, true."""


def _float_to_integer(x: Data, dtype: np.dtype, view: str) -> Data:
    truncated = np.trunc(np.asarray(x).astype(np.float64))
    if dtype.kind == "b":
        return truncated != 0
    kind = np.dtype(f"{view}{dtype.itemsize}")
    limits = np.iinfo(kind)
    if np.any(~((truncated >= float(limits.min)) & (truncated < float(limits.max) + 1))):
        raise RaggedError(f"expected a number that fits into {kind}, got {x}")
    return truncated.astype(kind).view(dtype)


CASTS: dict[str, Callable[[Data, np.dtype], Data]] = {
    "extsi": lambda x, t: signed(x).astype(t),
    "extui": lambda x, t: unsigned(x).astype(f"u{t.itemsize}").view(t),
    "trunci": to_integer,
    "index_cast": lambda x, t: to_integer(signed(x), t),
    "index_castui": lambda x, t: to_integer(unsigned(x), t),
    "sitofp": lambda x, t: signed(x).astype(t),
    "uitofp": lambda x, t: unsigned(x).astype(t),
    "fptosi": lambda x, t: _float_to_integer(x, t, "i"),
    "fptoui": lambda x, t: _float_to_integer(x, t, "u"),
    "extf": lambda x, t: np.asarray(x).astype(t),
    "truncf": lambda x, t: np.asarray(x).astype(t),
    "bitcast": lambda x, t: np.asarray(x).view(t),
}
"""The arith casts, by name: data and the result's type."""


def _by_kind(of_floats: str, of_integers: str, of_bools: str) -> Callable[[Data, Data], Data]:
    def combine(a: Data, b: Data) -> Data:
        dtype = dtype_of(a)
        return BINARY[of_floats if is_float(dtype) else of_bools if dtype.kind == "b" else of_integers](a, b)

    return combine


COMBINERS = {
    "sum": _by_kind("addf", "addi", "ori"),
    "prod": _by_kind("mulf", "muli", "andi"),
    "max": _by_kind("maximumf", "maxsi", "ori"),
    "min": _by_kind("minimumf", "minsi", "andi"),
}
"""The kinds of `ragged.reduce_across` and `ragged.scan`."""


def _extreme(dtype: np.dtype, sign: int) -> float:
    """The least or the greatest number."""
    if is_float(dtype):
        return sign * np.inf
    limits = (False, True) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    return limits[sign > 0]


NEUTRAL: dict[str, Callable[[np.dtype], float]] = {
    "sum": lambda t: 0,
    "prod": lambda t: 1,
    "max": lambda t: _extreme(t, -1),
    "min": lambda t: _extreme(t, 1),
}
"""Neutral elements of the kinds."""
