"""The checks of upstream's ops on dense tensors: places, slices and reshapes inside what there is, extents, steps."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.checking.checker import Checker, Extent, Q, Rule
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import constant_int
from ragged_dialect.tensor_rules import mixed
from ragged_dialect.types import is_tensor, shape_of


def check_extract(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.extract`."""
    x, *indices = op.operands
    _check_indices(ask, x, indices)


def _check_indices(ask: Checker[Q], x: ir.Value, indices: Sequence[ir.Value]) -> None:
    for dim, index in enumerate(indices):
        ask.valid("index", dim, ask.number(index), ask.extent(x, dim))


def check_insert(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.insert`."""
    _, x, *indices = op.operands
    _check_indices(ask, x, indices)


def check_dim(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.dim` of a dim that is an operand."""
    x, dim = op.operands
    if isinstance(x.type, ir.RankedTensorType):
        ask.valid("index", 0, ask.number(dim), len(x.type.shape))


def check_cast(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.cast`: static extents of the result are those there are."""
    x, result = op.operands[0], op.results[0].type
    if not is_tensor(result):  # unranked
        return
    if not is_tensor(x.type):
        raise LayoutError(f"expected a cast of a tensor of known rank, got one of {x.type} to {result}")
    for dim, extent in enumerate(shape_of(result).shape):
        if shape_of(result).layout.letter(dim) == "d":
            ask.equal(dim, ask.extent(x, dim), extent)


def check_extract_slice(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.extract_slice`: what it reads is inside."""
    _check_ranges(ask, op, op.operands[0])


def check_insert_slice(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.insert_slice` and its parallel form: what they write is inside, and as large as what they read."""
    source, target = op.operands[:2]
    _check_ranges(ask, op, target)
    shape = source.type.shape
    sizes = mixed(op, "sizes")
    dim = 0
    for left, size in zip(range(len(sizes), 0, -1), sizes, strict=True):
        if _is_one(size) and left > len(shape) - dim and (dim == len(shape) or shape[dim] != 1):
            continue  # a dim that the source does not have
        ask.equal(dim, ask.extent(source, dim), ask.number(size))
        dim += 1


def _check_ranges(ask: Checker[Q], op: ir.Operation, x: ir.Value) -> None:
    """The slice is inside `x`; of a ragged one all of the dims that are not plain is."""
    layout = shape_of(x.type).layout
    for dim, parts in enumerate(zip(*(mixed(op, what) for what in ("offsets", "sizes", "strides")), strict=True)):
        if not layout.is_plain(dim):
            continue
        start, size, stride = (ask.number(part) for part in parts)
        extent = ask.extent(x, dim)
        if _is_one(parts[1]):
            ask.valid("index", dim, start, extent)
            continue
        if _is_one(parts[2]):
            ask.valid("range", dim, start, ask.plus(start, size), extent)
            continue
        ask.valid("at_least", dim, stride, factor=1)
        ask.valid("range", dim, start, extent, extent)
        ask.valid("range", dim, 0, size, ask.quotient(ask.minus(extent, start), stride))


def _is_one(part: Mixed) -> bool:
    return part == 1 if isinstance(part, int) else constant_int(part) == 1


def check_expand_shape(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.expand_shape`: the dims that one becomes have as many elements."""
    x, *values = op.operands
    given = iter(values)
    sizes: list[Extent[Q]] = [
        ask.number(next(given)) if s == DYNAMIC else s for s in op.attributes["static_output_shape"]
    ]
    for dim, group in enumerate(op.attributes["reassociation"]):
        made: list[Extent[Q]] = [sizes[k.value] for k in group]
        if len(made) > 1:
            _check_size(ask, dim, made, ask.extent(x, dim))


def check_reshape(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.reshape`: as many elements in the new shape."""
    x, shape = op.operands
    count = shape.type.shape[0]
    if count != DYNAMIC and isinstance(x.type, ir.RankedTensorType):
        made = [ask.entry(shape, k) for k in range(count)]
        extents: list[Extent[Q]] = [ask.extent(x, dim) for dim in range(len(x.type.shape))]
        elements = reduce(ask.times, extents, 1)
        _check_size(ask, 0, made, elements)


def _check_size(ask: Checker[Q], dim: int, sizes: Sequence[Extent[Q]], expected: Extent[Q]) -> None:
    for size in sizes:
        ask.valid("at_least", dim, size, factor=0)
    ask.fits(dim, sizes)
    ask.equal(dim, reduce(ask.times, sizes, 1), expected)


def check_concat(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.concat`: one extent along every other dim."""
    first, *others = op.operands
    for dim in range(len(first.type.shape)):
        if dim != op.attributes["dim"].value:
            for other in others:
                ask.equal(dim, ask.extent(other, dim), ask.extent(first, dim))


def check_pad(ask: Checker[Q], op: ir.Operation) -> None:
    """`tensor.pad`: nothing is cut off."""
    for amount in list(op.operands)[1:]:
        ask.valid("at_least", 0, ask.number(amount), factor=0)


def least_of(op: ir.Operation) -> list[tuple[int, ir.Value, int]]:
    """What has to be at least so much: dims and extents of what is made, the step of a loop, which would not end."""
    if op.name == "scf.for":
        return [(0, op.operands[2], 1)]
    dims = [d for d, extent in enumerate(shape_of(op.results[0].type).shape) if extent is None]
    return [(dim, size, 0) for dim, size in zip(dims, list(op.operands)[-len(dims) :], strict=True)] if dims else []


def largest_index(type_: ir.Type) -> int:
    """The largest number of an integer type, or of `index`."""
    return 2 ** (63 if isinstance(type_, ir.IndexType) else ir.IntegerType(type_).width - 1) - 1


def check_least(ask: Checker[Q], op: ir.Operation) -> None:
    """`scf.for`, and ops that make a tensor of extents that are operands."""
    for dim, value, least in least_of(op):
        ask.valid("at_least", dim, ask.number(value), factor=least)
    if op.name == "scf.for" and constant_int(op.operands[2]) is None:  # what is behind the last index is a number too
        last = ask.minus(largest_index(op.operands[2].type), ask.most(ask.number(op.operands[1]), 0))
        ask.valid("range", 0, 0, ask.number(op.operands[2]), last)


RULES: dict[str, Rule] = {
    "scf.for": check_least,
    "tensor.cast": check_cast,
    "tensor.concat": check_concat,
    "tensor.dim": check_dim,
    "tensor.empty": check_least,
    "tensor.expand_shape": check_expand_shape,
    "tensor.extract": check_extract,
    "tensor.extract_slice": check_extract_slice,
    "tensor.generate": check_least,
    "tensor.insert": check_insert,
    "tensor.insert_slice": check_insert_slice,
    "tensor.pad": check_pad,
    "tensor.parallel_insert_slice": check_insert_slice,
    "tensor.reshape": check_reshape,
    "tensor.splat": check_least,
}
"""Rules by op name."""
