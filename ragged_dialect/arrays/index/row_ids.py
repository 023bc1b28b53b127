"""`from_row_ids`: components from the number of the one that each element is in."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect.arrays.core import creation
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.arrays.index.levels import partition
from ragged_dialect.arrays.index.rows import as_index
from ragged_dialect.arrays.tracing.agreement import equal_extents
from ragged_dialect.arrays.tracing.axes import PlainAxis
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
    op = values.trace.op
    if ids.dtype.kind != "i" or not ids.is_dense or ids.ndim != 1:
        raise ArgumentError(f"{op}: expected a vector of integers for row_ids, got {ids.described}")
    if not values.axes or not isinstance(values.axes[0], PlainAxis):
        raise ArgumentError(f"{op}: expected values with a dense first dim, got {values.described}")
    equal_extents((ids, 0), (values, 0), 0)
    keys, size = shapes.as_vector(widened(ids).storage), as_index(count, "nrows")
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
