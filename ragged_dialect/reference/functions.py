"""The math ops: computed in float64 and rounded to the type once."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from ragged_dialect.reference.scalars import Data, Function, dtype_of, signed, to_integer, unsigned, width


def _float(function: Function) -> Callable[..., Data]:
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
        counts = np.vectorize(function, otypes=[np.int64])(unsigned(x).astype(object), bits)
        return to_integer(counts, dtype_of(x))

    return run


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


_ALIKE = (
    "exp exp2 expm1 log log2 log10 log1p sqrt cbrt sin cos tan sinh cosh tanh copysign ceil floor trunc isnan isinf "
    "isfinite"
).split()
"""Ops that NumPy has by their name."""

FUNCTIONS: dict[str, Function] = {
    **{name: (_predicate if name.startswith("is") else _float)(getattr(np, name)) for name in _ALIKE},
    **{f"a{name}": _float(getattr(np, f"arc{name}")) for name in "sin cos tan tan2 sinh cosh tanh".split()},
    "rsqrt": _float(lambda x: 1 / np.sqrt(x)),
    "erf": _each(math.erf),
    "erfc": _each(math.erfc),
    **dict.fromkeys(("powf", "fpowi"), _float(np.power)),
    "ipowi": _integer_power,
    "fma": _float(lambda a, b, c: a * b + c),
    "absf": _float(np.abs),
    "absi": lambda x: to_integer(np.abs(signed(x)), dtype_of(x)),
    "round": _float(_round_half_away),
    "roundeven": _float(np.rint),
    "clampf": _float(lambda x, lo, hi: np.minimum(np.maximum(x, lo), hi)),
    "ctlz": _count_bits(lambda n, bits: bits - n.bit_length()),
    "cttz": _count_bits(lambda n, bits: (n & -n).bit_length() - 1 if n else bits),
    "ctpop": _count_bits(lambda n, bits: n.bit_count()),
    "isnormal": _predicate(lambda x: np.isfinite(x) & (np.abs(x) >= np.finfo(np.float64).tiny)),
}
"""The math ops, by name without `math.`."""
