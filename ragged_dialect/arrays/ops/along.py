"""Elements by indices along one dim: `take_along_axis`, and the indices themselves."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.index.dims import dim_of, flattened
from ragged_dialect.arrays.index.gather import gather, gathered_features
from ragged_dialect.arrays.index.rows import wrapped
from ragged_dialect.arrays.ops.sorting.sort import taken
from ragged_dialect.arrays.tracing.agreement import equal_beside
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, batch_axis
from ragged_dialect.arrays.tracing.elements import INT64, convert
from ragged_dialect.arrays.tracing.loops import compute, empty, mapped
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build
from ragged_dialect.layout import RAGGED


@operation("take_along_axis")
def take_along_axis(x: Tensor, indices: Tensor, *, axis: int = -1) -> Tensor:
    """`np.take_along_axis`: along a dense dim the elements at indices of the same layout, whose other dims are those of
    `x`; along a ragged dim `rg.gather`, or with the features of `x` elements for each of these, of indices that are
    ragged as it is (`np.argsort(x, axis=1)`), or as many for each component (`x.argmax(axis=1, keepdims=True)`).
    Negative ones count from the end. The values have a gradient. LayoutError for indices of another layout; IndexError
    where one is out of range.

    >>> scores = rg.from_lengths(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), [2, 1])
    >>> wanted = rg.ragged([[1, 0], [1]])
    >>> rg.take_along_axis(scores, wanted[..., None], axis=-1)[..., 0].tolist()
    [[2.0, 3.0], [6.0]]
    """
    dim = dim_of(x, axis)
    if indices.dtype.kind != "i":
        raise ArgumentError(f"{x.trace.op}: expected indices of integers, got {indices.described}")
    x, indices = contiguous(x), contiguous(indices)
    if x.layout.letter(dim) in RAGGED:
        alike = indices.is_dense or indices.layout == x.layout
        by_feature = x.layout.axes[0] == "dr" and 2 < x.ndim == indices.ndim and alike
        return gathered_features(x, indices) if by_feature else gather(x, indices)
    if indices.layout != x.layout or not x.layout.is_plain(dim):
        text = f'expected indices of layout "{x.layout}" along a plain dim, got "{indices.layout}" along dim {dim}'
        raise LayoutError(f"{x.trace.op}: {text}")
    equal_beside(x, indices, dim)
    extent = build.value(x.extent(dim))

    def from_start(given: list[ir.Value]) -> ir.Value:
        return wrapped(convert(given[0], indices.dtype, INT64), extent)

    at = mapped(indices, [], INT64, from_start)
    builders.assert_valid([flattened(at).storage, extent], "position", x.trace.op, dim)
    return taken(x, dim, at)


@operation("local_index")
def local_index(x: Tensor, *, axis: int = 1) -> Tensor:
    """The index of every element along a dim, int64, in the structure of the dims up to it: of each element of a
    component its place there. LayoutError for a dense dim between ragged ones.

    >>> rg.local_index(rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]])).tolist()
    [[0, 1, 2], [], [0, 1]]
    """
    dim = dim_of(x, axis)
    x = contiguous(x)
    number, level = x.place(dim)
    own: Axis = x.axes[number]
    if isinstance(own, NestedAxis) and x.layout.letter(dim) in RAGGED:
        own = x.trace.prefix(own, level + 1)
    elif isinstance(own, NestedAxis):
        if level:
            raise LayoutError(f'{x.trace.op}: expected no dense dim below others, got dim {dim} of layout "{x.layout}"')
        own = batch_axis(own, 0)
    axes, rank = [*x.axes[:number], own], dim + 1
    out = empty(axes, [(x, k) for k in range(rank)], INT64)
    outs = [(out, INT64, axes, range(rank))]
    return compute(x.trace, [], outs, rank, frozenset(), lambda _: [build.to_i64(loop_index(dim))])[0]
