"""The rule of the op between ranks: lengths level by level, then elements, each by a call of the group."""

from __future__ import annotations

from zlib import crc32

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import bit_width, view_of
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.external_calls import call_external, module_of
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.ops.exchange import AllToAllOp
from ragged_dialect.types import shape_of, storage_type

_MIX = 1_000_003
"""A prime that makes one number of several, in which their order counts."""


def lower_all_to_all(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.all_to_all. Both sides know how many rows of a level go where before these are sent: the lengths of the
    level above say it, and of the first level every rank has one row for every other one."""
    x, shape = ctx.parts(view_of(op, AllToAllOp).x), shape_of(op.results[0].type)
    # What both sides must agree on: layout, type of the elements, turn of the call, and below the shape of rows.
    what = crc32(f"{shape.layout} {x.element}".encode()) << 8
    sent = received = vectors.generate(build.add(x.extent(0), 1), lambda rank: rank)
    made: dict[tuple[str, int], ir.Value] = {}
    for level, letter in enumerate(shape.layout.axes[0][1:], 1):
        if letter == "d":
            extent = x.extent(level)
            sent, received = vectors.scale(sent, extent), vectors.scale(received, extent)
            continue
        offsets = x.vectors["offsets", level]
        lengths = _exchanged(op, vectors.differences(offsets), sent, received, what + level, is_lengths=True)
        made["offsets", level] = vectors.scan(lengths)
        sent, received = vectors.gather(offsets, sent), vectors.gather(made["offsets", level], received)
    values = _exchanged(op, x.values, sent, received, what)
    extents = {d: x.extent(d) for d in range(shape.rank) if shape.has_extent_part(d)}
    ctx.bind(op.results[0], Parts(ctx, shape, shapes.cast(values, storage_type(shape, x.element)), made, extents))


def _exchanged(
    op: ir.Operation, rows: ir.Value, sent: ir.Value, received: ir.Value, what: int, is_lengths: bool = False
) -> ir.Value:
    """The rows that come for those that go. `sent` and `received` bound the rows of every rank."""
    element = rows.type.element_type
    sizes: list[Mixed] = [vectors.last(received), *(shapes.dim(rows, axis) for axis in range(1, rows.type.rank))]
    static = [DYNAMIC if isinstance(size, ir.Value) else size for size in sizes]
    out = memref.alloc(ir.MemRefType.get(static, element), [size for size in sizes if isinstance(size, ir.Value)], [])
    row = build.mul(build.product(sizes[1:]), -(-bit_width(element) // 8))
    agreed: Mixed = what
    for size in sizes[1:]:
        agreed = build.add(build.mul(build.value(agreed), _MIX), size)
    numbers = [build.sub(shapes.dim(sent, 0), 1), row, agreed, int(is_lengths)]
    addresses = [_address(_buffer(rows)), _address(_buffer(sent)), _address(out), _address(_buffer(received))]
    call = call_external(
        module_of(op),
        "ragged_exchange",
        [*addresses, *(build.to_i64(build.value(number)) for number in numbers)],
        [build.i64()],
    )
    call_external(module_of(op), "ragged_require", [call.result])
    return ir.Operation.create(
        "bufferization.to_tensor",
        results=[ir.RankedTensorType.get(static, element)],
        operands=[out],
        attributes={"restrict": ir.UnitAttr.get(), "writable": ir.UnitAttr.get()},
    ).result


def _buffer(x: ir.Value) -> ir.Value:
    """The memory of a tensor, without gaps, to read."""
    type_ = ir.MemRefType.get(x.type.shape, x.type.element_type)
    return ir.Operation.create(
        "bufferization.to_buffer", results=[type_], operands=[x], attributes={"read_only": ir.UnitAttr.get()}
    ).result


def _address(memory: ir.Value) -> ir.Value:
    return build.to_i64(memref.extract_aligned_pointer_as_index(memory))


RULES = {"ragged.all_to_all": lower_all_to_all}
