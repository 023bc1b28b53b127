"""The math ops: computed in float64 and rounded to the type once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ragged_dialect.reference.scalars import Data, dtype_of, signed, to_integer, unsigned, width


def _float(function: Callable[..., Data]) -> Callable[..., Data]:
    def run(*operands: Data) -> Data:
        wide = [np.asarray(x).astype(np.float64) for x in operands]
        return np.asarray(function(*wide)).astype(dtype_of(operands[0]))

    return run


def _each(function: Callable[[float], float]) -> Callable[..., Data]:
    return _float(lambda x: np.vectorize(function, otypes=[np.float64])(x) if x.size else x)


def _round_half_away(x: Data) -> Data:
    whole = np.trunc(x)
    return np.where(np.abs(x - whole) >= 0.5, whole + np.copysign(1.0, x), np.copysign(whole, x))


def _count_bits(function: Callable[[int, int], int]) -> Callable[[Data], Data]:
    def run(x: Data) -> Data:
        bits = width(dtype_of(x))
        counts = np.vectorize(lambda n: function(int(n), bits), otypes=[np.int64])(unsigned(x))
        return to_integer(counts, dtype_of(x))

    return run


def _trailing_zeros(n: int, bits: int) -> int:
    return (n & -n).bit_length() - 1 if n else bits


def _integer_power(a: Data, b: Data) -> Data:
    power = np.vectorize(_wrapped_power, otypes=[object])(signed(a), signed(b), width(dtype_of(a)))
    return np.asarray(power).astype(np.int64).astype(dtype_of(a))


def _wrapped_power(a: int, b: int, bits: int) -> int:
    """a to the b modulo 2**bits, as signed; a negative power truncates the quotient."""
    if b < 0:
        return {1: 1, -1: -1 if b % 2 else 1}.get(int(a), 0)
    low = pow(int(a), int(b), 1 << bits)
    return low - (1 << bits) if low >> (bits - 1) else low


def _predicate(function: Callable[[Data], Data]) -> Callable[[Data], Data]:
    return lambda x: function(np.asarray(x).astype(np.float64))


def _is_normal(x: Data) -> Data:
    return np.isfinite(x) & (np.abs(x) >= np.finfo(np.float64).tiny)


FUNCTIONS: dict[str, Callable[..., Data]] = {
    "exp": _float(np.exp),
    "exp2": _float(np.exp2),
    "expm1": _float(np.expm1),
    "log": _float(np.log),
    "log2": _float(np.log2),
    "log10": _float(np.log10),
    "log1p": _float(np.log1p),
    "sqrt": _float(np.sqrt),
    "rsqrt": _float(lambda x: 1 / np.sqrt(x)),
    "cbrt": _float(np.cbrt),
    "sin": _float(np.sin),
    "cos": _float(np.cos),
    "tan": _float(np.tan),
    "asin": _float(np.arcsin),
    "acos": _float(np.arccos),
    "atan": _float(np.arctan),
    "sinh": _float(np.sinh),
    "cosh": _float(np.cosh),
    "tanh": _float(np.tanh),
    "asinh": _float(np.arcsinh),
    "acosh": _float(np.arccosh),
    "atanh": _float(np.arctanh),
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    "powf": _float(np.power),
    "fpowi": _float(np.power),
    "ipowi": _integer_power,
    "atan2": _float(np.arctan2),
    "copysign": _float(np.copysign),
    "fma": _float(lambda a, b, c: a * b + c),
    "absf": _float(np.abs),
    "absi": lambda x: to_integer(np.abs(signed(x)), dtype_of(x)),
    "ceil": _float(np.ceil),
    "floor": _float(np.floor),
    "trunc": _float(np.trunc),
    "round": _float(_round_half_away),
    "roundeven": _float(np.rint),
    "clampf": _float(lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi)),
    "ctlz": _count_bits(lambda n, bits: bits - n.bit_length()),
    "cttz": _count_bits(_trailing_zeros),
    "ctpop": _count_bits(lambda n, bits: n.bit_count()),
    "isnan": _predicate(np.isnan),
    "isinf": _predicate(np.isinf),
    "isfinite": _predicate(np.isfinite),
    "isnormal": _predicate(_is_normal),
}
"""The math ops, by name without `math.`."""
