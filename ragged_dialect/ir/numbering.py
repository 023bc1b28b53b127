"""Numbers of values: equal ones for what equal ops compute of equal values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable

from ragged_dialect._mlir import ir
from ragged_dialect.ir.clone import copy_attributes


class ValueNumbers:
    """Numbers of the values of one function or of several."""

    def __init__(self) -> None:
        self._numbers: dict[ir.Value, int] = {}
        self._known: dict[Hashable, int] = {}
        self._count = 0

    def __getitem__(self, value: ir.Value) -> int:
        """The number of a value, its own for one that was not added."""
        if value not in self._numbers:
            self.add(value, [value])
        return self._numbers[value]

    def add(self, key: Hashable, values: Iterable[ir.Value]) -> int:
        """Give values numbers: those that others with an equal key have. The first of these."""
        first = self._known.setdefault(key, self._count)
        for number, value in enumerate(values, first):
            self._numbers[value] = number
            self._count = max(self._count, number) + 1
        return first

    def add_results(self, op: ir.Operation) -> None:
        """Give the results of an op numbers, which are those of an equal op, if there is one. It is taken for granted
        that they depend on operands alone."""
        if len(op.results):
            self.add(self._key(op, {}), op.results)

    def _key(self, op: ir.Operation, inner: dict[ir.Value, int]) -> Hashable:
        """What an op is; `inner` has numbers of values inside of the op that it is in. One with branches is itself."""
        if any(len(region.blocks) > 1 for region in op.regions):
            return op
        operands = tuple(("inside", inner[x]) if x in inner else self[x] for x in op.operands)
        types = tuple(result.type for result in op.results)
        attributes = frozenset(copy_attributes(op).items())
        return op.name, operands, types, attributes, tuple(self._region(region, inner) for region in op.regions)

    def _region(self, region: ir.Region, inner: dict[ir.Value, int]) -> Hashable:
        blocks: list[Hashable] = []
        for block in region.blocks:
            _number(block.arguments, inner)
            ops: list[Hashable] = []
            for op in block.operations:
                ops.append(self._key(op.operation, inner))
                _number(op.operation.results, inner)
            blocks.append((tuple(x.type for x in block.arguments), tuple(ops)))
        return tuple(blocks)


def numbered(ops: Iterable[ir.Operation]) -> ValueNumbers:
    """Numbers of what ops compute, in order."""
    numbers = ValueNumbers()
    for op in ops:
        numbers.add_results(op)
    return numbers


def _number(values: Iterable[ir.Value], numbers: dict[ir.Value, int]) -> None:
    for value in values:
        numbers[value] = len(numbers)
