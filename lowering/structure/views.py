"""What views on parts share: moving vectors and extents to other dims, counting positions, reshaping
storage; and the split, which moves nothing."""

from __future__ import annotations

from collections.abc import Callable, Set

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED, product
from ragged_dialect.lowering.scf.parts import Parts, Pending
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import dense_type

_VECTORS: dict[str, tuple[str, ...]] = {"d": (), "t": (), "r": ("offsets",), "w": ("starts", "lengths")}


def with_shape(
    parts: Parts,
    shape: RaggedShape,
    moved: Callable[[int], int | None],
    new: dict[tuple[str, int], ir.Value],
    extents: dict[int, Mixed] | None = None,
    values: ir.Value | None = None,
) -> Parts:
    """Parts of another shape.

    `moved` gives the new dim of an old one, None where it goes; vectors that the new letter has no
    use for go too. `new` vectors are added; `extents` are those of dense levels by new dim, taken
    from the old ones where missing.
    """
    made: dict[tuple[str, int], ir.Value] = {}
    windows: dict[int, ir.Value] = {}
    for (kind, dim), vector in parts.vectors.items():
        to = moved(dim)
        if to is not None and kind in _VECTORS[shape.layout.letter(to)]:
            made[kind, to] = vector
            if dim in parts.windows and not any(at == to for _, at in new):
                windows[to] = parts.windows[dim]
    made.update(new)
    known = dict(extents or {})
    for dim in range(parts.shape.rank):
        to = moved(dim)
        dense = to is not None and parts.layout.letter(dim) == "d" and shape.layout.letter(to) == "d"
        if to is not None and dense and to not in known and shape.has_extent_part(to):
            known[to] = parts.extent(dim)
    needed = {dim: known[dim] for dim in range(shape.rank) if shape.has_extent_part(dim)}
    held = parts.held if values is None else values
    if isinstance(held, Pending):
        changed = set(extents or {})
        held = held.viewed(lambda dim: _same_level(parts, shape, dim, moved, {at for _, at in new}, changed))
    return Parts(parts.ctx, shape, held, made, needed, windows)


def _same_level(
    parts: Parts, shape: RaggedShape, dim: int, moved: Callable[[int], int | None], new: Set[int], changed: Set[int]
) -> int | None:
    """The dim of a view that has the same indices, and storage of the same under each of them, as a leading dense dim
    of a value. Not one that was merged with the level below, split, partitioned or sliced (`changed` extents)."""
    to = moved(dim)
    if to is None or to in changed:
        return None
    axis, at = parts.layout.locate(dim)
    if shape.layout.locate(to) != (axis, at) or any(moved(dim - k) != to - k for k in range(1, at + 1)):
        return None
    below, now_below = (at + 1 < len(layout.axes[axis]) for layout in (parts.layout, shape.layout))
    if not below or not now_below:
        return to if below == now_below else None
    next_level = moved(dim + 1)
    return to if next_level == to + 1 or (next_level is None and to + 1 in new) else None


def shifted(dim: int, by: int) -> Callable[[int], int | None]:
    """Dims after `dim` move by an amount, those up to it stay."""
    return lambda old: old if old <= dim else old + by


def dropping(gone: int, *others: int) -> Callable[[int], int | None]:
    """One dim is removed, those after it move up; what others had is made anew."""
    return lambda old: None if old in (gone, *others) else old - (old > gone)


def collapse_storage(parts: Parts, axis: int) -> ir.Value:
    """The values with storage axis `axis` and the next one made one."""
    return shapes.collapse(parts.values, shapes.grouped(parts.layout.storage_rank, axis, axis + 2))


def expand(x: ir.Value, groups: list[list[int]], sizes: list[Mixed]) -> ir.Value:
    """`tensor.expand_shape` into groups of axes with the given sizes."""
    known = shapes.static(sizes)
    result = dense_type(known, x.type.element_type)
    source = dense_type(tuple(product(tuple(known[k] for k in g)) for g in groups), x.type.element_type)
    return tensor.expand_shape(result, shapes.cast(x, source), groups, *build.split(sizes))


def positions(parts: Parts, dim: int) -> Mixed:
    """Number of positions of a ragged level, from extents where they tell; below a window with a dense level of extent
    0 as many as the windows reach."""
    axis, at, letters = parts.layout.level(dim)
    if at + 1 == len(letters) or set(letters[at + 1 :]) == {"t"}:
        return parts.storage_dim(axis)
    if letters[at + 1] in RAGGED:
        return parts.parents(dim + 1)
    if letters[at] == "r":
        return vectors.last(parts.vectors["offsets", dim])
    below = next(k for k in range(at + 1, len(letters)) if letters[k] in RAGGED)
    inner = build.product(parts.extent(dim + k) for k in range(1, below - at))
    parents = parts.parents(dim + below - at)
    if isinstance(inner, int):
        return build.divide(parents, inner) if inner else _reach(parts, dim)
    (found,) = flow.choose(
        build.equal(inner, 0),
        lambda: [_reach(parts, dim)],
        lambda: [build.value(build.divide(parents, inner))],
        [build.index_type()],
    )
    return found


def _reach(parts: Parts, dim: int) -> ir.Value:
    """The end of the last window of a level."""
    starts, lengths = parts.vectors["starts", dim], parts.vectors["lengths", dim]

    def end(i: ir.Value) -> Mixed:
        return build.add(shapes.load(starts, i), shapes.load(lengths, i))

    return vectors.largest(vectors.generate(shapes.dim(starts, 0), end))


def outer_count(parts: Parts, dim: int) -> Mixed:
    """Number of positions above a dense level."""
    axis, at = parts.layout.locate(dim)
    first = parts.layout.dims(axis)[0]
    letters = parts.layout.axes[axis][:at]
    ragged = [k for k, c in enumerate(letters) if c in RAGGED]
    count: Mixed = 1
    start = 0
    if ragged:
        start = ragged[-1] + 1
        count = positions(parts, first + ragged[-1])
    return build.product([count, *(parts.extent(first + k) for k in range(start, at))])


def append(vector: ir.Value, element: Mixed) -> ir.Value:
    """A vector with one more entry."""
    size = shapes.dim(vector, 0)
    grown = shapes.insert_slice(vector, vectors.empty(build.add(size, 1)), [0], [size])
    return tensor.insert(build.to_i64(element), grown, [build.value(size)])


def split_parts(parts: Parts, dim: int, factor: int) -> Parts:
    """`ragged.split`."""
    shape = parts.shape.split(dim, factor)
    extents: dict[int, Mixed] = {}
    if parts.layout.letter(dim) == "d" and shape.has_extent_part(dim):
        extents[dim] = build.ceildiv(parts.extent(dim), factor)
    return with_shape(parts, shape, shifted(dim, 1), {}, extents)
