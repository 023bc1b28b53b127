"""The checks of upstream's ops on dense tensors: places, slices and reshapes inside what there is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.passes.checking.emitter import Emitter, Extent
from ragged_dialect.tensor_rules import mixed
from ragged_dialect.types import is_tensor, shape_of


def check_extract(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.extract`."""
    x, *indices = op.operands
    _check_indices(emit, x, indices)


def _check_indices(emit: Emitter, x: ir.Value, indices: Sequence[ir.Value]) -> None:
    for dim, index in enumerate(indices):
        emit.valid("index", dim, emit.number(index), emit.extent(x, dim))


def check_insert(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.insert`."""
    _, x, *indices = op.operands
    _check_indices(emit, x, indices)


def check_dim(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.dim` of a dim that is an operand."""
    x, dim = op.operands
    if isinstance(x.type, ir.RankedTensorType):
        emit.valid("index", 0, emit.number(dim), len(x.type.shape))


def check_cast(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.cast`: static extents of the result are those there are."""
    x, result = op.operands[0], op.results[0].type
    if not is_tensor(result):  # unranked
        return
    for dim, extent in enumerate(shape_of(result).shape):
        if extent is not None and shape_of(result).layout.letter(dim) == "d":
            emit.equal(dim, emit.extent(x, dim), extent)


def check_extract_slice(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.extract_slice`: what it reads is inside."""
    _check_ranges(emit, op, op.operands[0])


def check_insert_slice(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.insert_slice` and its parallel form: what they write is inside, and as large as what they read."""
    source, target = op.operands[:2]
    _check_ranges(emit, op, target)
    shape = source.type.shape
    sizes = [emit.number(size) for size in mixed(op, "sizes")]
    dim = 0
    for left, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        if size == 1 and left > len(shape) - dim and (dim == len(shape) or shape[dim] != 1):
            continue  # a dim that the source does not have
        emit.equal(dim, emit.extent(source, dim), size)
        dim += 1


def _check_ranges(emit: Emitter, op: ir.Operation, x: ir.Value) -> None:
    """The slice is inside `x`; of a ragged one all of the dims that are not plain is."""
    layout = shape_of(x.type).layout
    for dim, parts in enumerate(zip(*(mixed(op, what) for what in ("offsets", "sizes", "strides")), strict=True)):
        if not layout.is_plain(dim):
            continue
        start, size, stride = (emit.number(part) for part in parts)
        extent = emit.extent(x, dim)
        if size == 1:
            emit.valid("index", dim, start, extent)
            continue
        if stride == 1:
            emit.valid("range", dim, start, emit.plus(start, size), extent)
            continue
        emit.valid("at_least", dim, stride, factor=1)
        emit.valid("range", dim, start, extent, extent)
        emit.valid("range", dim, 0, size, emit.quotient(emit.minus(extent, start), stride))


def check_expand_shape(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.expand_shape`: the dims that one becomes have as many elements."""
    x, *values = op.operands
    given = iter(values)
    sizes: list[Extent] = [
        emit.number(next(given)) if s == DYNAMIC else s for s in op.attributes["static_output_shape"]
    ]
    for dim, group in enumerate(op.attributes["reassociation"]):
        made = [sizes[k.value] for k in group]
        if len(made) > 1 and not all(isinstance(size, int) for size in (*made, emit.extent(x, dim))):
            _check_size(emit, dim, made, emit.extent(x, dim))


def check_reshape(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.reshape`: as many elements in the new shape."""
    x, shape = op.operands
    count = shape.type.shape[0]
    if count != DYNAMIC and isinstance(x.type, ir.RankedTensorType):
        made = [emit.entry(shape, k) for k in range(count)]
        elements = reduce(emit.times, (emit.extent(x, dim) for dim in range(len(x.type.shape))), 1)
        _check_size(emit, 0, made, elements)


def _check_size(emit: Emitter, dim: int, sizes: Sequence[Extent], expected: Extent) -> None:
    for size in sizes:
        emit.valid("at_least", dim, size, factor=0)
    emit.fits(dim, sizes)
    emit.equal(dim, reduce(emit.times, sizes, 1), expected)


def check_concat(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.concat`: one extent along every other dim."""
    first, *others = op.operands
    for dim in range(len(first.type.shape)):
        if dim != op.attributes["dim"].value:
            for other in others:
                emit.equal(dim, emit.extent(other, dim), emit.extent(first, dim))


def check_pad(emit: Emitter, op: ir.Operation) -> None:
    """`tensor.pad`: nothing is cut off."""
    for amount in list(op.operands)[1:]:
        emit.valid("at_least", 0, emit.number(amount), factor=0)


RULES: dict[str, Callable[[Emitter, ir.Operation], None]] = {
    "tensor.cast": check_cast,
    "tensor.concat": check_concat,
    "tensor.dim": check_dim,
    "tensor.expand_shape": check_expand_shape,
    "tensor.extract": check_extract,
    "tensor.extract_slice": check_extract_slice,
    "tensor.insert": check_insert,
    "tensor.insert_slice": check_insert_slice,
    "tensor.pad": check_pad,
    "tensor.parallel_insert_slice": check_insert_slice,
    "tensor.reshape": check_reshape,
}
"""Rules by op name."""
