"""LLVM IR text of MLIR's LLVM (24) as text that llvmlite's LLVM (22) reads.

The two differ in floating-point literals. The newer prints the shortest decimal that names the value
in the literal's own type, and `+inf`, `-inf`, `+qnan`, `+nan(0x…)`, `f0x…`; the older takes a decimal
only where it is exact, and bit patterns. Every literal becomes its bit pattern.
"""

from __future__ import annotations

import re
import struct
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class _Format(NamedTuple):
    exponent: int
    mantissa: int


_FORMATS = {"half": _Format(5, 10), "bfloat": _Format(8, 7), "float": _Format(8, 23), "double": _Format(11, 52)}
_LITERAL = r"[+-]?(?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\)|\d+\.\d*(?:[eE][+-]?\d+)?)|f0x[0-9A-Fa-f]+"
_CANDIDATE = re.compile(rf"[\s(\[<](?:{_LITERAL})")
_TOKEN = re.compile(
    r'"(?:[^"\\]|\\.)*"|;.*'  # names, strings and comments
    r"|(?<![%@\w.$-])(?P<type>half|bfloat|float|double)\b"
    rf"|(?<=[\s(\[<])(?P<literal>{_LITERAL})(?=[\s,)\]>]|$)"
)
_NAN = re.compile(r"(s?)nan\(0x([0-9A-Fa-f]+)\)")


def to_llvm22(text: str) -> str:
    """The same module in the older spelling; text that is in it already stays as it is."""
    parts: list[str] = []
    done = 0
    while (found := _CANDIDATE.search(text, done)) is not None:  # most lines have no literal
        start = text.rfind("\n", done, found.end()) + 1
        end = text.find("\n", found.end())
        end = len(text) if end < 0 else end
        parts += [text[done:start], _line(text[start:end])]
        done = end
    return "".join([*parts, text[done:]])


def _line(text: str) -> str:
    kind: str | None = None

    def replaced(match: re.Match[str]) -> str:
        nonlocal kind
        if match["type"]:
            kind = match["type"]
        elif match["literal"] and kind is not None:
            return _spelled(match["literal"], kind)
        return match[0]

    return _TOKEN.sub(replaced, text)


@lru_cache(maxsize=4096)
def _spelled(literal: str, kind: str) -> str:
    """A literal as the bit pattern that the older LLVM reads: an f32 as the f64 of the same value."""
    bits = float_bits(literal, kind)
    if kind == "half":
        return f"0xH{bits:04X}"
    if kind == "bfloat":
        return f"0xR{bits:04X}"
    return f"0x{bits if kind == 'double' else _widened(bits):016X}"


def float_bits(literal: str, kind: str) -> int:
    """The bit pattern of a literal of type half, bfloat, float or double."""
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    format_ = _FORMATS[kind]
    sign = int(literal[0] == "-") << (format_.exponent + format_.mantissa)
    return sign | _magnitude(literal.lstrip("+-"), format_)


def _magnitude(literal: str, format_: _Format) -> int:
    infinity = ((1 << format_.exponent) - 1) << format_.mantissa
    quiet = 1 << (format_.mantissa - 1)
    if literal == "inf":
        return infinity
    if literal == "qnan":
        return infinity | quiet
    nan = _NAN.fullmatch(literal)
    if nan is not None:
        return infinity | (0 if nan[1] else quiet) | int(nan[2], 16)
    return min(_rounded(Fraction(literal), format_), infinity)


def _rounded(value: Fraction, format_: _Format) -> int:
    """The nearest number, ties to even, as bits; a carry out of the mantissa raises the exponent."""
    if not value:
        return 0
    lowest = 2 - (1 << (format_.exponent - 1))
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if value < Fraction(2) ** exponent:
        exponent -= 1
    exponent = max(exponent, lowest)
    mantissa = round(value / Fraction(2) ** (exponent - format_.mantissa))
    return ((exponent - lowest) << format_.mantissa) + mantissa


def _widened(bits: int) -> int:
    """The f64 pattern of an f32 pattern."""
    if bits >> 23 & 0xFF == 0xFF:  # through a Python float a signalling NaN would become quiet
        return (bits >> 31) << 63 | 0x7FF << 52 | (bits & 0x7FFFFF) << 29
    return struct.unpack("<Q", struct.pack("<d", struct.unpack("<f", struct.pack("<I", bits))[0]))[0]
