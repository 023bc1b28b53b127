"""The arithmetic of generated host programs.

An integer is a Python int in the signed range of its type, `i1` a bool, a float a NumPy scalar.
Imports nothing of the package, because artifacts carry its text.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

bool_ = np.bool_
int8, int16, int32, int64 = np.int8, np.int16, np.int32, np.int64
uint8, uint16, uint32, uint64 = np.uint8, np.uint16, np.uint32, np.uint64
float16, float32, float64 = np.float16, np.float32, np.float64


def i1(x: int) -> bool:
    """The lowest bit."""
    return bool(x & 1)


def i8(x: int) -> int:
    """The low 8 bits, signed."""
    return (x + 0x80 & 0xFF) - 0x80


def i16(x: int) -> int:
    """The low 16 bits, signed."""
    return (x + 0x8000 & 0xFFFF) - 0x8000


def i32(x: int) -> int:
    """The low 32 bits, signed."""
    return (x + 0x80000000 & 0xFFFFFFFF) - 0x80000000


def i64(x: int) -> int:
    """The low 64 bits, signed."""
    return (x + 0x8000000000000000 & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def u8(x: int) -> int:
    """The low 8 bits, unsigned."""
    return x & 0xFF


def u16(x: int) -> int:
    """The low 16 bits, unsigned."""
    return x & 0xFFFF


def u32(x: int) -> int:
    """The low 32 bits, unsigned."""
    return x & 0xFFFFFFFF


def u64(x: int) -> int:
    """The low 64 bits, unsigned."""
    return x & 0xFFFFFFFFFFFFFFFF


def quotient(a: int, b: int) -> int:
    """a / b towards zero."""
    return a // b if (a < 0) == (b < 0) else -(-a // b)


def remainder(a: int, b: int) -> int:
    """What `quotient` leaves, with the sign of a."""
    return a - b * quotient(a, b)


def trailing_zeros(x: int, width: int) -> int:
    """Zeros below the lowest bit that is set; the width for 0."""
    return (x & -x).bit_length() - 1 if x else width


def to_int(x: float) -> int:
    """A float towards zero; 0 for what no integer stands for."""
    return int(x) if math.isfinite(x) else 0


def fma(a: float, b: float, c: float) -> float:
    """a * b + c with one rounding to double precision."""
    if math.isfinite(a) and math.isfinite(b) and math.isfinite(c) and ((a and b) or c):
        exact = Fraction(float(a)) * Fraction(float(b)) + Fraction(float(c))
        try:
            return float(exact)
        except OverflowError:
            return math.inf if exact > 0 else -math.inf
    return float(a) * float(b) + float(c)


def round_away(x: float) -> float:
    """To the nearest integer, halves away from zero."""
    whole = np.floor(np.abs(x))
    return np.copysign(whole + (np.abs(x) - whole >= type(x)(0.5)), x)
