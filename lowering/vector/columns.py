"""Rows in registers, one after the other, and their columns."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, vector


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
    parts = [columns_of([picked(x, range(j, p * lanes, p)) for x in groups]) for j in range(p)]
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
        places = [range(k * lanes, (k + 1) * lanes) for k in range(p)]
        found += [picked(whole, [n % p * lanes + n // p for n in numbers]) for numbers in places]
    return found


def joined(parts: Sequence[ir.Value]) -> ir.Value:
    """The lanes of some vectors one after the other."""
    found, *others = parts
    for other in others:
        count, more = found.type.shape[0], other.type.shape[0]
        if more < count:  # operands of a shuffle have one type as vectors of LLVM
            other = picked(other, [min(k, more - 1) for k in range(count)])
        found = _shuffled(found, other, list(range(count + more)))
    return found


def picked(lanes: ir.Value, numbers: Sequence[int]) -> ir.Value:
    """Some lanes of a vector."""
    return _shuffled(lanes, lanes, list(numbers))


def _shuffled(a: ir.Value, b: ir.Value, numbers: list[int]) -> ir.Value:
    """Lanes of two vectors; those of bf16 as integers, since LLVM takes others of them apart (7 ns each)."""
    element = a.type.element_type
    if not isinstance(element, ir.BF16Type):
        return vector.shuffle(a, b, numbers)
    bits = [arith.bitcast(ir.VectorType.get(x.type.shape, ir.IntegerType.get_signless(16)), x) for x in (a, b)]
    return arith.bitcast(ir.VectorType.get([len(numbers)], element), vector.shuffle(*bits, numbers))


def _factor(count: int) -> int:
    """The least prime factor of a number, 1 of 1."""
    return next((p for p in range(2, count + 1) if count % p == 0), 1)
