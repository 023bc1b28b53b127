"""Axes of values that structure ops make, and of parts of axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.leaves import Origin
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace, element_type
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.types import dense_type
from ragged_dialect.types import shape_of as shape_of_type


def of_value(
    trace: Trace,
    value: ir.Value,
    dtype: DType,
    known: Mapping[int, Axis] | None = None,
    storage: ir.Value | None = None,
) -> Tensor:
    """The tracer of an MLIR value; axes that are `known`, by number, are taken over, the others read
    off the value."""
    shape = shape_of_type(value.type)
    axes: list[Axis] = []
    for number, letters in enumerate(shape.layout.axes):
        first = shape.layout.dims(number)[0]
        found = (known or {}).get(number)
        if found is None:
            found = PlainAxis(shape.shape[first]) if letters == "d" else _read(value, letters, first, shape.shape)
        axes.append(found)
    return Tensor(trace, value, dtype, tuple(axes), storage=storage)


def _read(value: ir.Value, letters: str, first: int, shape: tuple[int | None, ...]) -> NestedAxis:
    vectors: list[ir.Value] = []
    extents: list[Mixed | None] = []
    for level, letter in enumerate(letters):
        dim = first + level
        if letter == "r":
            vectors.append(builders.offsets(value, dim))
        elif letter == "w":
            vectors += [builders.starts(value, dim), builders.lengths(value, dim, stored=True)]
        gives = level == 0 and letters[1] in RAGGED
        if letter == "t":
            extents.append(shape[dim])
        else:
            extents.append(None if letter != "d" or gives else tensor.dim(value, build.value(dim)))
    return NestedAxis(letters, vectors, extents)


def contiguous(x: Tensor) -> Tensor:
    """The tensor with windows made contiguous: a copy of the elements inside windows. The structure of
    an argument is derived once for all calls."""
    if not x.layout.has_windows:
        return x
    derived = [_derived(x, axis) for axis in x.axes]
    value = builders.compact(x.value)
    return of_value(x.trace, value, x.dtype, {n: axis for n, axis in enumerate(derived) if axis is not None})


def _derived(x: Tensor, axis: Axis) -> Axis | None:
    """What an axis becomes without windows, where it is known: of an argument it is derived once for all calls."""
    if "w" not in axis.letters:
        return axis
    origin = axis.root.origin if isinstance(axis, NestedAxis) else None
    if origin is None or origin.derived or axis.letters.index("w") < len(axis.letters) - 1:
        return None
    return x.trace.argument_axis(Origin(origin.leaf, origin.dim, "contiguous"))


def in_components(x: Tensor) -> Tensor:
    """The rows of a dense array, or of the innermost components of a ragged one, as components of one length."""
    axis = x.axes[0]
    count, length = shapes.dim(x.storage, 0), x.extent(len(axis.letters))
    storage = shapes.collapse(x.storage, shapes.grouped(len(x.axes), 0, 2))
    offsets = vectors.generate(build.add(count, 1), lambda b: build.mul(b, length))
    above, extents = (axis.vectors, axis.extents) if isinstance(axis, NestedAxis) else ([], [None])
    axes = [NestedAxis(f"{axis.letters}r", [*above, offsets], [*extents, None]), *x.axes[2:]]
    return x.trace.assembled(storage, axes, x.dtype)


def out_of_components(y: Tensor, x: Tensor) -> Tensor:
    """What is computed of such components as a dense array again; `x` is the one that they were made of."""
    axes = [*x.axes[:2], *y.axes[1:]]
    wanted = dense_type(shape_of(axes).storage_shape(), element_type(y.dtype))
    whole = [None if None in x.static_shape[:2] else prod(e or 0 for e in x.static_shape[:2]), *y.static_shape[2:]]
    storage = shapes.cast(y.storage, dense_type(tuple(whole), element_type(y.dtype)))
    groups = shapes.grouped(len(axes), 0, 2)
    sizes = [x.extent(0), x.extent(1), *y.storage_sizes()[1:]]
    return x.trace.assembled(tensor.expand_shape(wanted, storage, groups, *build.split(sizes)), axes, y.dtype)
