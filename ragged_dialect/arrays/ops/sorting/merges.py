"""The order of components, or of rows of a dense dim, on a CPU: `ragged.sort`, which merges vectors of keys."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, arith, ir
from ragged_dialect.arrays.index.dims import flattened, restored
from ragged_dialect.arrays.index.getitem import slice_dim
from ragged_dialect.arrays.index.rows import component_lengths
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.sorting.keys import KEYS, PLACE, directed, element, key
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, convert
from ragged_dialect.arrays.tracing.loops import mapped
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type, known
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.types import dense_type


def are_merged(x: Tensor, dim: int) -> bool:
    """Whether what is sorted with each other lies side by side, on a CPU; not in a step, which sees rows apart."""
    if x.trace.device != "cpu" or x.trace.rows_apart:
        return False
    if isinstance(x.axes[x.place(dim)[0]], NestedAxis):
        return len(x.axes) == 1
    extents = list(x.storage.type.shape)
    return x.place(dim)[0] == len(extents) - 1 and extents.count(DYNAMIC) < 2 and 0 not in extents


def by_merges(x: Tensor, dim: int, descending: bool, limit: int | None) -> Tensor:
    """The indices along a dim that sort its elements, int64, or the first few; equal ones stay in order. Keys of up
    to 32 bits are in front of their index, in one number: RuntimeCheckError, when it runs, for a component of more than
    2**32."""
    if x.dtype.itemsize > 4:
        keys = mapped(x, [], INT64, lambda e: directed(key(e[0], x.dtype), INT64, descending))
        return _sorted(keys, dim, mapped(x, [], INT64, lambda _: build.to_i64(loop_index(dim))), limit=limit)
    _check_places(x, dim)
    own = KEYS[x.dtype.itemsize]
    front, mask = build.constant(build.i64(), PLACE), build.constant(build.i64(), (1 << PLACE) - 1)

    def numbered(given: list[ir.Value]) -> ir.Value:
        wide = convert(directed(key(given[0], x.dtype), own, descending), own, INT64)
        return arith.ori(arith.shli(wide, front), build.to_i64(loop_index(dim)))

    made = _sorted(mapped(x, [], INT64, numbered), dim, limit=limit)
    return mapped(made, [], INT64, lambda given: arith.andi(given[0], mask))


def _check_places(x: Tensor, dim: int) -> None:
    """Components have so many elements at most; nobody looks at each where all have fewer together."""
    size = build.value(x.storage_sizes()[x.place(dim)[0]])

    def longest() -> list[ir.Value]:
        return [size if x.layout.is_plain(dim) else vectors.largest(component_lengths(x, dim))]

    most = flow.choose(build.at_most(size, 1 << PLACE), lambda: [build.value(0)], longest, [build.index_type()])
    builders.assert_valid(most, "at_most", x.trace.op, dim, factor=1 << PLACE)


def values_by_merges(x: Tensor, dim: int, descending: bool) -> Tensor:
    """The elements along a dim in order, of which nobody asks where they are from: -0.0 comes before 0.0."""
    own = KEYS[max(x.dtype.itemsize, 4)]
    narrow = KEYS[x.dtype.itemsize]

    def ordered(given: list[ir.Value]) -> ir.Value:
        made = key(given[0], x.dtype, zeros=2)
        return directed(convert(made, narrow, own), own, descending)

    def back(given: list[ir.Value]) -> ir.Value:
        made = directed(given[0], own, descending)
        return element(convert(made, own, narrow), x.dtype)

    return mapped(_sorted(mapped(x, [], own, ordered), dim), [], x.dtype, back)


def _sorted(keys: Tensor, dim: int, *numbers: Tensor, limit: int | None = None) -> Tensor:
    """Keys in order, or numbers in that of their keys, along a dim; the first few where a limit says so."""
    return first_few(_in_order(keys, dim, numbers, limit), dim, limit)


def first_few(x: Tensor, dim: int, limit: int | None) -> Tensor:
    """The first elements along a dim, all without a limit; a dense dim has as many."""
    number = x.place(dim)[0]
    if limit is None:
        return x
    if isinstance(x.axes[number], NestedAxis):
        return source(slice_dim(x, dim, None, build.value(limit), 1))
    sizes = [*x.storage_sizes()[:number], limit, *x.storage_sizes()[number + 1 :]]
    first = shapes.extract_slice(x.storage, [0] * len(sizes), sizes, [True] * len(sizes))
    return x.trace.assembled(first, [*x.axes[:number], PlainAxis(limit), *x.axes[number + 1 :]], x.dtype)


def _in_order(keys: Tensor, dim: int, numbers: Sequence[Tensor], limit: int | None) -> Tensor:
    """Keys in order, or numbers; with a limit nobody knows what is behind the first few."""
    any_size = dense_type((None,), element_type(keys.dtype))
    rows = [shapes.cast(flattened(one).storage, any_size) for one in (keys, *numbers)]
    made = known(builders.sort(rows[0], _offsets(keys, dim), *rows[1:], limit=limit))
    if len(keys.axes) == 1:
        return keys.trace.assembled(shapes.cast(made, keys.storage.type), keys.axes, keys.dtype)
    extents = list(keys.storage.type.shape)
    if DYNAMIC not in extents:  # as those of a batch of 1 are
        made = shapes.cast(made, dense_type((prod(extents),), element_type(keys.dtype)))
    whole = Tensor(keys.trace, made, keys.dtype, (PlainAxis(None),), storage=made)
    return restored(whole, [list(range(len(keys.axes)))], keys.axes, expand=True)


def _offsets(x: Tensor, dim: int) -> ir.Value:
    """Where what is sorted with each other begins and ends."""
    if isinstance(x.axes[0], NestedAxis) and len(x.axes) == 1:
        return builders.offsets(x.value, dim)
    *rows, extent = x.storage_sizes()
    return vectors.generate(build.add(build.product(rows), 1), lambda row: build.mul(row, extent))
