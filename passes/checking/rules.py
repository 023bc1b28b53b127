"""The checks of the ops of the dialect, and of the upstream ops that change an extent."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import view_of
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.checking import dense as of_dense
from ragged_dialect.passes.checking.elements import check_extract
from ragged_dialect.passes.checking.emitter import Emitter, Extent, is_vector
from ragged_dialect.passes.checking.structures import check_assemble, check_from_padded
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims
from ragged_dialect.traits import int_attr, optional_int
from ragged_dialect.types import is_tensor, shape_of

Rule = Callable[[Emitter, ir.Operation], None]


def _result(op: ir.Operation) -> RaggedShape:
    return shape_of(op.results[0].type)


def _assemble(emit: Emitter, op: ir.Operation) -> None:
    check_assemble(emit, op, _result(op))


def _from_padded(emit: Emitter, op: ir.Operation) -> None:
    check_from_padded(emit, op, _result(op))


def _partition(emit: Emitter, op: ir.Operation) -> None:
    x, vector = op.operands
    shape, dim = shape_of(x.type), int_attr(op, "dim")
    count, level = _result(op).shape[dim], dim + 1
    lengths = "lengths" in op.attributes
    if shape_of(vector.type).rank == 1:
        if lengths:
            emit.counted("lengths", level, vector, emit.extent(x, dim), count=count)
        else:
            emit.offsets(level, vector, emit.extent(x, dim), count)
        return
    if count is not None and vector.type.is_dynamic_dim(1):
        emit.equal(level, emit.extent(vector, 1), count + (not lengths))
    kind = "row_lengths" if lengths else "rows"
    if shape.layout.letter(dim) in RAGGED:
        emit.valid(kind, level, vector, emit.lengths(x, dim))
    else:
        emit.counted(kind, level, vector, emit.extent(x, dim), count=_parents(emit, x, shape, dim))


def _parents(emit: Emitter, x: ir.Value, shape: RaggedShape, dim: int) -> Extent:
    """Number of index tuples above a dense dim: of its axis, or of the plain dim before it."""
    axis, at = shape.layout.locate(dim)
    first = shape.layout.dims(axis)[0] if at else dim - 1
    count: Extent = 1
    for above in range(first, dim):
        if shape.layout.letter(above) == "d":
            count = emit.times(count, emit.extent(x, above))
        else:
            count = emit.sum(x, above)
    return count


def _select(emit: Emitter, op: ir.Operation) -> None:
    x, index = op.operands
    shape, dim = shape_of(x.type), int_attr(op, "dim")
    ragged = shape.layout.letter(dim) in RAGGED
    emit.valid("index", dim, index, emit.lengths(x, dim) if ragged else emit.extent(x, dim))


def _slice(emit: Emitter, op: ir.Operation) -> None:
    x, low, high = op.operands
    shape, dim = shape_of(x.type), int_attr(op, "dim")
    if shape.layout.letter(dim) not in RAGGED:
        emit.valid("range", dim, low, high, emit.extent(x, dim))
    else:
        emit.valid("range", dim, low, high, emit.lengths(x, dim))
    static = _result(op).shape[dim]
    if static is not None and not is_vector(low):
        emit.equal(dim, emit.minus(emit.number(high), emit.number(low)), static)


def _split(emit: Emitter, op: ir.Operation) -> None:
    x = op.operands[0]
    shape, dim, factor = shape_of(x.type), int_attr(op, "dim"), int_attr(op, "factor")
    if shape.layout.letter(dim) != "d":
        return
    if shape.layout.is_batch(dim):
        emit.valid("divides", dim, emit.extent(x, dim), factor=factor)
    static = _result(op).shape[dim]
    if static is not None:
        emit.equal(dim, emit.ceil(emit.extent(x, dim), factor), static)


def _merge(emit: Emitter, op: ir.Operation) -> None:
    x = op.operands[0]
    shape, dim = shape_of(x.type), int_attr(op, "dim")
    static = _result(op).shape[dim]
    if static is None or shape.layout.letter(dim) != "d" or shape.merge(dim).shape[dim] is not None:
        return
    below = shape.layout.letter(dim + 1)
    if below in RAGGED and shape.layout.locate(dim)[1] == 0:
        emit.equal(dim, emit.sum(x, dim + 1), static)
    elif below == "d":
        emit.equal(dim, emit.times(emit.extent(x, dim), emit.extent(x, dim + 1)), static)
    elif below == "t":
        emit.equal(dim, emit.extent(emit.part("values", x, 0), shape.layout.locate(dim)[0]), static)


def _concat(emit: Emitter, op: ir.Operation) -> None:
    dim = int_attr(op, "dim")
    first, *others = op.operands
    shape = shape_of(first.type)
    axis, _ = shape.layout.locate(dim)
    for d in range(shape.rank):
        if d == dim or (shape.layout.letter(d) in RAGGED and d > dim and shape.layout.locate(d)[0] == axis):
            continue
        for other in others:
            if shape.layout.letter(d) == "d":
                emit.equal(d, emit.extent(other, d), emit.extent(first, d))
            else:
                emit.conform(first, other, [(k, k) for k in _axis_to(shape, d)])
    static = _result(op).shape[dim]
    if static is not None and shape.layout.letter(dim) == "d":
        size: Extent = 0
        for x in op.operands:
            size = emit.plus(size, emit.extent(x, dim))
        emit.equal(dim, size, static)


def _axis_to(shape: RaggedShape, dim: int) -> range:
    """The dims of an axis from its first to `dim`."""
    axis, at = shape.layout.locate(dim)
    return range(shape.layout.dims(axis)[0], shape.layout.dims(axis)[0] + at + 1)


def _assume(emit: Emitter, op: ir.Operation) -> None:
    check_facts(
        emit,
        op.operands[0],
        int_attr(op, "level"),
        optional_int(op, "divisible_by"),
        optional_int(op, "min"),
        optional_int(op, "max"),
    )


def check_facts(emit: Emitter, x: ir.Value, level: int, divisor: int | None, low: int | None, high: int | None) -> None:
    """Facts claimed of the lengths of a level, or of the extent of a dense one."""
    dense = shape_of(x.type).layout.letter(level) == "d"
    for kind, factor in (("divides", divisor), ("at_least", low), ("at_most", high)):
        if factor is not None and (kind, factor) not in (("divides", 1), ("at_least", 0)):
            emit.valid(kind, level, emit.extent(x, level) if dense else emit.lengths(x, level), factor=factor)


def _to_padded(emit: Emitter, op: ir.Operation) -> None:
    x, _, *maxima = op.operands
    shape, result = shape_of(x.type), _result(op)
    levels = [d for d, letter in enumerate(shape.layout.letters) if letter in RAGGED]
    sizes: list[Extent] = list(maxima) or [emit.longest(x, d) for d in levels if result.shape[d] is not None]
    for level, size in zip(levels, sizes, strict=False):
        if maxima:
            emit.valid("at_least", level, size, factor=0)
        extent = result.shape[level]
        if extent is not None:
            emit.equal(level, size, extent)
        if maxima and "truncate" not in op.attributes:
            emit.valid("covers", level, size, emit.lengths(x, level))
    if maxima:
        dense = [emit.extent(x, d) for d in range(shape.rank) if d not in levels]
        emit.fits(levels[0], [*maxima, *dense])


def _reduce_across(emit: Emitter, op: ir.Operation) -> None:
    x, size = op.operands
    shape, dim = shape_of(x.type), int_attr(op, "dim")
    first = shape.layout.dims(shape.layout.locate(dim)[0])[0]
    emit.valid("at_least", dim, size, factor=0)
    emit.valid("covers", dim, size, emit.lengths(x, dim))
    static = _result(op).shape[first]
    if static is not None:
        emit.equal(dim, size, static)
    emit.fits(dim, [size, *(emit.extent(x, d) for d in range(shape.rank) if shape.layout.is_plain(d))])


def _empty(emit: Emitter, op: ir.Operation) -> None:
    likes = [v for v in op.operands if is_tensor(v.type)]
    given = [v for v in op.operands if not is_tensor(v.type)]
    shapes: list[RaggedShape] = [shape_of(v.type) for v in likes]
    result = _result(op)
    sources = view_of(op, EmptyOp).sources()
    numbers = iter(given)
    sizes: list[Extent] = []
    for dim, source in enumerate(sources):
        static = result.shape[dim]
        if source is None:
            extent = next(numbers) if static is None else static
            emit.valid("at_least", dim, extent, factor=0)
            sizes.append(extent)
        elif shapes[source.like].layout.letter(source.level) == "d" and static is not None:
            emit.equal(dim, emit.extent(likes[source.like], source.level), static)
    _empty_batches(emit, likes, shapes, sources, result)
    axes = (axis for axis, letters in enumerate(result.layout.axes) if letters != "d")
    totals = [emit.sum(op.operands[s.like], s.level) for axis in axes if (s := _innermost(sources, result, axis))]
    if given:
        emit.fits(0, [*sizes, *totals])


def _innermost(sources: list[Source | None], result: RaggedShape, axis: int) -> Source | None:
    ragged = [d for d in result.layout.dims(axis) if result.layout.letter(d) in RAGGED]
    return sources[ragged[-1]] if ragged else None


def _empty_batches(
    emit: Emitter, likes: list[ir.Value], shapes: list[RaggedShape], sources: list[Source | None], result: RaggedShape
) -> None:
    """A dense parent that comes from another like has the extent of the level's own parent."""
    for dim, source in enumerate(sources):
        if source is None or result.layout.letter(dim) not in RAGGED:
            continue
        for level, at in parent_dims(shapes, sources, result, dim).items():
            other = sources[at]
            if other is not None and other != Source(source.like, level):
                expected = emit.extent(likes[other.like], other.level)
                emit.equal(at, emit.extent(likes[source.like], level), expected)


RULES: dict[str, Rule] = {
    **of_dense.RULES,
    "ragged.assemble": _assemble,
    "ragged.assume": _assume,
    "ragged.concat": _concat,
    "ragged.empty": _empty,
    "ragged.from_padded": _from_padded,
    "ragged.merge": _merge,
    "ragged.partition": _partition,
    "ragged.reduce_across": _reduce_across,
    "ragged.select": _select,
    "ragged.slice": _slice,
    "ragged.split": _split,
    "ragged.to_padded": _to_padded,
    "tensor.extract": check_extract,
}
"""Rules by op name. Ops without a rule (compact, annotate, access ops, print) have nothing to check."""
