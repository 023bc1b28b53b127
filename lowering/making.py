"""Making storage: empty tensors with the structure of others, own storage for windows."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.iteration import Access, Iteration
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering import emit, vectors
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.emit import Mixed
from ragged_dialect.lowering.nest import make_nest
from ragged_dialect.lowering.nest_emit import lower_nest
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.lowering.views import positions
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims
from ragged_dialect.types import storage_type, vector_type


def contiguous_like(ctx: Lowering, like: Parts, element: Any) -> Parts:
    """Uninitialised storage of an element type with the structure of a value; its windows become
    contiguous and its own."""
    sizes = like.storage_dims()
    new = dict(like.vectors)
    windows: dict[int, Any] = {}
    for axis in range(like.layout.storage_rank):
        if "w" in like.layout.axes[axis]:
            sizes[axis] = _own_axis(ctx, like, axis, new, windows)
    values = emit.empty(sizes, element)
    values = emit.cast(values, storage_type(like.shape, element))
    return Parts(ctx, like.shape, values, new, dict(like.extents), windows)


def _own_axis(ctx: Lowering, like: Parts, axis: int, new: dict[tuple[str, int], Any], windows: dict[int, Any]) -> Mixed:
    """Contiguous vectors for every ragged level of an axis with windows; returns its extent."""
    dims = like.layout.dims(axis)
    offsets: Any = None
    for at, dim in enumerate(dims):
        letter = like.layout.letter(dim)
        if letter not in RAGGED:
            continue
        key = ("own", tuple(like.vectors[k, d] for k, d in like.vectors if d <= dim and d >= dims[0]), at)
        lengths = ctx.memo((*key, "lengths"), lambda at=at, dim=dim: _stored_lengths(like, axis, at, dim))
        offsets = ctx.memo((*key, "offsets"), lambda lengths=lengths: vectors.scan(lengths))
        if letter == "r":
            new["offsets", dim] = offsets
        else:
            new["lengths", dim] = lengths
            new["starts", dim] = ctx.memo((*key, "starts"), lambda offsets=offsets: _starts(offsets))
            windows[dim] = offsets
    return ctx.memo(("load last", offsets), lambda: vectors.last(offsets))


def _starts(offsets: Any) -> Any:
    return vectors.section(offsets, 0, emit.sub(emit.dim(offsets, 0), 1))


def _stored_lengths(like: Parts, axis: int, at: int, dim: int) -> Any:
    """Lengths in elements of a level, one per logical index tuple above it."""
    if "w" not in like.layout.axes[axis][:at]:
        return vectors.element_lengths(like, dim)

    def length(fixed: list[Mixed]) -> Mixed:
        return like.component(dim, like.position(axis, fixed))[1]

    return vectors.per_tuple(like, axis, at, length)


def own_windows(ctx: Lowering, parts: Parts, reads: bool) -> Parts:
    """An out operand: with windows it gets storage of its own, with the elements copied when the
    op reads them. Storage that is already its own is used as it is."""
    if not parts.layout.has_windows or all(
        dim in parts.windows for dim, c in enumerate(parts.layout.letters) if c == "w"
    ):
        return parts
    made = contiguous_like(ctx, parts, parts.element)
    return copy_into(ctx, parts, made) if reads else made


def copy_into(ctx: Lowering, source: Parts, target: Parts) -> Parts:
    """Copy the elements of one value into the storage of another of the same structure."""
    rank = source.shape.rank
    exprs = tuple(ir.AffineDimExpr.get(k) for k in range(rank))
    loops = tuple(range(rank))
    accesses = (Access(source.shape, loops, exprs), Access(target.shape, loops, exprs))
    it = Iteration(accesses, 1, ("parallel",) * rank, ((),) * rank)
    (result,) = lower_nest(ctx, make_nest(it, [source, target], lambda arguments, index: [arguments[0]]))
    return result


def empty_parts(
    ctx: Lowering,
    likes: list[Parts],
    sources: list[Source | None],
    shape: RaggedShape,
    extents: list[Any],
    element: Any,
) -> Parts:
    """`ragged.empty`."""
    own = iter(extents)
    dense: dict[int, Mixed] = {}
    for dim, source in enumerate(sources):
        if source is not None and shape.layout.letter(dim) == "d":
            dense[dim] = likes[source.like].extent(source.level)
        elif source is None:
            static = shape.shape[dim]
            dense[dim] = emit.to_index(next(own)) if static is None else static
    made = Parts(ctx, shape, None, {}, {d: e for d, e in dense.items() if shape.has_extent_part(d)})
    sizes: list[Mixed] = []
    for axis, letters in enumerate(shape.layout.axes):
        dims = shape.layout.dims(axis)
        if letters == "d":
            static = shape.shape[dims[0]]
            sizes.append(dense[dims[0]] if static is None else static)
        else:
            sizes.append(_empty_axis(ctx, likes, sources, shape, made, axis, dense))
    made.held = emit.cast(emit.empty(sizes, element), storage_type(shape, element))
    return made


def _same_axis(
    likes: list[Parts], sources: list[Source | None], shape: RaggedShape, axis: int
) -> tuple[Parts, int] | None:
    """The like and its axis when the result's axis takes the first levels of it in order."""
    dims = list(shape.layout.dims(axis))
    first = sources[dims[0]]
    assert first is not None
    like = likes[first.like]
    like_axis, at = like.layout.locate(first.level)
    if at != 0:
        return None
    for step, dim in enumerate(dims):
        if sources[dim] != Source(first.like, first.level + step):
            return None
    return like, like_axis


def _empty_axis(
    ctx: Lowering,
    likes: list[Parts],
    sources: list[Source | None],
    shape: RaggedShape,
    made: Parts,
    axis: int,
    dense: dict[int, Mixed],
) -> Mixed:
    same = _same_axis(likes, sources, shape, axis)
    if same is None or (shape.layout.axes[axis].rstrip("t") != "d" and _dropped_tiles(*same, shape, axis) > 1):
        return _walk_axis(ctx, likes, sources, shape, made, axis, dense)
    like, like_axis = same
    first = like.layout.dims(like_axis)[0]
    base = shape.layout.dims(axis)[0]
    count = len(shape.layout.axes[axis])
    vectors_, windows, size = dict(like.vectors), dict[int, Any](), None
    if "w" in shape.layout.axes[axis]:
        size = _own_axis(ctx, _head(like, like_axis, count), like_axis, vectors_, windows)
    for (kind, dim), vector in vectors_.items():
        if first <= dim < first + count:
            made.vectors[kind, dim - first + base] = vector
    made.windows.update({dim - first + base: v for dim, v in windows.items() if first <= dim < first + count})
    if size is not None:
        return size
    if count == len(like.layout.axes[like_axis]):
        return like.storage_dim(like_axis)
    if shape.layout.axes[axis].rstrip("t") == "d":
        return emit.ceildiv(like.storage_dim(like_axis), _dropped_tiles(like, like_axis, shape, axis))
    return positions(like, first + count - 1)


def _dropped_tiles(like: Parts, like_axis: int, shape: RaggedShape, axis: int) -> int:
    """Elements of the like per element of the result: the product of the tiles that it drops."""
    count = len(shape.layout.axes[axis].rstrip("t"))
    level = like.layout.dims(like_axis)[0] + count - 1
    return like.shape.factor(level) // shape.factor(shape.layout.dims(axis)[0] + count - 1)


def _head(like: Parts, axis: int, count: int) -> Parts:
    """A value with only the first levels of an axis, for its vectors."""
    if count == len(like.layout.axes[axis]):
        return like
    layout = type(like.layout)((*like.layout.axes[:axis], like.layout.axes[axis][:count]))
    rank = layout.rank
    shape = RaggedShape(layout, like.shape.shape[:rank])
    return Parts(
        ctx=like.ctx, shape=shape, values=like.held, vectors=like.vectors, extents=like.extents, windows=like.windows
    )


def _walk_axis(
    ctx: Lowering,
    likes: list[Parts],
    sources: list[Source | None],
    shape: RaggedShape,
    made: Parts,
    axis: int,
    dense: dict[int, Mixed],
) -> Mixed:
    """An axis whose levels come from several likes, or whose batch dims are permuted: offsets from
    the lengths, visited in the order of the result."""
    dims = shape.layout.dims(axis)
    shapes = [like.shape for like in likes]
    made.extents.update({d: dense[d] for d in dims if shape.has_extent_part(d)})
    offsets: Any = None
    for at, dim in enumerate(dims):
        if shape.layout.letter(dim) not in RAGGED:
            continue
        source = sources[dim]
        assert source is not None
        mapping = parent_dims(shapes, sources, shape, dim)
        like = likes[source.like]
        like_axis, _ = like.layout.locate(source.level)

        def length(
            fixed: list[Mixed],
            like: Parts = like,
            like_axis: int = like_axis,
            source: Source = source,
            mapping: dict[int, int] = mapping,
            dim: int = dim,
        ) -> Mixed:
            above = [fixed[mapping[level] - dims[0]] for level in like.layout.dims(like_axis) if level < source.level]
            elements = like.component(source.level, like.position(like_axis, above))[1]
            return emit.ceildiv(elements, like.shape.factor(source.level) // shape.factor(dim))

        lengths = _visit(ctx, likes, sources, shape, dense, axis, at, length)
        offsets = vectors.scan(lengths)
        if shape.layout.letter(dim) == "r":
            made.vectors["offsets", dim] = offsets
        else:
            made.vectors["starts", dim] = _starts(offsets)
            made.vectors["lengths", dim] = lengths
            made.windows[dim] = offsets
    return vectors.last(offsets)


def _visit(
    ctx: Lowering,
    likes: list[Parts],
    sources: list[Source | None],
    shape: RaggedShape,
    dense: dict[int, Mixed],
    axis: int,
    levels: int,
    length: Any,
) -> Any:
    """One length per index tuple of the first levels of the result's axis."""
    dims = shape.layout.dims(axis)

    def extent(at: int, fixed: list[Mixed]) -> Mixed:
        dim = dims[at]
        if shape.layout.letter(dim) == "d":
            return dense[dim]
        source = sources[dim]
        assert source is not None
        mapping = parent_dims([like.shape for like in likes], sources, shape, dim)
        like = likes[source.like]
        like_axis, _ = like.layout.locate(source.level)
        above = [fixed[mapping[level] - dims[0]] for level in like.layout.dims(like_axis) if level < source.level]
        return like.loop_extent(source.level, above)

    def visit(fixed: list[Mixed], state: list[Any], body: Any) -> list[Any]:
        if len(fixed) == levels:
            return body(fixed, state)

        def inner(i: Any, carried: list[Any]) -> list[Any]:
            with ctx.scope():
                return visit([*fixed, i], carried, body)

        return emit.for_loop(extent(len(fixed), fixed), state, inner)

    count = visit([], [emit.value(0)], lambda fixed, state: [emit.add(state[0], 1)])[0]
    init = emit.cast(emit.empty([count], emit.i64()), vector_type())

    def store(fixed: list[Mixed], state: list[Any]) -> list[Any]:
        return [emit.add(state[0], 1), tensor.insert(emit.to_i64(length(fixed)), state[1], [state[0]])]

    return visit([], [emit.value(0), init], store)[1]
