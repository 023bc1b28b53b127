"""`ragged.select` and `ragged.slice` on parts: views, but for rows of an innermost level."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import elementwise, loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.views import dropping, expand, outer_count, positions, with_shape
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_tensor


def select_parts(parts: Parts, dim: int, index: ir.Value) -> Parts:
    """One index of a dim."""
    shape = parts.shape.select(dim)
    _, at, letters = parts.layout.level(dim)
    if letters == "d":
        return _select_plain(parts, dim, index, shape)
    if at == 0:
        return _select_leading(parts, dim, index, shape)
    if at == len(letters) - 1:
        return _select_rows(parts, dim, index, shape)
    return _select_inner(parts, dim, index, shape)


def _cut(parts: Parts, axis: int, low: Mixed, size: Mixed, keep: bool = True) -> ir.Value:
    """The values with one storage axis cut to a range."""
    x = parts.values
    dims = parts.storage_dims()
    offsets = [low if k == axis else 0 for k in range(len(dims))]
    sizes = [size if k == axis else d for k, d in enumerate(dims)]
    return shapes.extract_slice(x, offsets, sizes, [keep or k != axis for k in range(len(dims))])


def _select_plain(parts: Parts, dim: int, index: ir.Value, shape: RaggedShape) -> Parts:
    axis, _ = parts.layout.locate(dim)
    return with_shape(parts, shape, dropping(dim), {}, values=_cut(parts, axis, index, 1, keep=False))


def _select_leading(parts: Parts, dim: int, index: ir.Value, shape: RaggedShape) -> Parts:
    """A component: levels below it start anew at 0, windows keep their starts."""
    axis, _ = parts.layout.locate(dim)
    return _rebased(parts, axis, shape, *_under(parts, dim, index), dropping(dim))


def _under(parts: Parts, dim: int, index: ir.Value) -> tuple[Mixed, Mixed, int]:
    """Positions (low, size) of the level below the leading one, under an index, and its dim."""
    below = dim + 1
    if parts.layout.letter(below) == "d":
        extent = parts.extent(below)
        return build.mul(index, extent), extent, below
    low, size = parts.component(below, index)
    return low, size, below


def _rebased(
    parts: Parts,
    axis: int,
    shape: RaggedShape,
    low: Mixed,
    size: Mixed,
    level: int,
    moved: Callable[[int], int | None],
) -> Parts:
    """Positions [low, low + size) of `level` become the start of the axis: its vectors below are
    cut, offsets start at 0 again, values are cut unless a window keeps indexing all of them."""
    new: dict[tuple[str, int], ir.Value] = {}
    extents: dict[int, Mixed] = {}
    to = moved(level)
    if to is not None and shape.layout.letter(to) == "d" and shape.has_extent_part(to):
        extents[to] = size
    dims = parts.layout.dims(axis)
    whole = False
    for below in range(level + 1, dims.stop):
        letter = parts.layout.letter(below)
        target = moved(below)
        if letter == "d":
            extent = parts.extent(below)
            low, size = build.mul(low, extent), build.mul(size, extent)
        elif letter == "r" and not whole:
            offsets = parts.vectors["offsets", below]
            base = shapes.load(offsets, low)
            end = shapes.load(offsets, build.add(low, size))
            if target is not None:
                new["offsets", target] = vectors.section(offsets, low, build.add(size, 1), base)
            low, size = base, build.sub(end, base)
        elif letter == "w" and not whole:
            for kind in ("starts", "lengths"):
                if target is not None:
                    new[kind, target] = vectors.section(parts.vectors[kind, below], low, size)
            whole = True
    values = parts.values if whole else _cut(parts, axis, low, size)
    made = with_shape(parts, shape, moved, new, extents, values)
    _keep_extents(made, parts, moved)
    if whole:
        made.windows = {}
    return made


def _keep_extents(made: Parts, parts: Parts, moved: Callable[[int], int | None]) -> None:
    """Give parts of another shape the extents of dims that are left, where they have no own."""
    for old in range(parts.shape.rank):
        target = moved(old)
        if target is not None and made.shape.has_extent_part(target) and target not in made.extents:
            made.extents[target] = parts.extent(old)


def _window_below(parts: Parts, dim: int) -> tuple[int, Mixed, dict[str, ir.Value]]:
    """The next ragged level below `dim`: its dim, the components of it in each index of `dim`, and its windows."""
    axis, _ = parts.layout.locate(dim)
    level = next(d for d in parts.layout.dims(axis) if d > dim and parts.layout.letter(d) in RAGGED)
    windows = {"starts": walks.element_starts(parts, level), "lengths": walks.element_lengths(parts, level)}
    return level, build.product(parts.extent(d) for d in range(dim + 1, level)), windows


def _select_inner(parts: Parts, dim: int, index: ir.Value, shape: RaggedShape) -> Parts:
    """An inner batch dim, or a ragged level above others: of every group of components one stays, as windows."""
    level, inner, windows = _window_below(parts, dim)
    if parts.layout.letter(dim) == "d":
        extent, groups = parts.extent(dim), outer_count(parts, dim)
        source = _entries(inner, inner, lambda group: build.mul(group, extent), index)
    else:
        own, groups = walks.element_starts(parts, dim), parts.parents(dim)
        source = _entries(inner, inner, lambda group: shapes.load(own, group), index)
    new = _taken(windows, level - 1, build.mul(groups, inner), source, parts.layout.is_below_window(dim))
    made = with_shape(parts, shape, dropping(dim, level), new)
    _keep_extents(made, parts, dropping(dim))
    return made


def _entries(
    per_group: Mixed, inner: Mixed, first: Callable[[ir.Value], Mixed], lo: Mixed
) -> Callable[[ir.Value], Mixed]:
    """Where the i-th component that stays is among all: of every group so many, those of the dim from `lo` on, counted
    from the group's first."""

    def source(i: ir.Value) -> Mixed:
        group = build.divide(i, build.maximum(per_group, 1))
        rest = build.sub(i, build.mul(group, per_group))
        return build.add(build.mul(build.add(first(group), lo), inner), rest)

    return source


def _taken(
    windows: dict[str, ir.Value], level: int, count: Mixed, source: Callable[[ir.Value], Mixed], guard: bool = False
) -> dict[tuple[str, int], ir.Value]:
    """The vectors of a level of as many of some windows; with `guard` 0 for one that is none of them, as
    components have that are stored where no window reaches them: those may lack the index."""

    def entry(vector: ir.Value, at: Mixed) -> ir.Value:
        if not guard:
            return shapes.load(vector, at)
        inside = build.below(at, shapes.dim(vector, 0))
        return flow.choose(inside, lambda: [shapes.load(vector, at)], lambda: [build.value(0)], [build.index_type()])[0]

    return {(kind, level): vectors.generate(count, lambda i, x=x: entry(x, source(i))) for kind, x in windows.items()}


def _select_rows(parts: Parts, dim: int, index: ir.Value, shape: RaggedShape) -> Parts:
    """An innermost ragged level: one row of every component, gathered."""
    axis, at = parts.layout.locate(dim)
    source, guard = parts.values, parts.layout.is_below_window(dim)
    sizes = [parts.parents(dim) if k == axis else s for k, s in enumerate(parts.storage_dims())]
    rank = len(sizes)

    def element(_: list[ir.Value]) -> list[ir.Value]:
        with parts.ctx.scope():
            start, length = parts.component(dim, loop_index(axis))
            row = build.value(build.add(start, index))
            inside = build.below(index, length)
            indices = [row if k == axis else loop_index(k) for k in range(rank)]  # in no scf.if, whose op is not this

        def gathered() -> list[ir.Value]:
            return [tensor.extract(source, indices)]

        if not guard:
            return gathered()
        return flow.choose(inside, gathered, lambda: [build.constant(parts.element, 0)], [parts.element])

    rows = shapes.empty(sizes, parts.element)
    made = elementwise([], [rows], element).result
    return _spread(parts, dim, axis, at, shape, made)


def _spread(parts: Parts, dim: int, axis: int, at: int, shape: RaggedShape, gathered: ir.Value) -> Parts:
    """Values with one row per parent position as storage of what is left of the axis: dense
    levels at its end become axes of their own."""
    letters = parts.layout.axes[axis][:at]
    trailing = len(letters) - len(letters.rstrip("d"))
    first = parts.layout.dims(axis)[0]
    if trailing == len(letters):
        own: list[Mixed] = [parts.extent(first + k) for k in range(at)]
    else:
        head = at - trailing
        own = [positions(parts, first + head - 1), *(parts.extent(first + k) for k in range(head, at))]
    sizes: list[Mixed] = []
    groups: list[list[int]] = []
    for k, size in enumerate(parts.storage_dims()):
        piece = own if k == axis else [size]
        groups.append(list(range(len(sizes), len(sizes) + len(piece))))
        sizes += piece
    if len(own) > 1:
        gathered = expand(gathered, groups, sizes)
    return with_shape(parts, shape, dropping(dim), {}, values=gathered)


# slice --------------------------------------------------------------------------------------------


def slice_parts(parts: Parts, dim: int, lo: ir.Value, hi: ir.Value) -> Parts:
    """The range [lo, hi) of a dim."""
    shape = parts.shape.slice(dim)
    axis, at, letters = parts.layout.level(dim)
    if letters[at] in RAGGED:
        return _slice_ragged(parts, dim, lo, hi, shape)
    lo, hi = build.to_index(lo), build.to_index(hi)
    size = build.sub(hi, lo)
    if letters == "d":
        return with_shape(parts, shape, lambda old: old, {}, values=_cut(parts, axis, lo, size))
    if at == 0:
        return _rebased(parts, axis, shape, lo, size, dim, lambda old: old)
    return _slice_batch(parts, dim, lo, size, shape)


def _bound(x: ir.Value) -> Callable[[ir.Value], ir.Value]:
    """A bound per component: a scalar for all, or an entry of a vector."""
    if is_tensor(x.type):
        vector = shapes.as_vector(x)
        return lambda i: shapes.load(vector, i)
    scalar = build.to_index(x)
    return lambda i: scalar


def _slice_ragged(parts: Parts, dim: int, lo: ir.Value, hi: ir.Value, shape: RaggedShape) -> Parts:
    low, high = _bound(lo), _bound(hi)
    starts, guard = walks.element_starts(parts, dim), parts.layout.is_below_window(dim)
    lengths, count = walks.element_lengths(parts, dim) if guard else starts, shapes.dim(starts, 0)

    def inside(i: ir.Value, x: Mixed) -> Mixed:
        """0 for components that lack the range: no check sees those that no window reaches."""
        if not guard:
            return x
        ordered = arith.andi(build.at_least(low(i), 0), build.at_most(low(i), high(i)))
        there = arith.andi(ordered, build.at_most(high(i), shapes.load(lengths, i)))
        return arith.select(there, build.value(x), build.value(0))

    new = {
        ("starts", dim): vectors.generate(count, lambda i: build.add(shapes.load(starts, i), inside(i, low(i)))),
        ("lengths", dim): vectors.generate(count, lambda i: inside(i, build.sub(high(i), low(i)))),
    }
    made = with_shape(parts, shape, lambda old: old, new)
    made.windows.pop(dim, None)
    return made


def _slice_batch(parts: Parts, dim: int, lo: ir.Value, size: Mixed, shape: RaggedShape) -> Parts:
    """A range of an inner batch dim: fewer components per group, as windows."""
    level, inner, windows = _window_below(parts, dim)
    extent, groups, per_group = parts.extent(dim), outer_count(parts, dim), build.mul(size, inner)
    source = _entries(per_group, inner, lambda group: build.mul(group, extent), lo)
    new = _taken(windows, level, build.mul(groups, per_group), source)
    return with_shape(parts, shape, lambda old: None if old == level else old, new, {dim: size})
