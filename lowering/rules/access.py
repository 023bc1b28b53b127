"""Rules of the access ops, and of tensor ops on dense axes of ragged tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.layout import Layout
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.structure import walks
from ragged_dialect.lowering.structure.runs import fill_row_ids
from ragged_dialect.lowering.structure.views import expand
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import is_tensor, shape_of, storage_type


def _level(op: ir.Operation) -> int:
    return op.attributes["level"].value


def _replace(op: ir.Operation, value: ir.Value) -> None:
    op.results[0].replace_all_uses_with(shapes.cast(value, op.results[0].type) if is_tensor(value.type) else value)


def lower_assemble(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.assemble."""
    type_ = op.results[0].type
    shape = shape_of(type_)
    values, *rest = op.operands
    flat = [shapes.cast(values, storage_type(shape, type_.element_type))]
    flat += [shapes.as_vector(v) if is_tensor(v.type) else build.to_index(v) for v in rest]
    ctx.bind(op.results[0], Parts.of_flat(ctx, shape, flat))


def lower_lengths(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.lengths."""
    lengths = walks.element_lengths if "stored" in op.attributes else walks.logical_lengths
    _replace(op, lengths(ctx.parts(op.operands[0]), _level(op)))


def lower_row_ids(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.row_ids: the component of every element, components counted in logical order."""
    parts = ctx.parts(op.operands[0])
    offsets = _element_offsets(parts, _level(op))
    known = _known_total(parts, _level(op))
    _replace(op, fill_row_ids(ctx, offsets, vectors.last(offsets) if known is None else known))


def _element_offsets(parts: Parts, dim: int) -> ir.Value:
    """Offsets of the elements of a ragged level, by logical component."""
    axis, at, letters = parts.layout.level(dim)
    if "w" in letters[:at]:
        return vectors.scan(
            walks.per_tuple(parts, axis, at, lambda fixed: parts.component(dim, parts.position(axis, fixed))[1])
        )
    return parts.vectors["offsets", dim] if letters[at] == "r" else vectors.scan(walks.element_lengths(parts, dim))


def level_total(parts: Parts, dim: int) -> Mixed:
    """Sum of the logical lengths of a level, from extents where they tell."""
    known = _known_total(parts, dim)
    return vectors.total(walks.logical_lengths(parts, dim)) if known is None else known


def _known_total(parts: Parts, dim: int) -> Mixed | None:
    """The total of a level whose elements are all counted by an extent."""
    axis, at, letters = parts.layout.level(dim)
    if letters[at] != "r" or "w" in letters[:at] or parts.shape.factor(dim) != 1:
        return None
    if at + 1 == len(letters):
        return parts.storage_dim(axis)
    return parts.parents(dim + 1) if letters[at + 1] in "rw" else None


def lower_identity(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.assume: the facts were checked or are trusted."""
    if op.operands[0] in ctx.map:
        ctx.bind(op.results[0], ctx.parts(op.operands[0]))
    else:
        _replace(op, op.operands[0])


def lower_guard(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.guard: one for every part that is read."""
    if not is_tensor(op.operands[0].type):
        _replace(op, builders.guard(op.operands[0]))
        return
    parts = ctx.parts(op.operands[0])
    values = builders.guard(parts.values)
    vectors_ = {key: builders.guard(vector) for key, vector in parts.vectors.items()}
    windows = {dim: builders.guard(vector) for dim, vector in parts.windows.items()}
    ctx.bind(op.results[0], Parts(ctx, parts.shape, values, vectors_, parts.extents, windows))


def lower_annotate(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.annotate: only one that changes nothing has a lowering."""
    before, after = op.operands[0].type, op.results[0].type
    if before != after:
        raise LayoutError(f"expected no change of layout (run ragged-infer-layouts), got {before} to {after}")
    lower_identity(ctx, op)


# tensor ops ---------------------------------------------------------------------------------------


def lower_dim(ctx: Lowering, op: ir.Operation) -> None:
    """tensor.dim of a dense level."""
    index = ir.IntegerAttr(definer(op.operands[1]).attributes["value"]).value
    _replace(op, build.value(ctx.parts(op.operands[0]).extent(index)))


def lower_cast(ctx: Lowering, op: ir.Operation) -> None:
    """tensor.cast between static and dynamic dense extents."""
    source, type_ = ctx.parts(op.operands[0]), op.results[0].type
    shape = shape_of(type_)
    values = shapes.cast(source.values, storage_type(shape, type_.element_type))
    extents = {d: source.extent(d) for d in range(shape.rank) if shape.has_extent_part(d)}
    ctx.bind(op.results[0], Parts(ctx, shape, values, source.vectors, extents, source.windows))


def extract_element(parts: Parts, indices: Sequence[Mixed]) -> ir.Value:
    """The element at logical indices."""
    places: list[ir.Value] = []
    with parts.ctx.scope():
        for axis in range(parts.layout.storage_rank):
            fixed = [indices[d] for d in parts.layout.dims(axis)]
            low, _ = parts.axis_range(axis, fixed) if len(fixed) > 1 else (fixed[0], 1)
            places.append(build.value(low))
        return tensor.extract(parts.values, places)


def lower_extract_slice(ctx: Lowering, op: ir.Operation) -> None:
    """tensor.extract_slice of dense axes: the same slice of the storage."""
    parts, type_ = ctx.parts(op.operands[0]), op.results[0].type
    bounds = [shapes.mixed(op, name) for name in ("offsets", "sizes", "strides")]
    shape = shape_of(type_)
    rows: list[list[Mixed]] = [[], [], []]
    for axis in range(parts.layout.storage_rank):
        dims = parts.layout.dims(axis)
        plain = len(dims) == 1
        size = build.value(parts.storage_dim(axis))  # no type knows that of other axes, but a value may
        for row, bound, whole in zip(rows, bounds, (0, size, 1), strict=True):
            row.append(bound[dims[0]] if plain else whole)
    dynamic, static = zip(*map(build.split, rows), strict=True)
    values = tensor.extract_slice(storage_type(shape, type_.element_type), parts.values, *dynamic, *static)
    ctx.bind(op.results[0], _moved(parts, shape, values))


def _ragged_dims(layout: Layout) -> list[int]:
    return [d for d in range(layout.rank) if not layout.is_plain(d)]


def _moved(parts: Parts, shape: RaggedShape, values: ir.Value) -> Parts:
    """Other values below the levels of parts, where only plain dims came or went."""
    to = dict(zip(_ragged_dims(parts.layout), _ragged_dims(shape.layout), strict=True))
    moved = {(kind, to[dim]): vector for (kind, dim), vector in parts.vectors.items()}
    extents = {to[d]: parts.extent(d) for d in to if shape.has_extent_part(to[d])}
    return Parts(parts.ctx, shape, values, moved, extents)


def lower_reshape(ctx: Lowering, op: ir.Operation) -> None:
    """tensor.expand_shape and tensor.collapse_shape of dense axes: the same on the storage."""
    parts, type_ = ctx.parts(op.operands[0]), op.results[0].type
    shape = shape_of(type_)
    collapsing = op.name == "tensor.collapse_shape"
    wide = parts.layout if collapsing else shape.layout
    groups = _storage_groups(op, wide)
    if collapsing:
        values = shapes.collapse(parts.values, groups)
    else:
        values = expand(parts.values, groups, _expanded_sizes(op, parts, shape))
    ctx.bind(op.results[0], _moved(parts, shape, shapes.cast(values, storage_type(shape, type_.element_type))))


def _storage_groups(op: ir.Operation, wide: Layout) -> list[list[int]]:
    """Storage axes of the side with more dims, grouped as the op groups the logical dims."""
    groups: list[list[int]] = []
    seen: set[int] = set()
    for group in op.attributes["reassociation"]:
        axes = sorted({wide.locate(k.value)[0] for k in group} - seen)
        seen |= set(axes)
        if axes:
            groups.append(axes)
    return groups


def _expanded_sizes(op: ir.Operation, parts: Parts, shape: RaggedShape) -> list[Mixed]:
    logical = build.joined(op.attributes["static_output_shape"], list(op.operands)[1:])
    sizes: list[Mixed] = []
    ragged_axes = iter([k for k in range(parts.layout.storage_rank) if len(parts.layout.dims(k)) > 1])
    for axis in range(shape.layout.storage_rank):
        dims = shape.layout.dims(axis)
        sizes.append(logical[dims[0]] if len(dims) == 1 else parts.storage_dim(next(ragged_axes)))
    return sizes


_READS: dict[str, Callable[[Parts, ir.Operation], ir.Value]] = {
    "ragged.values": lambda x, op: x.values,
    "ragged.offsets": lambda x, op: x.vectors["offsets", _level(op)],
    "ragged.starts": lambda x, op: walks.element_starts(x, _level(op)),
    "ragged.total": lambda x, op: build.value(level_total(x, _level(op))),
    "ragged.max_length": lambda x, op: vectors.largest(walks.logical_lengths(x, _level(op))),
    "tensor.extract": lambda x, op: extract_element(x, list(op.operands)[1:]),
}


def lower_read(ctx: Lowering, op: ir.Operation) -> None:
    """An op whose result is a part of its operand, or computed of its parts."""
    _replace(op, _READS[op.name](ctx.parts(op.operands[0]), op))


RULES = {
    **dict.fromkeys(_READS, lower_read),
    "ragged.assemble": lower_assemble,
    "ragged.guard": lower_guard,
    "ragged.lengths": lower_lengths,
    "ragged.row_ids": lower_row_ids,
    "ragged.assume": lower_identity,
    "ragged.annotate": lower_annotate,
    "tensor.dim": lower_dim,
    "tensor.cast": lower_cast,
    "tensor.extract_slice": lower_extract_slice,
    "tensor.expand_shape": lower_reshape,
    "tensor.collapse_shape": lower_reshape,
}
