"""Bounds of integers hold all that is computed of integers within bounds: by trying all of them."""

from __future__ import annotations

import random
from itertools import product

import pytest

from ragged_dialect.arrays.ops.ranges import ARITHMETIC, FALSE, UNKNOWN, Bound, Range, add, magnitude, multiply

GIVEN = {"i": (0, 4), "j": (0, 2), "k": (-3, 1), "c": (5, 5), "n": (-2, -2)}


def quotient(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


PYTHON = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": quotient,
    "arith.remsi": lambda a, b: a - b * quotient(a, b),
    "arith.maxsi": max,
    "arith.minsi": min,
}
"""What ops do, truncating as they do."""


@pytest.mark.parametrize("seed", range(200))
def test_bounds_hold(seed: int) -> None:
    rng = random.Random(seed)
    points = [dict(zip(GIVEN, x, strict=True)) for x in product(*(range(a, b + 1) for a, b in GIVEN.values()))]
    known = {name: (Range.of(*ends), [point[name] for point in points]) for name, ends in GIVEN.items()}
    for step in range(6):
        name = rng.choice([*PYTHON, "abs", "wrapped", "either"])
        (a, first), (b, second) = (known[rng.choice(list(known))] for _ in range(2))
        if name in ("arith.divsi", "arith.remsi") and 0 in second:
            continue
        if name == "abs":
            made = magnitude(a), [abs(x) for x in first]
        elif name == "wrapped":
            made = a.wrapped(Range.of(7, 7)), [x + 7 if x < 0 else x for x in first]
        elif name == "either":
            made = a.either(b), [x if x % 2 else y for x, y in zip(first, second, strict=True)]
        else:
            made = ARITHMETIC[name](a, b), [PYTHON[name](x, y) for x, y in zip(first, second, strict=True)]
        found, numbers = made
        for bound, wanted in ((found.low, min(numbers)), (found.high, max(numbers))):
            assert bound is None or -(2 ** (bound.bits - 1)) <= bound.value < 2 ** (bound.bits - 1)
            assert bound is None or (bound.value <= wanted if bound is found.low else bound.value >= wanted)
        known[f"x{step}"] = made


def test_what_may_wrap_around_has_no_bounds() -> None:
    most = Range(Bound.of(0), Bound.of(2**40))
    assert multiply(most, Range.of(2**30, 2**30)) == UNKNOWN
    assert multiply(most, Range.of(4, 4)).high == Bound(2**42, 46)
    some = Range(Bound.of(0), None)
    assert add(some, Range.of(1, 1)) == UNKNOWN
    assert magnitude(UNKNOWN) == UNKNOWN
    total = Range.of(1, 1)
    for _ in range(70):
        total = add(total, total)
    assert total == UNKNOWN
    assert ARITHMETIC["arith.andi"](FALSE, UNKNOWN) == FALSE
    assert ARITHMETIC["arith.xori"](FALSE, UNKNOWN) == UNKNOWN
