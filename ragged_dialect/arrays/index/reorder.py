"""Rows of a ragged level at other positions: with the levels below them as windows, or copied where there are none."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.index.rows import (
    check_largest,
    component_lengths,
    component_starts,
    explicit_extents,
    from_ends,
    inside_rows,
    ragged_level,
    row_count,
    row_ids,
    take_blocks,
    take_rows,
    with_axis,
)
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.loops import compute, empty, loops_of
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED

Index: TypeAlias = "Callable[[ir.Value, ir.Value], ir.Value]"
"""Index k of component p, an i64."""


def relaid(x: Tensor, dim: int, offsets: ir.Value) -> NestedAxis:
    """The levels of an axis without windows down to a ragged dim, which gets other offsets."""
    number, level, axis = ragged_level(x, dim)
    above = [*axis.vectors[: axis.letters[:level].count("r")], offsets]
    return NestedAxis(axis.letters[: level + 1], above, explicit_extents(x, number)[: level + 1])


def rearranged(x: Tensor, dim: int, at: ir.Value, head: NestedAxis) -> Tensor:
    """Positions `at` of a ragged dim of a tensor without windows, under levels of their own."""
    number, level, axis = ragged_level(x, dim)
    if level == len(axis.letters) - 1:
        return take_rows(x, number, at, head)
    return _above_windows(x, dim, at, head)


def rows_by_component(
    x: Tensor, dim: int, head: NestedAxis, row: Callable[..., Mixed], size: int | None = None
) -> Tensor:
    """`row(component, at)` of a ragged dim of a tensor without windows, for every element `at` of components with the
    levels `head`: of lists as a loop over these, which may be fused with others. With `size` each element is as many
    rows, `row(component, at, place)`, along a dense dim of their own."""
    number, level, axis = ragged_level(x, dim)
    sizes = [] if size is None else [size]
    inner = [PlainAxis(size) for size in sizes]
    if dim == 1 and axis.letters == "dr" and all(isinstance(axis, PlainAxis) for axis in x.axes[1:]):
        return _looped(x, head, sizes, row)
    offsets, ids = head.vectors[-1], row_ids(x, head)
    each = build.value(1 if size is None else size)

    def position(k: ir.Value) -> Mixed:
        at, places = (k, []) if size is None else (arith.divui(k, each), [arith.remui(k, each)])
        component = shapes.load(ids, at)
        return row(component, build.sub(at, shapes.load(offsets, component)), *places)

    count = row_count(x, head)
    rows = vectors.generate(build.mul(count, each), position)
    if level == len(axis.letters) - 1:
        return take_blocks(x, number, rows, [count, *sizes], [head, *inner])
    under = head if size is None else NestedAxis(f"{head.letters}d", head.vectors, [*head.extents, each])
    return _above_windows(x, dim, rows, under)


def _looped(x: Tensor, head: NestedAxis, sizes: Sequence[int], row: Callable[..., Mixed]) -> Tensor:
    axes, own = [head, *map(PlainAxis, sizes), *x.axes[1:]], range(2 + len(sizes))
    storage = [row_count(x, head), *sizes, *x.storage_sizes()[1:]]
    like = x.trace.assembled(shapes.empty(storage, element_type(x.dtype)), axes, x.dtype)

    def body(_: list[ir.Value]) -> list[ir.Value]:
        rest = [loop_index(loop) for loop in range(len(own), like.ndim)]
        return [tensor.extract(x.storage, [build.value(row(*map(loop_index, own))), *rest])]

    loops = loops_of(like)
    out = (empty(axes, loops.levels, x.dtype), x.dtype, axes, range(like.ndim))
    return compute(x.trace, [], [out], like.ndim, frozenset(), body)[0]


def take_dense(x: Tensor, dim: int, at: ir.Value) -> Tensor:
    """Indices `at` of a dense dim of a nested axis; the levels below become windows."""
    x = contiguous(x)
    number, level = x.place(dim)
    extent, count = build.value(x.extent(dim)), shapes.dim(at, 0)
    parents = build.product(size for _, size in _axes_above(x, number, level))

    def position(i: ir.Value) -> ir.Value:
        parent = arith.divui(i, build.value(count))
        return build.add(build.mul(parent, extent), shapes.load(at, arith.remui(i, build.value(count))))

    rows = vectors.generate(build.mul(parents, count), position)
    return _above_windows(x, dim, rows, _dense_head(x, number, level, build.value(count)))


def _dense_head(x: Tensor, number: int, level: int, count: Mixed) -> NestedAxis:
    """The levels above one, and a dense one of extent `count`."""
    axis, first = x.nested_axis(number), x.layout.dims(number)[0]
    above = [build.value(x.extent(first + k)) if c == "d" else None for k, c in enumerate(axis.letters[:level])]
    kept = axis.vectors[: axis.letters[:level].count("r")]
    return NestedAxis(f"{axis.letters[:level]}d", kept, [*above, count])


def _above_windows(x: Tensor, dim: int, at: ir.Value, head: NestedAxis) -> Tensor:
    check_untiled(x.trace.op, x.layout)
    number, level = x.place(dim)
    axis = x.nested_axis(number)
    lower = next(k for k in range(level + 1, len(axis.letters)) if axis.letters[k] in RAGGED)
    first = x.layout.dims(number)[0]
    if lower > level + 1:
        at = inside_rows(at, build.value(build.product(x.extent(first + k) for k in range(level + 1, lower))))
    windows = [
        vectors.gather(component_starts(x, first + lower), at),
        vectors.gather(component_lengths(x, first + lower), at),
    ]
    rest = axis.vectors[axis.letters[: lower + 1].count("r") :]
    letters = f"{head.letters}{axis.letters[level + 1 : lower]}w{axis.letters[lower + 1 :]}"
    extents = [*head.extents, *explicit_extents(x, number)[level + 1 :]]
    return with_axis(x, number, NestedAxis(letters, [*head.vectors, *windows, *rest], extents))


def pick_each(x: Tensor, dim: int, index: Index, count: Mixed, extent: int | None) -> Tensor:
    """As many elements of every component of a ragged dim, which becomes dense; indices count from the end where
    they are negative. IndexError, when it runs, for one that a component does not have."""
    number, level, axis = ragged_level(x, dim)
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    parents, count = shapes.dim(lengths, 0), build.value(count)
    total = build.mul(parents, count)

    def parent(i: ir.Value) -> ir.Value:
        return arith.divui(i, count)

    at = from_ends(total, lambda i: index(parent(i), arith.remui(i, count)), lambda i: shapes.load(lengths, parent(i)))

    def largest(p: ir.Value) -> ir.Value:
        def more(k: ir.Value, so_far: list[ir.Value]) -> list[ir.Value]:
            place = build.value(build.add(build.mul(p, count), k))
            return [arith.maxui(so_far[0], tensor.extract(at, [place]))]

        return flow.for_loop(count, [build.constant(build.i64(), 0)], more)[0]

    check_largest(x, dim, vectors.generate(parents, largest), lambda p: shapes.load(lengths, p), lambda _: count)
    rows = vectors.generate(total, lambda i: build.add(shapes.load(starts, parent(i)), shapes.load(at, i)))
    if level == len(axis.letters) - 1:
        return _matrices(x, dim, rows, count, extent)
    return _above_windows(x, dim, rows, _dense_head(x, number, level, count))


def pick_pairs(x: Tensor, rows: ir.Value, places: ir.Value) -> Tensor:
    """Element `places[k]` of component `rows[k]` of ragged dim 1; places count from the end where they are negative.
    IndexError, when it runs, for one that its component does not have."""
    number, level, axis = ragged_level(x, 1)
    if level < len(axis.letters) - 1:  # what is below becomes windows, of what has none
        x = contiguous(x)
        number, level, axis = ragged_level(x, 1)
    positions = positions_of(x, 1, rows, places)
    if level == len(axis.letters) - 1:
        return take_rows(x, number, positions, PlainAxis(None))
    return _above_windows(x, 1, positions, NestedAxis("d", [], [shapes.dim(rows, 0)]))


def positions_of(x: Tensor, dim: int, rows: ir.Value, places: ir.Value) -> ir.Value:
    """Where element `places[k]` of component `rows[k]` of a ragged dim is in storage; see `pick_pairs`."""
    lengths, starts = component_lengths(x, dim), component_starts(x, dim)
    count, bounds = shapes.dim(rows, 0), vectors.gather(lengths, rows)
    at = from_ends(count, lambda k: tensor.extract(places, [k]), lambda k: shapes.load(bounds, k))
    builders.assert_valid([at, bounds], "position", x.trace.op, dim)
    return vectors.generate(count, lambda k: build.add(shapes.load(starts, shapes.load(rows, k)), shapes.load(at, k)))


def _matrices(x: Tensor, dim: int, rows: ir.Value, count: Mixed, extent: int | None) -> Tensor:
    """Storage rows `rows`, `count` for every component of an innermost ragged dim: a copy."""
    number, level = x.place(dim)
    blocks = [*_axes_above(x, number, level), (PlainAxis(extent), count)]
    return take_blocks(x, number, rows, [size for _, size in blocks], [axis for axis, _ in blocks])


def _axes_above(x: Tensor, number: int, level: int) -> list[tuple[Axis, Mixed]]:
    """The levels above one as axes of their own, with their storage extents."""
    axis, first = x.nested_axis(number), x.layout.dims(number)[0]
    ragged = [k for k in range(level) if axis.letters[k] in RAGGED]
    found: list[tuple[Axis, Mixed]] = []
    if ragged:
        own = x.trace.prefix(axis, ragged[-1] + 1)
        found.append((own, vectors.last(own.vectors[-1])))
    dense = range(ragged[-1] + 1 if ragged else 0, level)
    return found + [(batch_axis(axis, k), build.value(x.extent(first + k))) for k in dense]
