"""What a program asks of several arguments together; evaluated before it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import whereabouts
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.arrays.tracing.leaves import Leaves, Origin, tensor_of
from ragged_dialect.errors import ArgumentError, RuntimeCheckError


class Guard:
    """A question to the arguments of a call."""

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError when the answer is no."""
        raise NotImplementedError

    def prepared(self) -> Callable[[Leaves], None]:
        """The same question, quicker to ask where it can be."""
        return self


def structure_at(leaves: Leaves, origin: Origin) -> Structure:
    """The structure of the argument that an axis comes from."""
    found: Structure = leaves[origin.leaf].structure(origin.dim)
    if origin.derived == "contiguous":
        return found.contiguous
    return found.prefix(int(origin.derived)) if origin.derived else found


def structure_finder(origin: Origin) -> Callable[[Leaves], Structure]:
    """`structure_at` of one origin, with what can be decided before a call decided."""
    leaf = origin.leaf
    if origin.dim == 0 and not origin.derived:
        return lambda leaves: leaves[leaf].first
    return lambda leaves: structure_at(leaves, origin)


def extent_at(leaves: Leaves, origin: Origin | int) -> int:
    """A number, or the extent of a dense dim of an argument."""
    return origin if isinstance(origin, int) else leaves[origin.leaf].shape[origin.dim]


@dataclass(frozen=True)
class Conform(Guard):
    """Two arguments have equal lengths on the levels of an axis."""

    op: str
    a: Origin
    b: Origin

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError names the first component that differs."""
        a, b = structure_at(leaves, self.a), structure_at(leaves, self.b)
        if a is b:
            return
        text = a.difference(b, self.a.dim)
        if text is not None:
            raise RuntimeCheckError(f"{self.op}: {text}")

    def prepared(self) -> Callable[[Leaves], None]:
        """One object is the same structure."""
        if self.a.derived or self.b.derived or self.a.dim or self.b.dim:
            return self
        a, b = self.a.leaf, self.b.leaf

        def ask(leaves: Leaves) -> None:
            if leaves[a].first is not leaves[b].first:
                self(leaves)

        return ask


@dataclass(frozen=True)
class EqualExtents(Guard):
    """Two extents are equal, both of dense dims of arguments or numbers: what is given and what is expected."""

    op: str
    a: Origin | int
    b: Origin | int
    dim: int

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError with both extents."""
        a, b = extent_at(leaves, self.a), extent_at(leaves, self.b)
        if a != b:
            raise RuntimeCheckError(f"{self.op}: dim {self.dim}: expected extent {b}, got {a}")

    def prepared(self) -> Callable[[Leaves], None]:
        """Extents that are equal are looked at once."""
        a, b = (self.b, self.a) if isinstance(self.a, int) else (self.a, self.b)
        if isinstance(a, int):
            return self
        leaf, dim = a.leaf, a.dim
        if isinstance(b, int):

            def ask(leaves: Leaves) -> None:
                if leaves[leaf].shape[dim] != b:
                    self(leaves)

            return ask
        other, at = b.leaf, b.dim

        def compare(leaves: Leaves) -> None:
            if leaves[leaf].shape[dim] != leaves[other].shape[at]:
                self(leaves)

        return compare


@dataclass(frozen=True)
class Covers(Guard):
    """A dense extent of an argument reaches the longest component of another's level."""

    op: str
    a: Origin | int
    structure: Origin
    level: int

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError with the extent and the length."""
        extent = extent_at(leaves, self.a)
        structure = structure_at(leaves, self.structure)
        longest = structure.longest[self.level]
        if extent < longest:
            dim, at = self.structure.dim + self.level, int(structure.lengths(self.level).argmax())
            raise RuntimeCheckError(
                f"{self.op}: level {dim}, component {at}: expected extent >= length {longest}, got {extent}"
            )


@dataclass(frozen=True)
class Fits(Guard):
    """A Python number fits the dtype it is used as."""

    op: str
    leaf: int
    low: int
    high: int

    def __call__(self, leaves: Leaves) -> None:
        """RuntimeCheckError with the number and the range."""
        self.check(leaves[self.leaf])

    def check(self, number: float) -> None:
        """RuntimeCheckError unless a number does."""
        if not self.low <= number <= self.high:
            raise RuntimeCheckError(f"{self.op}: expected a number in [{self.low}, {self.high}], got {number}")
        if number % 1:
            raise RuntimeCheckError(f"{self.op}: expected a number that integers hold, got {number}")


class Fixed(NamedTuple):
    """A number that is no argument, in place of one."""

    number: float


@dataclass(frozen=True)
class Elsewhere(Guard):
    """What a function asked when it was traced, where its arguments are others."""

    guard: Guard
    arguments: tuple[int | Fixed, ...]

    def __call__(self, leaves: Leaves) -> None:
        """As of the guard."""
        self.guard([x.number if isinstance(x, Fixed) else leaves[x] for x in self.arguments])

    def prepared(self) -> Callable[[Leaves], None]:
        """That of the guard, whose arguments mostly are the first ones."""
        ask, arguments = self.guard.prepared(), self.arguments
        if arguments == tuple(range(len(arguments))):
            return ask
        return lambda leaves: ask([x.number if isinstance(x, Fixed) else leaves[x] for x in arguments])


class Versions(Guard):
    """Tensors of PyTorch were not changed in place since, where it counts such changes, nor have other memory
    (`.data`), which it does not count."""

    def __init__(self, op: str, arrays: Sequence[ArrayLike]) -> None:
        for x in arrays:
            if isinstance(x, RaggedArray) and x.spec.library == "torch":  # the tensor that `values` will be of
                x.buffer = x.buffer.of_torch()
        tensors = [tensor for x in arrays if (tensor := tensor_of(x)) is not None and not tensor.is_inference()]
        self._op = op
        self._known = [(tensor, tensor._version, whereabouts(tensor)) for tensor in tensors]

    def __call__(self, leaves: Leaves = ()) -> None:
        """ArgumentError where one was changed."""
        for tensor, version, where in self._known:
            if tensor._version != version or whereabouts(tensor) != where:
                made = f"{tuple(tensor.shape)} of {str(tensor.dtype).removeprefix('torch.')}"
                raise ArgumentError(
                    f"{self._op}: expected tensors as they were, got one of shape {made} changed in place"
                )
