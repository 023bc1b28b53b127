"""What is known to divide the lengths and extents of a value's dims.

The divisor of a dense dim divides its extent, that of a ragged level every logical length, that of
a tile every part: it is the factor of the split exactly where the split leaves no holes. Facts come
from static extents, `ragged.assume`, argument attributes and constant vectors, and go through the
ops; a divisor of 1 says nothing, 0 (of an extent 0) is divided by everything.
"""

from __future__ import annotations

from math import lcm
from typing import cast

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import view_of
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops import OPS, SAME_LENGTHS
from ragged_dialect.ops.base import RaggedOp
from ragged_dialect.passes.analysis.structure.keys import computed_from
from ragged_dialect.passes.base import faults_at
from ragged_dialect.passes.patterns.access import constant_lengths
from ragged_dialect.passes.patterns.matching import shape
from ragged_dialect.passes.patterns.rewriting import Rewriter
from ragged_dialect.types import is_tensor

Known = tuple[int, ...]
"""A divisor per dim."""

ARGUMENT_FACT = "ragged.divisible_by"


def unknown(value: ir.Value) -> Known:
    """What the type alone says."""
    letters = shape(value).layout.letters
    return tuple(
        1 if extent is None or letter == "t" else extent
        for letter, extent in zip(letters, shape(value).shape, strict=True)
    )


class Divisors:
    """Divisors of all values, computed in program order: ask for operands before results."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, Known] = {}

    def of(self, value: ir.Value) -> Known:
        """The divisors of a tensor value's dims."""
        if value not in self._known:
            known = self._result(value) if isinstance(value, ir.OpResult) else _argument(value)
            self._known[value] = tuple(lcm(a, b) for a, b in zip(known, unknown(value), strict=True))
        return self._known[value]

    def lengths(self, value: ir.Value, level: int) -> list[int] | None:
        """The lengths of a level that comes from a constant."""
        return constant_lengths(value, level, Rewriter())

    def exact_tiles(self, value: ir.Value) -> frozenset[int]:
        """The tile dims of a ragged value that have no holes."""
        x = shape(value)
        columns = zip(x.layout.letters, x.shape, self.of(value), strict=True)
        return frozenset(dim for dim, (letter, size, known) in enumerate(columns) if letter == "t" and known == size)

    def visit(self, op: ir.Operation) -> None:
        """Note what is known of an op's results while its operands are known."""
        for result in op.results:
            if is_tensor(result.type):
                self.of(result)

    def _result(self, value: ir.OpResult) -> Known:
        op = value.owner.operation
        if op.name in OPS:
            if value.result_number:
                return unknown(value)  # classes answer for the first result
            return _divisors(op, self)
        same = op.operands[0] if op.name in SAME_LENGTHS else computed_from(op, value.result_number)
        return unknown(value) if same is None or not is_tensor(same.type) else self.of(same)


def _divisors(op: ir.Operation, known: Divisors) -> Known:
    """What an op's class says of its result. TypeError unless that is a number for each dim."""
    with faults_at(op, OPS[op.name].divisors):
        found = cast(object, view_of(op, RaggedOp).divisors(known))
        rank = len(op.results[0].type.shape)
        numbers = cast(Known, found) if isinstance(found, tuple) else ()
        if [type(one) for one in numbers] != [int] * rank:
            raise TypeError(f"expected {rank} numbers from divisors, got {found!r}")
        return numbers


def _argument(value: ir.Value) -> Known:
    assert isinstance(value, ir.BlockArgument)
    op = value.owner.owner.operation
    if op.name != "func.func" or "arg_attrs" not in op.attributes:
        return unknown(value)
    facts = op.attributes["arg_attrs"][value.arg_number]
    if ARGUMENT_FACT not in facts:
        return unknown(value)
    divisor = facts[ARGUMENT_FACT].value
    layout = shape(value).layout
    return tuple(
        divisor if letter in RAGGED and not layout.is_split_outer(dim) else known
        for dim, (letter, known) in enumerate(zip(layout.letters, unknown(value), strict=True))
    )
