"""How often each number is in each component."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect.arrays.index.gather import leading_level
from ragged_dialect.arrays.index.routing import segment_sum
from ragged_dialect.arrays.index.rows import as_index, check_lists, static_extent
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, convert, kind
from ragged_dialect.arrays.tracing.loops import widened
from ragged_dialect.arrays.tracing.operation import OPERATIONS, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.types import dense_type


@operation("bincount")
def bincount(x: Tensor, count: Tensor, weights: Tensor | None = None) -> Tensor:
    """How often each integer in [0, count) is in each component of lists of integers: [components, count], int64, or in
    a vector: [count]; with `weights`, of the structure of `x`, the sums of these, which have a gradient. RangeError for
    other integers.

    >>> rg.bincount(rg.ragged([[2, 0, 2], [], [1]]), 3)
    array([[1, 0, 2],
           [0, 0, 0],
           [0, 1, 0]])
    """
    op = x.trace.op
    if x.dtype.kind != "i":
        raise ArgumentError(f"{op}: expected integers to count, got {x.described}")
    x, size = contiguous(x), as_index(count, "how many there are")
    if x.ndim == 1:
        return segment_sum(OPERATIONS["equal"](x, x) if weights is None else weights, x, count)
    axis = x.axes[0] if len(x.axes) == 1 else None
    if not isinstance(axis, NestedAxis) or axis.letters != "dr":
        raise LayoutError(f'{op}: expected lists of integers, got layout "{x.layout}"')
    builders.assert_valid([size], "at_least", op, 1, factor=0)
    lengths = builders.lengths(x.value, 1)
    builders.assert_valid([build.value(shapes.dim(lengths, 0)), size], "fits", op, 1)
    check_lists(x, [], lambda given: convert(given[0], x.dtype, INT64), lambda _: size, kind="index")
    if weights is None:
        weights = x.trace.assembled(
            shapes.fill(build.constant(build.i64(), 1), vectors.empty(shapes.dim(x.storage, 0))), x.axes, INT64
        )
    weights = contiguous(weights)
    if weights.ndim != 2 or leading_level(x, weights) != 1:
        raise LayoutError(f'{op}: expected weights of the structure of x, got layout "{weights.layout}"')
    if kind(weights.dtype) != "f":  # sums of integers and booleans are int64, as those of `sum`
        weights = widened(weights)
    keys = x if x.dtype.itemsize >= 4 else widened(x)  # positions have 32 bits or 64
    sums = known(builders.scatter_add(weights.value, keys.value, size))
    axes = (PlainAxis(None), PlainAxis(static_extent(count)))
    return Tensor(
        x.trace, shapes.cast(sums, dense_type((None, axes[1].extent), sums.type.element_type)), weights.dtype, axes
    )
