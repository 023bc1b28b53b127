"""Checks of ops on data: the rules of `ragged_dialect.checking` on the interpreter's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.checked_data import require
from ragged_dialect.checking.checker import Checker
from ragged_dialect.iteration import Iteration
from ragged_dialect.reference import making
from ragged_dialect.reference.conformity import require_pairs
from ragged_dialect.reference.value import RaggedValue

Quantity: TypeAlias = Any
"""A `Datum`, a list of lengths or an integer: which, the rule that asks knows."""


class DataChecker(Checker[Quantity]):
    """The checks of one execution of an op, named `name`, whose operands hold `data`. RuntimeCheckError for the first
    that fails."""

    def __init__(self, name: str, data: Mapping[ir.Value, Quantity], iterations: dict[ir.Operation, Iteration]) -> None:
        super().__init__()
        self._name = name
        self._data = data
        self._of_ops = iterations

    def _read(self, x: Quantity) -> Quantity:
        return self._data[x] if isinstance(x, ir.Value) else x

    def _value(self, x: Quantity) -> RaggedValue:
        return RaggedValue.of(self._read(x))

    def iteration(self, op: ir.Operation) -> Iteration:
        """Those of one op are looked at once in a program."""
        if op not in self._of_ops:
            self._of_ops[op] = super().iteration(op)
        return self._of_ops[op]

    def named(self, name: str) -> None:
        self._name = name

    def number(self, value: Quantity) -> int:
        return int(self._read(value))

    def extent(self, x: Quantity, dim: int) -> int:
        return self._value(x).extent(dim)

    def lengths(self, x: Quantity, dim: int) -> list[int]:
        return making.lengths(self._value(x), dim)

    def part(self, kind: str, x: Quantity, dim: int) -> Quantity:
        value = self._value(x)
        read: dict[str, Callable[[], Quantity]] = {
            "offsets": lambda: making.offsets(value, dim),
            "starts": lambda: making.starts(value, dim),
            "lengths": lambda: making.stored_lengths(value, dim),
            "values": lambda: value.values,
        }
        return read[kind]()

    def sum(self, x: Quantity, level: int) -> int:
        return sum(self.lengths(x, level))

    def longest(self, x: Quantity, level: int) -> int:
        return making.longest(self._value(x), level)

    def entry(self, vector: Quantity, at: Quantity) -> int:
        return int(self._read(vector)[at])

    def last(self, vector: Quantity) -> int:
        entries = self._read(vector)
        return int(entries[-1]) if len(entries) else 0

    def steps(self, offsets: Quantity) -> list[int]:
        return [b - a for a, b in pairwise(np.asarray(self._read(offsets)).tolist())]

    def binary(self, op: Callable[[ir.Value, ir.Value], ir.Value], a: Quantity, b: Quantity) -> Quantity:
        raise AssertionError("every scalar is an integer here")

    def valid(self, kind: str, level: int, *operands: Quantity, factor: int | None = None) -> None:
        require(kind, self._name, level, [self._read(x) for x in operands], factor or 0)

    def conform(self, a: Quantity, b: Quantity, pairs: Sequence[tuple[int, int]]) -> None:
        require_pairs(self._name, self._value(a), self._value(b), pairs)
