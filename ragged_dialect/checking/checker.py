"""What a rule of checks is written in: quantities of operands, arithmetic on them, and the checks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeAlias, TypeVar

from ragged_dialect._mlir import arith, ir
from ragged_dialect.iteration import Iteration, analyze, signature

Q = TypeVar("Q")
"""What stands for a quantity: an MLIR value where rules make IR, data where they look at it."""

Extent: TypeAlias = Q | int
"""A scalar; an integer where it is known."""

Array: TypeAlias = ir.Value | Q
"""A tensor: an operand of the op, or a vector read from one."""

Given: TypeAlias = ir.Value | Q | int
"""What a rule may name: an operand of the op, or a quantity."""


class Checker(ABC, Generic[Q]):
    """Reads operands and makes checks for one op after another. What rules decide by themselves must be static:
    they branch on types and attributes, never on whether a quantity is an integer."""

    def __init__(self) -> None:
        self._iterations: dict[Hashable, Iteration] = {}

    def iteration(self, op: ir.Operation) -> Iteration:
        """The loops of a compute op; those of equal signature are looked at once."""
        key = signature(op)
        found = self._iterations.get(key)
        if found is None:
            found = self._iterations[key] = analyze(op)
        return found

    # Quantities ------------------------------------------------------------------------------------

    @abstractmethod
    def named(self, name: str) -> None:
        """The checks that follow carry another name than the op's."""

    @abstractmethod
    def number(self, value: Given[Q]) -> Extent[Q]:
        """A scalar operand, or what is static of an op."""

    @abstractmethod
    def extent(self, x: Array[Q], dim: int) -> Extent[Q]:
        """The extent of a dense dim."""

    @abstractmethod
    def lengths(self, x: Array[Q], dim: int) -> Q:
        """The logical lengths of a level."""

    @abstractmethod
    def part(self, kind: str, x: Array[Q], dim: int) -> Q:
        """The stored offsets, starts or lengths of a level; for `values`, `dim` is ignored."""

    @abstractmethod
    def sum(self, x: Array[Q], level: int) -> Extent[Q]:
        """The total of a level."""

    @abstractmethod
    def longest(self, x: Array[Q], level: int) -> Extent[Q]:
        """The longest length of a level."""

    @abstractmethod
    def entry(self, vector: Array[Q], at: Extent[Q]) -> Extent[Q]:
        """An entry of a vector; the place is known to be in it, by an earlier check if any."""

    @abstractmethod
    def last(self, vector: Array[Q]) -> Extent[Q]:
        """The last entry of offsets, 0 if there is none: the size of what they index."""

    @abstractmethod
    def steps(self, offsets: Array[Q]) -> Q:
        """The lengths that offsets delimit; none for empty offsets, which another check refuses."""

    # Arithmetic ------------------------------------------------------------------------------------

    @abstractmethod
    def binary(self, op: Callable[..., Any], a: Extent[Q], b: Extent[Q]) -> Q:
        """An arith op on two scalars of which one is not known."""

    def times(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """Product of two extents."""
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 1 or b == 1:
            return b if a == 1 else a
        return self.binary(arith.MulIOp, a, b)

    def plus(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """Sum of two extents."""
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if isinstance(a, int) and a == 0:
            return b
        return a if isinstance(b, int) and b == 0 else self.binary(arith.AddIOp, a, b)

    def minus(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """Difference of two scalars."""
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if isinstance(b, int) and b == 0 else self.binary(arith.SubIOp, a, b)

    def ceil(self, a: Extent[Q], factor: int) -> Extent[Q]:
        """A non-negative extent divided by a static factor, rounded up."""
        if isinstance(a, int):
            return -(-a // factor)
        return a if factor == 1 else self.binary(arith.CeilDivUIOp, a, factor)

    def quotient(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """A non-negative scalar divided by one of at least 1, rounded up."""
        return self.ceil(a, b) if isinstance(b, int) else self.binary(arith.CeilDivUIOp, a, b)

    def floor(self, a: Extent[Q], factor: int) -> Extent[Q]:
        """A scalar divided by a static factor, rounded down."""
        return a // factor if isinstance(a, int) else self.binary(arith.FloorDivSIOp, a, factor)

    def least(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """The smaller of two scalars."""
        return min(a, b) if isinstance(a, int) and isinstance(b, int) else self.binary(arith.MinSIOp, a, b)

    def most(self, a: Extent[Q], b: Extent[Q]) -> Extent[Q]:
        """The larger of two scalars."""
        return max(a, b) if isinstance(a, int) and isinstance(b, int) else self.binary(arith.MaxSIOp, a, b)

    def rows(self, size: Extent[Q], per_row: Extent[Q]) -> Extent[Q]:
        """How many rows of `per_row` entries there are in `size`; rows of none count as of one."""
        safe = self.most(per_row, 1)
        if isinstance(size, int) and isinstance(safe, int):
            return size // safe
        return size if isinstance(safe, int) and safe == 1 else self.binary(arith.DivSIOp, size, safe)

    # Checks ----------------------------------------------------------------------------------------

    @abstractmethod
    def valid(self, kind: str, level: int, *operands: Given[Q], factor: int | None = None) -> None:
        """A check of a kind (`ragged_dialect.checks`)."""

    @abstractmethod
    def conform(self, a: Array[Q], b: Array[Q], pairs: Sequence[tuple[int, int]]) -> None:
        """Two tensors have equal lengths on the last of `pairs`; the others are its parents."""

    def counted(self, kind: str, level: int, vector: Array[Q], *operands: Given[Q], count: Given[Q] | None) -> None:
        """A kind whose last, optional operand is the number of components (None: any number)."""
        self.valid(kind, level, vector, *operands, *(() if count is None else (count,)))

    def equal(self, level: int, got: Given[Q], expected: Given[Q] | None) -> None:
        """Two extents are equal, where something is expected: a type may not say an extent."""
        if expected is not None:
            self.valid("equal", level, got, expected)

    def fits(self, level: int, factors: Sequence[Given[Q]]) -> None:
        """A size, the product of `factors`, fits into 64 bits."""
        self.valid("fits", level, *factors)


Rule: TypeAlias = Callable[[Checker[Any], ir.Operation], None]
"""Makes the checks of an op."""
