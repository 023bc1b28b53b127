"""Functions in the subset of Python that `emulator/native.py` compiles."""

from __future__ import annotations

from ragged_dialect.emulator.words import Struct, address, fill, first_bit, load32, load64, store64

LARGE = 0xFFFF_FFFF_FFFF_FFFF


class Pair(Struct):
    """Two words."""

    first: int
    second: int


def collatz(n: int) -> int:
    """Steps to 1."""
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def count_primes(limit: int) -> int:
    """Primes below a limit, the slow way."""
    count = 0
    for n in range(2, limit):
        prime = 1
        for d in range(2, n):
            if d * d > n:
                break
            if n % d:
                continue
            prime = 0
        count += prime
    return count


def logic(x: int) -> int:
    """All of and, or, not, comparisons, bit operations."""
    bits = 0
    if x > 3 and (x < 10 or x == 20) and not x == 5:
        bits |= 1
    elif x >= 100 or x <= 1:
        bits |= 2
    else:
        bits |= 4
    bits |= (x != 7) << 4
    return bits ^ (~x & 0xF00) | first_bit(x | 256) << 24


def unsigned(x: int) -> int:
    """Words are unsigned: this is large for x = 0, and shifts bring in zeros."""
    if x - 1 > 5:
        return x - 1 >> 60
    return LARGE


def set_pair(at: int, value: int) -> None:
    """Fields, through records and as words."""
    pair = Pair(at)
    pair.first = value
    pair.second += pair.first * 2
    store64(address(pair) + Pair.stride, load64(at) + load32(at + 4))
    fill(at + 3 * 8, 5, 8)


def pair_of(at: int) -> int:
    """Calls of other functions, with and without results."""
    set_pair(at, 0x2_0000_0003)
    return Pair(at).second + collatz(6)
