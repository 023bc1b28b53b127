"""Joining arrays, and cutting them in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from ragged_dialect import builders
from ragged_dialect.arrays.agreement import batch_extent, equal_extents
from ragged_dialect.arrays.axes import Axis, NestedAxis, PlainAxis
from ragged_dialect.arrays.function import operation
from ragged_dialect.arrays.reducing import dim_of
from ragged_dialect.arrays.shaping import insert_ones
from ragged_dialect.arrays.structures import contiguous, of_value, prefix
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.ufuncs import astype, resolve
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.layout import RAGGED


@operation("concat")
def _concat(*arrays: Tensor, axis: int) -> Tensor:
    """Arrays joined along a dim; see `concat`."""
    if not arrays:
        raise ArgumentError("concat: expected at least one array, got none")
    given = [contiguous(x) for x in _one_dtype(arrays)]
    first = given[0]
    dim = dim_of(first, axis)
    for other in given[1:]:
        if other.layout != first.layout:
            raise LayoutError(f'concat: expected arrays of one layout, got "{first.layout}" and "{other.layout}"')
        _check_pair(first, other, dim)
    if first.is_dense and len(given) == 1:
        return first
    value = builders.concat([x.value for x in given], dim)
    known: dict[int, Axis] = {n: a for n, a in enumerate(first.axes) if n != first.place(dim)[0]}
    return of_value(first.trace, value, first.dtype, known)


def _one_dtype(arrays: Sequence[Tensor]) -> list[Tensor]:
    dtype = arrays[0].dtype
    for x in arrays[1:]:
        if x.dtype != dtype:
            dtype = resolve("add", [x if x.dtype.kind != "b" else arrays[0], arrays[0]])[1][0]
    return [x if x.dtype == dtype else astype(x, dtype=dtype) for x in arrays]


def _check_pair(a: Tensor, b: Tensor, dim: int) -> None:
    """All that is not joined has to be equal: dense extents, structures, and the levels above."""
    trace = a.trace
    joined, level = a.place(dim)
    for number, (own, other) in enumerate(zip(a.axes, b.axes, strict=True)):
        if isinstance(own, PlainAxis) and isinstance(other, PlainAxis):
            if number != joined:
                at = a.layout.dims(number)[0]
                equal_extents((a, at), (b, at), at)
        elif isinstance(own, NestedAxis) and isinstance(other, NestedAxis):
            if number != joined:
                trace.conform(own, other)
            elif level == 1:
                at = a.layout.dims(number)[0]
                batch_extent((b, at), (a, at), at)
            elif level > 1:
                trace.conform(prefix(trace, own, level), prefix(trace, other, level))


def concat(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays joined along a dim: batches, component by component along a ragged dim, or dense dims.

    RuntimeCheckError where what is not joined differs, LayoutError for arrays of other layouts."""
    return _concat(*_listed("concat", arrays), axis=axis)


def _listed(op: str, arrays: Any) -> Sequence[Any]:
    if not isinstance(arrays, (list, tuple)):
        raise ArgumentError(f"{op}: expected a list of arrays, got {type(arrays).__name__}")
    return cast(Sequence[Any], arrays)


@operation("stack")
def _stack(*arrays: Tensor, axis: int) -> Tensor:
    """Arrays of one structure along a new dim; see `stack`."""
    if not arrays:
        raise ArgumentError("stack: expected at least one array, got none")
    rank = arrays[0].ndim + 1
    dim = axis % rank
    return _concat(*(insert_ones(contiguous(x), [dim]) for x in arrays), axis=dim)


def stack(arrays: Sequence[Any], axis: int = 0) -> Any:
    """Arrays of one structure along a new dense dim."""
    return _stack(*_listed("stack", arrays), axis=axis)


def chunk(x: Any, chunks: int, axis: int = 0) -> list[Any]:
    """At most `chunks` pieces along dim 0 or a dense dim, all of one size but the last, as `torch.chunk`."""
    if chunks < 1:
        raise ArgumentError(f"chunk: expected at least 1 chunk, got {chunks}")
    if x.layout.letter(axis % x.ndim) in RAGGED:
        raise LayoutError(f'chunk: expected a dense dim, got dim {axis} of layout "{x.layout}"')
    extent = x.shape[axis]
    if extent is None:
        raise LayoutError(f"chunk: expected an extent that is known when the function is traced, got dim {axis}")
    size = max(1, -(-extent // chunks))
    whole = (slice(None),) * (axis % x.ndim)
    return [x[(*whole, slice(low, low + size))] for low in range(0, max(extent, 1), size)]


__all__ = ["chunk", "concat", "stack"]
