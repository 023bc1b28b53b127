"""Rows in registers, one after the other, and their columns."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import ir, vector


def joined(parts: Sequence[ir.Value]) -> ir.Value:
    """The lanes of some vectors one after the other."""
    found, *others = parts
    for other in others:
        count, more = found.type.shape[0], other.type.shape[0]
        if more < count:  # operands of a shuffle have one type as vectors of LLVM
            other = vector.shuffle(other, other, [min(k, more - 1) for k in range(count)])
        found = vector.shuffle(found, other, list(range(count + more)))
    return found


def largest_factor(count: int) -> int:
    """The largest prime factor of a number of columns: so many shuffles make each of them."""
    least = _factor(count)
    return max(least, largest_factor(count // least)) if count > 1 else 1


def columns_of(registers: list[ir.Value]) -> list[ir.Value]:
    """The columns of rows that lie one after the other in as many registers as there are columns: every `p`th element
    of each `p` registers, for the prime factors of that number."""
    p = _factor(len(registers))
    if p == 1:
        return registers
    lanes = registers[0].type.shape[0]
    groups = [joined(registers[k : k + p]) for k in range(0, len(registers), p)]
    parts = [columns_of([_picked(x, range(j, p * lanes, p)) for x in groups]) for j in range(p)]
    return [parts[k % p][k // p] for k in range(len(registers))]


def rows_of(columns: list[ir.Value]) -> list[ir.Value]:
    """The inverse: registers in which rows lie one after the other."""
    p = _factor(len(columns))
    if p == 1:
        return columns
    lanes = columns[0].type.shape[0]
    parts = [rows_of(columns[j::p]) for j in range(p)]
    found: list[ir.Value] = []
    for group in zip(*parts, strict=True):
        whole = joined(group)
        for k in range(p):
            found.append(_picked(whole, [n % p * lanes + n // p for n in range(k * lanes, (k + 1) * lanes)]))
    return found


def _factor(count: int) -> int:
    """The least prime factor of a number, 1 of 1."""
    return next((p for p in range(2, count + 1) if count % p == 0), 1)


def _picked(lanes: ir.Value, numbers: Sequence[int]) -> ir.Value:
    return vector.shuffle(lanes, lanes, list(numbers))
