"""Numbers of the types of PTX: the odd ones, and what is nearest to an exact fraction."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np
from support.ptx_text import DTYPES

from ragged_dialect.emulator.ptx.types import TYPES


def words(kind: str, rng: np.random.Generator, count: int) -> list[int]:
    """Integers of a type: the ends of its range, small ones, and random ones."""
    bits, signed = TYPES[kind].bits, TYPES[kind].signed
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    some = [low, low + 1, high, high - 1, 0, 1, 2, 7, 31, 32, 33, high // 2, low // 2]
    return [*some, *(int(rng.integers(low, high, endpoint=True, dtype=DTYPES[kind])) for _ in range(count - len(some)))]


def wrapped(number: int, kind: str) -> int:
    """A number as its bits in a type are read."""
    bits = TYPES[kind].bits
    number &= (1 << bits) - 1
    return number - (1 << bits) if TYPES[kind].signed and number >> bits - 1 else number


SPECIAL = (0.0, -0.0, 1.0, -1.0, 1.5, np.inf, -np.inf, np.nan)


def floats(kind: str, count: int = 200, seed: int = 0) -> Any:
    """Numbers of a type by random bits, so that all magnitudes come, and the special ones."""
    rng, dtype = np.random.default_rng(seed), np.dtype(DTYPES[kind])
    bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, dtype=f"u{dtype.itemsize}").view(dtype)
    near = (rng.standard_normal(count) * 4).astype(dtype)
    made = rng.permutation(np.concatenate([bits, near, np.array(SPECIAL * 4).astype(dtype)]))
    with np.errstate(all="ignore"):  # signalling NaNs, which become quiet ones
        made[np.isnan(made.astype(np.float64))] = np.nan
    return made


def same(found: Any, want: Any) -> None:
    """Equal bits, but for NaNs."""
    width = f"u{found.dtype.itemsize}"
    nan = np.isnan(want.astype(np.float64))
    np.testing.assert_array_equal(np.isnan(found.astype(np.float64)), nan)
    np.testing.assert_array_equal(found.view(width)[~nan], want.view(width)[~nan])


def nearest(exact: Fraction, kind: str) -> Any:
    """A fraction as the nearest number of a type, ties to even."""
    dtype = np.dtype(DTYPES[kind])
    info: Any = ml_dtypes.finfo(dtype) if kind == "bf16" else np.finfo(dtype)
    if not exact:
        return dtype.type(0)
    size = abs(exact)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= size < Fraction(2) ** exponent
    step = Fraction(2) ** (max(exponent, info.minexp) - info.nmant)
    count = round(size / step)  # Python rounds ties to even
    value = count * step
    if value > Fraction(float(info.max)):
        return dtype.type(np.inf if exact > 0 else -np.inf)
    return dtype.type(float(value) * (1 if exact > 0 else -1))


def finite(values: Any) -> Any:
    return values[np.isfinite(values.astype(np.float64))]
