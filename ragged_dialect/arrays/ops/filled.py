"""Dense arrays of one number, and of numbers in order, whose extents may be traced numbers."""

from __future__ import annotations

from typing import SupportsIndex

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.storage import ArrayLike, DTypeLike, check_dtype, converted, dtype_of, take
from ragged_dialect.arrays.index.rows import as_index
from ragged_dialect.arrays.tracing.axes import PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.building import as_tensor
from ragged_dialect.arrays.tracing.elements import INT64, convert
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, element_type, traced
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.narrowing import is_array, is_list, is_tuple
from ragged_dialect.runtime.memory import enough
from ragged_dialect.types import dense_type


def full(shape: ArrayLike, fill_value: ArrayLike, dtype: DTypeLike | None = None) -> ArrayLike:
    """A dense array that has a number everywhere, as `np.full`; extents, and the number, may be traced.

    ArgumentError for extents that are no integers, RuntimeCheckError for negative ones, and for a number that an
    integer `dtype` does not hold.

    >>> rg.jit(lambda x: rg.full((x.shape[0], 2), 0.5))(rg.ragged([[1.0], []])).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    extents = list(shape) if is_tuple(shape) or is_list(shape) else [shape]
    trace = traced()
    wanted = None if dtype is None else dtype_of(dtype)
    if not isinstance(fill_value, Tensor):
        given = take(fill_value)
        if given.ndim:
            raise ArgumentError(f"full: expected a number to fill with, got an array of rank {given.ndim}")
        if wanted is None:
            check_dtype(given.dtype)
        elif trace is None or not is_array(fill_value):  # whose number may change until the program runs
            fill_value = converted("full", given, wanted)
    if trace is None or not any(isinstance(x, Tensor) for x in (*extents, fill_value)):
        sizes = tuple(_extent("full", x) for x in extents)
        with enough("full"):
            return np.full(sizes, fill_value, wanted)
    with trace.changed(op="full"):
        number = as_tensor(trace, fill_value)
        wanted = wanted or number.dtype
        scalar = convert(number.scalar, number.dtype, wanted)
        axes = tuple(_axis(trace, x) for x in extents)
        sizes = [_size(trace, x) if axis.extent is None else axis.extent for axis, x in zip(axes, extents, strict=True)]
        return Tensor(trace, shapes.fill(scalar, shapes.empty(sizes, element_type(wanted))), wanted, axes)


def zeros(shape: ArrayLike, dtype: DTypeLike = "float64") -> ArrayLike:
    """A dense array of zeros, as `np.zeros`; see `rg.full`.

    >>> rg.jit(lambda x: rg.zeros(x.shape[0]))(rg.ragged([[1.0], []])).tolist()
    [0.0, 0.0]
    """
    return full(shape, 0, dtype)


def ones(shape: ArrayLike, dtype: DTypeLike = "float64") -> ArrayLike:
    """A dense array of ones, as `np.ones`; see `rg.full`.

    >>> rg.ones((1, 2)).tolist()
    [[1.0, 1.0]]
    """
    return full(shape, 1, dtype)


def arange(start: ArrayLike, stop: ArrayLike = None, step: int = 1) -> ArrayLike:
    """int64 numbers from `start`, or 0, up to `stop`, as `np.arange` of integers; both may be traced.

    ArgumentError for what is no integer, and for a step of 0.

    >>> rg.jit(lambda x: rg.arange(x.shape[0]))(rg.ragged([[1.0], []])).tolist()
    [0, 1]
    """
    low, high = (0, start) if stop is None else (start, stop)
    by = integer("arange", "step", step)
    if by == 0:
        raise ArgumentError("arange: expected a step other than 0, got 0")
    trace = traced()
    if trace is None or not any(isinstance(x, Tensor) for x in (low, high)):
        first, last = integer("arange", "start", low), integer("arange", "stop", high)
        with enough("arange"):
            return np.arange(first, last, by)
    with trace.changed(op="arange"):
        is_whole = not isinstance(low, Tensor) and low == 0 and by == 1
        axis = _axis(trace, high) if is_whole else PlainAxis(None)
        first, last = (as_index(as_tensor(trace, x), name) for x, name in ((low, "start"), (high, "stop")))
        span = build.sub(last, first) if by > 0 else build.sub(first, last)
        size = build.ceildiv(build.maximum(span, 0), abs(by))
        numbers = vectors.generate(size, lambda i: build.add(first, build.mul(i, by)))
        return Tensor(trace, shapes.cast(numbers, dense_type((axis.extent,), build.i64())), INT64, (axis,))


def _extent(op: str, x: SupportsIndex) -> int:
    extent = integer(op, "shape", x)
    if extent < 0:
        raise RuntimeCheckError(f"{op}: expected extents of at least 0, got {extent}")
    return extent


def _axis(trace: Trace, x: ArrayLike) -> PlainAxis:
    """The axis of an extent: that of the array which has it, where it is one of its."""
    if not isinstance(x, Tensor):
        return PlainAxis(_extent(trace.op, x))
    if isinstance(x.constant, int):
        return PlainAxis(_extent(trace.op, x.constant))
    for (_, level), (axis, number) in trace.extents.items():
        if number is x:
            return batch_axis(axis, level)
    return PlainAxis(None)


def _size(trace: Trace, x: ArrayLike) -> ir.Value:
    size = as_index(as_tensor(trace, x), "an extent")
    builders.assert_valid([size], "at_least", trace.op, 0, factor=0)
    return size
