"""Elements by the groups that data puts them in."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.index.rows import as_index, inverse, take_rows
from ragged_dialect.arrays.tracing.agreement import equal_levels
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous, of_value
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, shapes, vectors


@operation("group_by")
def group_by(keys: Tensor, count: Tensor) -> Tensor:
    """The places of every key: an array [count, ragged] of int64, whose component k has the indices at which `keys`, a
    vector of integers in [0, count), is k, in ascending order. With `rg.take` it routes tokens to experts:
    `rg.take(tokens, rg.group_by(expert, 8))`. RangeError for other keys.

    >>> rg.group_by(np.array([2, 0, 2]), 3).tolist()
    [[1], [], [0, 2]]
    """
    if not keys.is_dense or keys.ndim != 1 or keys.dtype.kind != "i":
        raise ArgumentError(f"{keys.trace.op}: expected a vector of integers as keys, got {keys.described}")
    return places_of(keys, as_index(count, "the number of keys"))


def places_of(keys: Tensor, count: ir.Value) -> Tensor:
    """The places of every key in [0, count) among dense keys."""
    return of_value(keys.trace, builders.group_by(shapes.as_vector(keys.storage), count), INT64)


@operation("ungroup")
def ungroup(x: Tensor, places: Tensor) -> Tensor:
    """What was grouped back in its order: a dense array whose element, or row, `places[k, i]` is `x[k, i]`. `places` is
    what `group_by` gives, `x` has its structure, and perhaps dense dims more: the way back from experts to tokens.
    RuntimeCheckError for places that are not 0 to their number, each once.

    >>> places = rg.group_by(np.array([2, 0, 2]), 3)
    >>> rg.ungroup(rg.take(np.array([5.0, 6.0, 7.0]), places), places)
    array([5., 6., 7.])
    """
    op = x.trace.op
    if places.is_dense or str(places.layout) != "dr" or places.dtype.kind != "i":
        raise ArgumentError(f"{op}: expected places as group_by gives them, got {places.described}")
    x = contiguous(x)
    if x.is_dense or x.axes[0].letters != "dr":
        raise LayoutError(f'{op}: expected an array of the structure of its places, got layout "{x.layout}"')
    equal_levels(places, x, 0, 2)
    given = shapes.as_vector(places.storage)
    size = build.value(shapes.dim(given, 0))
    there = builders.scatter_add(vectors.generate(size, lambda _: 1), given, size)
    builders.assert_valid([there], "at_least", f"{op}: places of each row", 1, factor=1)
    return take_rows(x, 0, inverse(given), PlainAxis(None))
