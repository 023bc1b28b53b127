"""Joining arrays, and cutting them in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import SupportsIndex

from ragged_dialect.arrays.core.arguments import check_ragged, checked_axis, integer, listed
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import Value
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.layout import RAGGED

_MOST_PARTS = 2**20


_AT_ONCE = 8
"""Arrays of a program that joins: LLVM takes 0.5 s for 8, 9 for 32, and a minute for 100. More are joined in turns, by
programs that are there."""


def concat(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays joined along a dim: batches, component by component along a ragged dim, or dense dims. Dense arrays
    [B, n, …] join ragged ones of one level as components of one length.

    RuntimeCheckError where what is not joined differs, LayoutError for arrays of other layouts."""
    given = list(listed("concat", "arrays", arrays))
    while len(given) > _AT_ONCE and all(isinstance(x, Value) and not x.layout.is_dense for x in given):
        parts = [given[k : k + _AT_ONCE] for k in range(0, len(given), _AT_ONCE)]
        given = [named("concat")(*some, axis=axis) if len(some) > 1 else some[0] for some in parts]
    return named("concat")(*given, axis=axis)


def stack(arrays: Sequence[ArrayLike], axis: int = 0) -> ArrayLike:
    """Arrays of one structure along a new dense dim."""
    return named("stack")(*listed("stack", "arrays", arrays), axis=axis)


def pieces(x: ArrayLike, chunks: int, axis: int, even: bool = False) -> list[ArrayLike]:
    """Every component of a ragged dim cut in pieces: windows, views. Their sizes differ by 1 at most where they are to
    be `even`, else all are of one size but the last. One program makes any piece."""
    return [named("chunk")(x, number, chunks, axis=axis, even=even) for number in range(chunks)]


def parts_of(op: str, name: str, value: SupportsIndex) -> int:
    """A number of parts, each of which is an array. ArgumentError for none, and for more than anybody can use."""
    count = integer(op, name, value)
    if not 1 <= count <= _MOST_PARTS:
        raise ArgumentError(f"{op}: expected {name} in [1, {_MOST_PARTS}], got {count}")
    return count


def traced_extent(op: str, x: ArrayLike, dim: int) -> int:
    """The extent of a dense dim. LayoutError for one that only calls know."""
    extent: object = x.shape[dim]
    if not isinstance(extent, int):
        raise LayoutError(f"{op}: expected an extent that is known when the function is traced, got dim {dim}")
    return extent


def cut(x: ArrayLike, dim: int, low: int | None, high: int | None) -> ArrayLike:
    """A slice of a dim."""
    return x[(*(slice(None),) * dim, slice(low, high))]


def chunk(x: ArrayLike, chunks: int, axis: int = 0) -> list[ArrayLike]:
    """Pieces along a dim, all of one size but the last, as `torch.chunk`. Of dim 0 or a dense dim there are at most
    `chunks`; of a ragged dim exactly that many: views, each with its part of every component, which may be empty."""
    check_ragged("chunk", x)
    chunks = parts_of("chunk", "chunks", chunks)
    dim = checked_axis("chunk", axis, x.ndim)
    if x.layout.letter(dim) in RAGGED:
        return pieces(x, chunks, dim)
    extent = traced_extent("chunk", x, axis)
    size = max(1, -(-extent // chunks))
    return [cut(x, dim, low, low + size) for low in range(0, max(extent, 1), size)]
