"""`from_row_ids`, `from_starts_lengths` and `narrow`: structures of vectors that traced code computes."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core import creation
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.arrays.index.levels import partition
from ragged_dialect.arrays.index.rows import as_index
from ragged_dialect.arrays.tracing.agreement import equal_extents
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64
from ragged_dialect.arrays.tracing.loops import widened
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ir import build, shapes, vectors


def from_row_ids(values: ArrayLike, row_ids: ArrayLike, nrows: ArrayLike = None, check: bool = True) -> ArrayLike:
    """A ragged array of values, [n, …], and the component of each, not decreasing. `nrows` components, by default one
    more than the largest id; in traced code, which makes its checks when it runs, it has to be given.

    RuntimeCheckError for ids that decrease, are negative or not below `nrows` (in traced code a RangeError, which is
    one).

    >>> rg.from_row_ids(np.array([1.0, 2.0, 3.0]), np.array([0, 0, 2]), 4).tolist()
    [[1.0, 2.0], [], [3.0], []]
    """
    if not any(map(is_traced, (values, row_ids, nrows))):
        return creation.from_row_ids(values, row_ids, nrows, check)
    if nrows is None:
        raise ArgumentError("from_row_ids: expected nrows in traced code, got None (which is the size of the result)")
    return _in_rows(values, row_ids, nrows)


@operation("from_row_ids")
def _in_rows(values: Tensor, ids: Tensor, count: Tensor) -> Tensor:
    op, keys = values.trace.op, _vector(ids, "row_ids")
    if not values.axes or not isinstance(values.axes[0], PlainAxis):
        raise ArgumentError(f"{op}: expected values with a dense first dim, got {values.described}")
    equal_extents((ids, 0), (values, 0), 0)
    size = as_index(count, "nrows")
    builders.assert_valid([size], "at_least", op, 0, factor=0)
    number = build.value(shapes.dim(keys, 0))
    builders.assert_valid([keys, size], "index", op, 0)
    pairs = build.maximum(build.sub(number, 1), 0)
    lows, highs = (
        vectors.generate(pairs, lambda i, after=after: shapes.load(keys, build.add(i, after))) for after in (0, 1)
    )
    builders.assert_valid([lows, highs, size], "range", op, 0)  # none decreases
    ones = vectors.generate(number, lambda _: build.value(1))
    lengths = Tensor(values.trace, known(builders.scatter_add(ones, keys, size)), INT64, (PlainAxis(None),))
    return partition(values, lengths, lengths=True)


def from_starts_lengths(values: ArrayLike, starts: ArrayLike, lengths: ArrayLike, check: bool = True) -> ArrayLike:
    """A ragged array whose components are windows into values, [n, …]: gaps and overlaps are legal. Traced code checks
    what it is given when it runs.

    RuntimeCheckError for a window that is not inside the values.

    >>> rg.from_starts_lengths(np.arange(5.0), np.array([3, 0, 2]), np.array([2, 0, 2])).tolist()
    [[3.0, 4.0], [], [2.0, 3.0]]
    """
    if not any(map(is_traced, (values, starts, lengths))):
        return creation.from_starts_lengths(values, starts, lengths, check)
    return _windows(values, starts, lengths)


def narrow(dense: ArrayLike, start: ArrayLike, length: ArrayLike) -> ArrayLike:
    """A view into a padded array, [B, L, …]: component b is `dense[b, start[b] : start[b] + length[b]]`, such as the
    keys that a cache has so far. `start` and `length` may be one number for all. Traced code checks them when it runs.

    RuntimeCheckError for a window outside its row.

    >>> rg.narrow(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 0, np.array([1, 2])).tolist()
    [[1.0], [4.0, 5.0]]
    """
    if not any(map(is_traced, (dense, start, length))):
        return creation.narrow(dense, start, length)
    return _in_padded(dense, start, length)


@operation("from_starts_lengths")
def _windows(values: Tensor, starts: Tensor, lengths: Tensor) -> Tensor:
    _check_plain("values", values, 1)
    first, second = (_vector(x, name) for x, name in ((starts, "starts"), (lengths, "lengths")))
    equal_extents((lengths, 0), (starts, 0), 0)
    _check(values, first, second, values.extent(0))
    axis = NestedAxis("dw", [first, second], [None, None])
    return values.trace.assembled(values.storage, [axis, *values.axes[1:]], values.dtype)


@operation("narrow")
def _in_padded(dense: Tensor, start: Tensor, length: Tensor) -> Tensor:
    _check_plain("an array", dense, 2)
    batch, extent = dense.extent(0), dense.extent(1)
    starts, lengths = (_for_all(x, name, dense) for x, name in ((start, "start"), (length, "length")))
    _check(dense, starts, lengths, extent)
    first = vectors.generate(batch, lambda b: build.add(shapes.load(starts, b), build.mul(b, extent)))
    storage = shapes.collapse(dense.storage, shapes.grouped(dense.ndim, 0, 2))
    axis = NestedAxis("dw", [first, lengths], [None, None])
    return dense.trace.assembled(storage, [axis, *dense.axes[2:]], dense.dtype)


def _check_plain(what: str, x: Tensor, rank: int) -> None:
    if x.ndim < rank or not all(isinstance(axis, PlainAxis) for axis in x.axes):
        raise ArgumentError(f"{x.trace.op}: expected {what} of rank {rank} or more that is dense, got {x.described}")


def _check(x: Tensor, starts: ir.Value, lengths: ir.Value, extent: build.Mixed) -> None:
    builders.assert_valid([starts, lengths, build.value(extent)], "windows", x.trace.op, 1)


def _vector(x: Tensor, name: str) -> ir.Value:
    if x.dtype.kind != "i" or not x.is_dense or x.ndim != 1:
        raise ArgumentError(f"{x.trace.op}: expected a vector of integers for {name}, got {x.described}")
    return shapes.as_vector(widened(x).storage)


def _for_all(x: Tensor, name: str, dense: Tensor) -> ir.Value:
    """A number for each row."""
    if not x.axes:
        number = as_index(x, name)
        return vectors.generate(dense.extent(0), lambda _: number)
    vector = _vector(x, name)
    equal_extents((dense, 0), (x, 0), 0)
    return vector
