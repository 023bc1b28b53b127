"""Dense tensors: their extents, slices, casts and elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ragged_dialect._mlir import DYNAMIC, arith, ir, tensor
from ragged_dialect.ir.build import Mixed, i64, joined, split, to_index, value
from ragged_dialect.layout import product
from ragged_dialect.types import dense_type, vector_type


def dim(x: ir.Value, axis: int) -> Mixed:
    """Extent of a dense tensor along an axis."""
    size = x.type.shape[axis]
    return tensor.dim(x, value(axis)) if size == DYNAMIC else size


def dims(x: ir.Value) -> list[Mixed]:
    """Extents of all axes."""
    return [dim(x, axis) for axis in range(x.type.rank)]


def load(vector: ir.Value, at: Mixed) -> ir.Value:
    """Element of an index vector, as index."""
    return to_index(tensor.extract(vector, [value(at)]))


def empty(sizes: Sequence[Mixed], element: ir.Type) -> ir.Value:
    """An uninitialised dense tensor."""
    return tensor.empty(list(sizes), element)


def static(sizes: Sequence[Mixed]) -> tuple[int | None, ...]:
    """Static shape of mixed sizes."""
    return tuple(s if isinstance(s, int) else None for s in sizes)


def _places(x: ir.Value, offsets: Sequence[Mixed]) -> list[Mixed]:
    """Offsets as MLIR has them: where an extent is known to be 0 none that is known is in bounds."""
    return [value(at) if extent == 0 else at for at, extent in zip(offsets, x.type.shape, strict=True)]


class Slice(NamedTuple):
    """What builders of slices take after their tensors or buffers."""

    offsets: list[ir.Value]
    sizes: list[ir.Value]
    strides: list[ir.Value]
    static_offsets: list[int]
    static_sizes: list[int]
    static_strides: list[int]


def slice_of(x: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed]) -> Slice:
    """A slice with unit strides of a tensor or buffer."""
    dyn_offsets, static_offsets = split(_places(x, offsets))
    dyn_sizes, static_sizes = split(sizes)
    return Slice(dyn_offsets, dyn_sizes, [], static_offsets, static_sizes, [1] * len(sizes))


def mixed(op: ir.Operation, what: str) -> list[Mixed]:
    """Offsets, sizes or strides of a slice, its last groups of operands: integers, values where they are dynamic."""
    segments = list(op.attributes["operandSegmentSizes"])
    group = len(segments) - 3 + ("offsets", "sizes", "strides").index(what)
    first = sum(segments[:group])
    return joined(op.attributes[f"static_{what}"], list(op.operands)[first : first + segments[group]])


def extract_slice(x: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed], kept: Sequence[bool]) -> ir.Value:
    """`tensor.extract_slice` with unit strides; axes that are not kept have size 1 and are dropped."""
    part = slice_of(x, offsets, sizes)
    shape = tuple(s for s, keep in zip(static(sizes), kept, strict=True) if keep)
    if not part.offsets and not part.sizes and part.static_sizes == list(x.type.shape) and all(kept):
        return x
    return tensor.extract_slice(dense_type(shape, x.type.element_type), x, *part)


def insert_slice(source: ir.Value, into: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed]) -> ir.Value:
    """`tensor.insert_slice` with unit strides."""
    return tensor.InsertSliceOp(_sized(source, sizes), into, *slice_of(into, offsets, sizes)).result


def insert_in_parallel(source: ir.Value, into: ir.Value, offsets: Sequence[Mixed], sizes: Sequence[Mixed]) -> None:
    """The same in a forall's terminator."""
    with ir.InsertionPoint(ir.InsertionPoint.current.block.owner):  # the terminator has insertions only
        offsets, source = _places(into, offsets), _sized(source, sizes)
    tensor.parallel_insert_slice(source, into, *slice_of(into, offsets, sizes))


def _sized(x: ir.Value, sizes: Sequence[Mixed]) -> ir.Value:
    """A tensor with the extents that are known of sizes: nothing times what only a call knows is 0."""
    if len(x.type.shape) != len(sizes):
        return x
    known = [None if e == DYNAMIC else e for e in x.type.shape]
    shape = tuple(s if isinstance(s, int) and e is None else e for e, s in zip(known, sizes, strict=True))
    return cast(x, dense_type(shape, x.type.element_type))


def collapse(x: ir.Value, groups: Sequence[Sequence[int]]) -> ir.Value:
    """`tensor.collapse_shape` by groups of axes."""
    extents = [None if size == DYNAMIC else size for size in x.type.shape]
    shape = tuple(product(tuple(extents[k] for k in group)) for group in groups)
    return tensor.collapse_shape(dense_type(shape, x.type.element_type), x, groups)


def grouped(rank: int, first: int, last: int) -> list[list[int]]:
    """Axes in groups of one each, but for those from one on up to another, which are one group."""
    return [*([k] for k in range(first)), [*range(first, last)], *([k] for k in range(last, rank))]


def cast(x: ir.Value, type_: ir.RankedTensorType) -> ir.Value:
    """`tensor.cast` where the types differ."""
    return x if x.type == type_ else tensor.cast(type_, x)


def as_vector(x: ir.Value) -> ir.Value:
    """An index vector of any integer type and static size as `tensor<?xi64>`."""
    element = x.type.element_type
    if element != i64():
        rank = len(x.type.shape)
        widened = dense_type(tuple(None if s == DYNAMIC else s for s in x.type.shape), i64())
        x = (arith.index_cast if isinstance(element, ir.IndexType) else arith.extsi)(widened, x)
        if rank != 1:
            return x
    return cast(x, vector_type()) if len(x.type.shape) == 1 else x


def _named(name: str, source: ir.Value, target: ir.Value) -> ir.Value:
    """A named linalg op of one input and one out, whose body yields the input; its result, or the buffer."""
    element = target.type.element_type
    op = ir.Operation.create(
        name,
        results=[target.type] if isinstance(target.type, ir.RankedTensorType) else [],
        operands=[source, target],
        attributes={"operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1])},
        regions=1,
    )
    block = op.regions[0].blocks.append(element, element)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[block.arguments[0]])
    return op.result if len(op.results) else target


def fill(scalar: ir.Value, target: ir.Value) -> ir.Value:
    """`linalg.fill` of a tensor or buffer; the filled one."""
    return _named("linalg.fill", scalar, target)


def copy(source: ir.Value, target: ir.Value) -> ir.Value:
    """`linalg.copy` into a tensor or buffer; the one copied to."""
    return _named("linalg.copy", source, target)
