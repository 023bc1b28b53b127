"""Upstream tensor ops that are legal on ragged tensors, and when: on dense dims only.

These ops name an extent for every dim, also where a ragged dim has no single one. There they
take the longest length, `ragged.max_length` of the same tensor and level, and leave the dim alone.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import constant_int, defining_op, made_by
from ragged_dialect.ir.shapes import mixed
from ragged_dialect.layout import Layout
from ragged_dialect.ops import VIEWS
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import int_attr
from ragged_dialect.types import is_ragged, layout_of, shape_of


def check_dim(op: ir.Operation) -> None:
    """`tensor.dim`: a constant dim that is dense."""
    source, index = op.operands
    shape = shape_of(source.type)
    dim = constant_int(index)
    if dim is None:
        raise LayoutError(f"expected a constant dim of {source.type}, got {index.type} that is not")
    if not 0 <= dim < shape.rank:
        raise LayoutError(f"expected dim in [0, {shape.rank}), got {dim}")
    letter = shape.layout.letter(dim)
    if letter != "d":
        kind = "tile" if letter == "t" else "ragged"
        raise LayoutError(f"expected a dense dim, got {kind} dim {dim} of {source.type} (use ragged.lengths)")


def check_extract(op: ir.Operation) -> None:
    """`tensor.extract`: an element by its logical indices; every layout."""


def check_cast(op: ir.Operation) -> None:
    """`tensor.cast`: extents of dense dims, the layout stays."""
    source, result = op.operands[0].type, op.results[0].type
    for type_ in (source, result):
        if not isinstance(type_, ir.RankedTensorType):
            raise LayoutError(f"expected a cast that keeps the layout, got {source} to {result}")
    if layout_of(source) != layout_of(result):
        raise LayoutError(
            f"expected a cast that keeps the layout, got {source} to {result} (use ragged.assemble and ragged.values)"
        )


def check_extract_slice(op: ir.Operation) -> None:
    """`tensor.extract_slice`: ranges of plain dense dims; everything of the others."""
    source = op.operands[0]
    shape = shape_of(source.type)
    sizes = mixed(op, "sizes")
    for dim in range(shape.rank):
        if shape.layout.is_plain(dim):
            continue
        whole = mixed(op, "offsets")[dim] == 0 and mixed(op, "strides")[dim] == 1
        if not whole or not _is_extent(sizes[dim], source, shape, dim):
            raise LayoutError(f"expected all of dim {dim} of {source.type} in the slice, got a part (use ragged.slice)")
    _check_dropped(op, shape, sizes)


def _is_extent(size: Mixed, source: ir.Value, shape: RaggedShape, dim: int) -> bool:
    """Whether a size is the whole extent of a dim of `source`."""
    if isinstance(size, int):
        return any(size == shape_of(value.type).shape[dim] for value in _viewed(source))
    owner = made_by(_viewed(size)[-1], "tensor.dim" if shape.layout.letter(dim) == "d" else "ragged.max_length")
    if owner is None or _viewed(owner.operands[0])[-1] != _viewed(source)[-1]:
        return False
    return (constant_int(owner.operands[1]) if owner.name == "tensor.dim" else int_attr(owner, "level")) == dim


def _viewed(value: ir.Value) -> list[ir.Value]:
    """A value, and what it is another name of: passes put guards before ops, and take casts away from them."""
    chain = [value]
    while (owner := defining_op(chain[-1])) is not None and owner.name in VIEWS:
        chain.append(owner.operands[0])
    return chain


def is_said_to_user(op: ir.Operation) -> bool:
    """Whether an op on structure says to an op of this file how large a dim of that one's operand is, which must stay
    to be seen: it is not to be read from elsewhere, or to be a constant."""
    users = [use.owner.operation for result in op.results for use in result.uses]
    return any(
        is_said_to_user(user) if user.name in VIEWS else user.name in _SIZED and is_ragged(user.operands[0].type)
        for user in users
    )


def _check_dropped(op: ir.Operation, shape: RaggedShape, sizes: list[Mixed]) -> None:
    result = op.results[0].type
    layout = layout_of(result) or Layout.dense(result.rank)
    units: list[int] = [d for d in range(shape.rank) if shape.layout.is_plain(d) and sizes[d] == 1]
    count: int = shape.rank - result.rank
    for dropped in combinations(units, count):
        axes = {shape.layout.locate(d)[0] for d in dropped}
        if layout.axes == tuple(a for k, a in enumerate(shape.layout.axes) if k not in axes):
            return
    raise LayoutError(f'expected a result with the ragged axes of layout "{shape.layout}", got {result}')


def check_reassociation(op: ir.Operation) -> None:
    """`tensor.expand_shape` and `tensor.collapse_shape`: plain dense dims only."""
    expands = op.name == "tensor.expand_shape"
    wide, narrow = (op.results[0], op.operands[0]) if expands else (op.operands[0], op.results[0])
    if not (is_ragged(wide.type) and is_ragged(narrow.type)):
        raise LayoutError(
            f"expected operand and result with a layout, got {op.operands[0].type} and {op.results[0].type}"
        )
    source = shape_of(op.operands[0].type)
    layout = shape_of(wide.type).layout
    axes: list[str] = []
    for number, group in enumerate(op.attributes["reassociation"]):
        dims = [attr.value for attr in group]
        if len(dims) > 1:
            split = [d for d in dims if not layout.is_plain(d)]
            if split or (expands and not source.layout.is_plain(number)):
                at = number if expands else split[0]
                raise LayoutError(
                    f"expected plain dense dims to {'expand' if expands else 'collapse'}, got dim {at} of layout "
                    f'"{source.layout}" (use ragged.{"split" if expands else "merge"})'
                )
            axes.append("d")
            continue
        at = layout.locate(dims[0])
        if at[1] == 0:
            axes.append(layout.axes[at[0]])
    if tuple(axes) != shape_of(narrow.type).layout.axes:
        got = op.results[0].type
        raise LayoutError(f'expected a result with the ragged axes of layout "{source.layout}", got {got}')
    if expands:
        _check_output_shape(op, source)


def _check_output_shape(op: ir.Operation, source: RaggedShape) -> None:
    x = op.operands[0]
    sizes = build.joined(op.attributes["static_output_shape"], list(op.operands)[1:])
    for dim, group in enumerate(op.attributes["reassociation"]):
        first: int = group[0].value
        if not source.layout.is_plain(dim) and not _is_extent(sizes[first], x, source, dim):
            wanted = "tensor.dim" if source.layout.letter(dim) == "d" else "ragged.max_length"
            raise LayoutError(f"expected {wanted} of the operand as the extent of dim {dim}, got another value")


_SIZED = ("tensor.expand_shape", "tensor.extract_slice")

TENSOR_RULES: dict[str, Callable[[ir.Operation], None]] = {
    "tensor.cast": check_cast,
    "tensor.collapse_shape": check_reassociation,
    "tensor.dim": check_dim,
    "tensor.expand_shape": check_reassociation,
    "tensor.extract": check_extract,
    "tensor.extract_slice": check_extract_slice,
}
