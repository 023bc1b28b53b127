"""`top_k`: the largest elements along a dim, or the smallest, and where they are."""

from __future__ import annotations

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.ops.reduce import reduce, source
from ragged_dialect.arrays.ops.sorting.keys import KEYS, directed
from ragged_dialect.arrays.ops.sorting.keys import key as order_key
from ragged_dialect.arrays.ops.sorting.merges import are_merged
from ragged_dialect.arrays.ops.sorting.sort import sorting, taken
from ragged_dialect.arrays.tracing.axes import PlainAxis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.types import dense_type

_MOST = 2**31 - 1
"""Larger than any row, and small enough for the type of a buffer to have it beside other extents."""

_FEW, _SHORT = 4, 4096
"""So many of rows of no more elements are found one by one, of others two. On a Zen 5 core four of 1,000 rows of 1,000
float32 take 1.6 ms so and 2.2 by a partial sort, eight 3.5 and 2.4; four of one row of 1,000,000 9.3 and 0.4."""


@operation("top_k")
def top_k(x: Tensor, *, k: int, axis: int = -1, largest: bool = True) -> tuple[Tensor, Tensor]:
    """The `k` largest elements along a dim, in descending order, or not `largest`, the smallest in ascending order, and
    their indices, int64. A dense dim has extent k in both, which is at most that of `x`: RuntimeCheckError. Along an
    innermost ragged dim shorter components have all of their elements. Of equal elements the first comes first; nan is
    larger than all, as in `np.sort`. The values have a gradient, which goes where they are from.

    >>> rg.top_k(np.array([[1.0, 3.0, 2.0]]), 2)
    (array([[3., 2.]]), array([[1, 2]]))
    >>> rg.top_k(rg.ragged([[1.0, 3.0, 2.0], [5.0]]), 2, largest=False)[0].tolist()
    [[1.0, 2.0], [5.0]]
    """
    x, dim, count = source(x), dim_of(x, axis), integer(x.trace.op, "k", k)
    number = x.place(dim)[0]
    axis_ = x.axes[number]
    if count < 1:
        raise ArgumentError(f"{x.trace.op}: expected k of at least 1, got {count}")
    if not isinstance(axis_, PlainAxis):
        best = sorting(x, dim, largest, min(count, _MOST))
        return taken(x, dim, best), best
    extent = axis_.extent
    if extent is not None and extent < count:
        raise RuntimeCheckError(f"{x.trace.op}: k = {count}: level {dim}: expected at least {count}, got {extent}")
    if count > _MOST:
        raise ArgumentError(f"{x.trace.op}: expected k of at most {_MOST}, got {count}")
    builders.assert_valid([build.value(x.extent(dim))], "at_least", f"{x.trace.op}: k = {count}", dim, factor=count)
    if are_merged(x, dim) and count > (_FEW if extent is not None and extent <= _SHORT else 2):
        indices = sorting(x, dim, largest, count)
    else:
        indices = _indices(x, number, dim, count, largest)
    return taken(x, dim, indices), indices


def _indices(x: Tensor, number: int, dim: int, count: int, largest: bool) -> Tensor:
    """The indices of the largest or smallest elements, one after the other: the rows are read once for each, in loops
    over vectors. That is faster than keeping the best ones in order while a row is read once, which is scalar code
    (8,192 rows of 128, k 2 and 8, on a Zen 5 core: 0.7 and 3.5 ms against 7.7 and 37)."""
    axes = [*x.axes[:number], PlainAxis(count), *x.axes[number + 1 :]]
    sizes = x.storage_sizes()
    into = shapes.empty([*sizes[:number], count, *sizes[number + 1 :]], element_type(INT64))
    places = shapes.cast(into, dense_type(shape_of(axes).storage_shape(), element_type(INT64)))
    first = _next(x, dim, largest, None)
    kinds = [(one.axes, one.dtype, one.storage.type) for one in first]

    def put(place: Mixed, index: ir.Value, into: ir.Value) -> ir.Value:
        offsets: list[Mixed] = [0] * len(sizes)
        offsets[number] = place
        return shapes.insert_slice(index, into, offsets, [*sizes[:number], 1, *sizes[number + 1 :]])

    def step(j: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        last = [x.trace.assembled(s, own, dtype) for s, (own, dtype, _) in zip(state[1:], kinds, strict=True)]
        found = [one.storage for one in _next(x, dim, largest, (last[0], last[1]))]
        carried = [shapes.cast(one, type_) for one, (_, _, type_) in zip(found, kinds, strict=True)]
        return [put(build.add(j, 1), found[1], state[0]), *carried]

    state = [put(0, first[1].storage, places), *(one.storage for one in first)]
    return x.trace.assembled(flow.for_loop(count - 1, state, step)[0], axes, INT64)


def _next(x: Tensor, dim: int, largest: bool, last: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
    """Key and index of the element that comes next to the last one: the largest key of those that come after it, and
    the first place that has it. Two folds in any order, which run on vectors, as `argmax` has them."""
    whole = KEYS[x.dtype.itemsize]
    least, dims = constant(whole, np.iinfo(whole).min), frozenset({dim})
    before = [] if last is None else [*last]

    def own_key(element: ir.Value) -> ir.Value:
        return directed(order_key(element, x.dtype), whole, not largest)

    def here() -> ir.Value:
        return arith.index_cast(element_type(INT64), loop_index(dim))

    def follows(key: ir.Value, given: list[ir.Value]) -> ir.Value | None:
        if last is None:
            return None
        same = arith.andi(compare("eq", key, given[1]), compare("gt", here(), given[2]))
        return arith.ori(compare("lt", key, given[1]), same)

    def best(given: list[ir.Value], so_far: list[ir.Value]) -> list[ir.Value]:
        own = own_key(given[0])
        after = follows(own, given)
        return [arith.maxsi(so_far[0], own if after is None else select(after, own, least))]

    def first(given: list[ir.Value], lowest: list[ir.Value]) -> list[ir.Value]:
        own = own_key(given[0])
        after, found = follows(own, given), compare("eq", own, given[-1])
        found = found if after is None else arith.andi(after, found)
        return [arith.minui(lowest[0], select(found, here(), constant(INT64, -1)))]

    (key,) = reduce(x, dims, [(whole, least)], best, before)
    (place,) = reduce(x, dims, [(INT64, constant(INT64, -1))], first, [*before, key])
    return key, place
