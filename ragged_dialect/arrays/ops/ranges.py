"""Bounds of integers that are computed of others, as values of the program: interval arithmetic.

A bound that might not fit into 64 bits is none: arithmetic that wraps around would prove what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed

EXTENT_BITS = 41
"""Bits of extents and lengths, and a sign: memory has no room for more elements."""

_BITS = 62
"""Bits up to which sums and products of bounds do not wrap around."""


class Bound(NamedTuple):
    """A number, and the bits that it has at most, with its sign."""

    value: Mixed
    bits: int

    @staticmethod
    def of(value: int) -> Bound:
        """A number that is known."""
        return Bound(value, value.bit_length() + 1)


class Range(NamedTuple):
    """The least and the greatest that an integer can be, None where that is not known."""

    low: Bound | None
    high: Bound | None

    @staticmethod
    def of(low: int, high: int) -> Range:
        """Between two numbers that are known."""
        return Range(Bound.of(low), Bound.of(high))

    def either(self, other: Range) -> Range:
        """What is in one of two."""
        return Range(_both(build.minimum, self.low, other.low), _both(build.maximum, self.high, other.high))

    @property
    def is_positive(self) -> bool:
        """Whether it is known to have no number below 0."""
        return self.low is not None and isinstance(self.low.value, int) and self.low.value >= 0

    @property
    def bits(self) -> int:
        """How many bits its numbers have at most, with their signs: more than there are where that is not known."""
        return max((2 * _BITS if bound is None else bound.bits for bound in self), default=0)

    @property
    def is_false(self) -> bool:
        """Whether it is 0 alone: of a boolean, that it does not hold."""
        return self == FALSE

    def wrapped(self, more: Range) -> Range:
        """That of a number to which something is added where it is below 0, as to an index that counts from the end."""
        below, zero = add(self, more), Bound.of(0)
        if below == UNKNOWN or self.is_positive:
            return self if self.is_positive else UNKNOWN
        last = subtract(more, Range.of(1, 1)).high
        return Range(_both(build.minimum, below.low, zero), _both(build.maximum, self.high, last))


UNKNOWN = Range(None, None)
FALSE = Range.of(0, 0)
Choose = Callable[[Mixed, Mixed], Mixed]


def _both(choose: Choose, a: Bound | None, b: Bound | None) -> Bound | None:
    """The bound of two that are chosen from."""
    return None if a is None or b is None else Bound(choose(a.value, b.value), max(a.bits, b.bits))


def _one(choose: Choose, a: Bound | None, b: Bound | None) -> Bound | None:
    """The bound of two, of which one is enough."""
    return _both(choose, a, b) if a is not None and b is not None else a or b


def _computed(value: Callable[[Mixed, Mixed], Mixed], bits: int, a: Bound, b: Bound) -> Bound | None:
    return Bound(value(a.value, b.value), bits) if bits <= _BITS else None


def _whole(low: Bound | None, high: Bound | None) -> Range:
    """Of what may wrap around nothing is known."""
    return UNKNOWN if low is None or high is None else Range(low, high)


def add(a: Range, b: Range) -> Range:
    """That of a sum."""
    return _of_ends(build.add, a, b.low, b.high)


def subtract(a: Range, b: Range) -> Range:
    """That of a difference."""
    return _of_ends(build.sub, a, b.high, b.low)


def _of_ends(value: Callable[[Mixed, Mixed], Mixed], a: Range, low: Bound | None, high: Bound | None) -> Range:
    if a.low is None or a.high is None or low is None or high is None:
        return UNKNOWN
    ends = ((a.low, low), (a.high, high))
    return _whole(*(_computed(value, max(x.bits, y.bits) + 1, x, y) for x, y in ends))


def multiply(a: Range, b: Range) -> Range:
    """That of a product: between the products of ends."""
    if a.low is None or a.high is None or b.low is None or b.high is None:
        return UNKNOWN
    corners = [_computed(build.mul, x.bits + y.bits, x, y) for x, y in product((a.low, a.high), (b.low, b.high))]
    low = high = corners[0]
    for corner in corners[1:]:
        low, high = _both(build.minimum, low, corner), _both(build.maximum, high, corner)
    return _whole(low, high)


def _positive(x: Range) -> int | None:
    """The one number that a range has, if that is known and above 0."""
    number = x.low.value if x.low is not None and x.low == x.high else None
    return number if isinstance(number, int) and number > 0 else None


def divide(a: Range, b: Range) -> Range:
    """That of a quotient."""
    divisor = _positive(b)
    if divisor is None or not a.is_positive:
        return UNKNOWN
    high = None if a.high is None else Bound(build.divide(build.maximum(a.high.value, 0), divisor), a.high.bits)
    return Range(Bound.of(0), high)


def remainder(a: Range, b: Range) -> Range:
    """That of the rest of a division, which has the sign of what is divided."""
    divisor = _positive(b)
    return UNKNOWN if divisor is None else Range.of(0 if a.is_positive else 1 - divisor, divisor - 1)


def larger(a: Range, b: Range) -> Range:
    """That of a maximum."""
    return Range(_one(build.maximum, a.low, b.low), _both(build.maximum, a.high, b.high))


def smaller(a: Range, b: Range) -> Range:
    """That of a minimum."""
    return Range(_both(build.minimum, a.low, b.low), _one(build.minimum, a.high, b.high))


def magnitude(x: Range) -> Range:
    """That of an absolute value."""
    turned = subtract(FALSE, x).high
    high = None if turned is None else _both(build.maximum, x.high, turned)
    return UNKNOWN if high is None else Range(Bound.of(0), high)


def conjunction(a: Range, b: Range) -> Range:
    """That of what holds where both do."""
    return FALSE if a.is_false or b.is_false else UNKNOWN


def exclusive(a: Range, b: Range) -> Range:
    """That of what holds where one of two does."""
    return FALSE if a.is_false and b.is_false else UNKNOWN


ARITHMETIC: dict[str, Callable[[Range, Range], Range]] = {
    "arith.addi": add,
    "arith.subi": subtract,
    "arith.muli": multiply,
    "arith.divsi": divide,
    "arith.remsi": remainder,
    "arith.maxsi": larger,
    "arith.minsi": smaller,
    "arith.andi": conjunction,
    "arith.xori": exclusive,
}
"""What ops on integers of 64 bits, indices and booleans make of ranges."""
