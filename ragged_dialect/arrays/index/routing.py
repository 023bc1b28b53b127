"""Elements by the groups that data puts them in."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.rows import as_index, check_lists, take_rows
from ragged_dialect.arrays.tracing.agreement import equal_extents, equal_levels
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, kind
from ragged_dialect.arrays.tracing.loops import widened
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
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


@operation("segment_sum")
def segment_sum(x: Tensor, ids: Tensor, count: Tensor) -> Tensor:
    """Sums of the elements, or rows, of `x` whose id is k, for each k in [0, count): a dense array [count, ...], 0
    where there are none, int64 for integers and booleans. `ids` is a vector of integers in any order, or lists of them,
    and `x` has its structure, and perhaps dense dims more: `jax.ops.segment_sum`, PyTorch's `index_add`, the transpose
    of a sparse matrix times a vector. RangeError for other ids.

    >>> rg.segment_sum(np.array([1.0, 2.0, 3.0]), np.array([2, 0, 2]), 3)
    array([2., 0., 4.])
    """
    op = x.trace.op
    if ids.dtype.kind != "i" or len(ids.axes) != 1:
        raise ArgumentError(f"{op}: expected a vector or lists of integers as ids, got {ids.described}")
    x, ids, size = contiguous(x), contiguous(ids), as_index(count, "the number of segments")
    letters = [axis.letters for axis in x.axes]
    if "t" in ids.axes[0].letters:
        raise LayoutError(f'{op}: expected ids without tiles, got layout "{ids.layout}"')
    if letters != [ids.axes[0].letters, *"d" * (len(letters) - 1)]:
        raise LayoutError(f'{op}: expected elements for ids of layout "{ids.layout}", got layout "{x.layout}"')
    if ids.is_dense:
        equal_extents((ids, 0), (x, 0), 0)
    else:
        equal_levels(ids, x, 0, ids.ndim)
    ids = widened(ids)
    keys = shapes.as_vector(ids.storage)
    builders.assert_valid([size], "at_least", op, 0, factor=0)
    if ids.ndim == 2:  # what is wrong is in a component
        check_lists(ids, [], lambda given: given[0], lambda _: size, kind="index")
    else:
        builders.assert_valid([keys, size], "index", op, 0)
    x = x if kind(x.dtype) == "f" else widened(x)  # sums of integers are int64, as those of `sum`
    return of_value(x.trace, known(builders.scatter_add(x.storage, keys, size)), x.dtype)


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
    places = widened(places)
    given = shapes.as_vector(places.storage)
    size = build.value(shapes.dim(given, 0))
    check_lists(places, [], lambda given: given[0], lambda _: size, kind="index")
    # As many places are each once where every row has one. What is moved to others, or taken of them, is made after the
    # check: places of rows that have none are anywhere.
    is_numbers = len(x.axes) == 1
    if is_numbers:
        i8 = ir.IntegerType.get_signless(8)
        ones = shapes.fill(build.constant(i8, 1), shapes.empty([size], i8))
        at = known(builders.scatter_add(ones, given, size))
    else:  # rows are read out of order in less time than they are written
        at = known(builders.scatter_add(vectors.generate(size, lambda k: k), given, size))

    def there(row: ir.Value) -> ir.Value:
        found = build.unequal(shapes.load(at, row), 0)
        # The first one's number is 0.
        return found if is_numbers else arith.ori(found, build.equal(shapes.load(given, 0), row))

    each = vectors.generate(size, lambda row: arith.extui(build.i64(), there(row)))
    builders.assert_valid([each], "at_least", f"{op}: places of each row", 0, factor=1)
    if not is_numbers:
        return take_rows(x, 0, at, PlainAxis(None))
    made = known(builders.scatter_add(x.storage, given, size, unique=True))
    return x.trace.assembled(made, [PlainAxis(None)], x.dtype)
