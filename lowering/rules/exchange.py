"""The rules of the ops between ranks: lengths level by level, then elements, each by a call of the group; and what is
begun, which the group does by itself: it is told where everything is, and later where to put what came."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

from ragged_dialect._mlir import ir, memref
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size, is_number, view_of
from ragged_dialect.ir.memory import buffer_of, room, tensor_of
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.external_calls import call_external, module_of
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.ops.exchange import AllToAllOp, AllToAllStartOp, AllToAllWaitOp
from ragged_dialect.types import shape_of, storage_type

_MIX = 1_000_003
"""A prime that makes one number of several, in which their order counts."""


def lower_all_to_all(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.all_to_all. Both sides know how many rows of a level go where before these are sent: the lengths of the
    level above say it, and of the first level every rank has one row for every other one."""
    x, shape = ctx.parts(view_of(op, AllToAllOp).x), shape_of(op.results[0].type)
    what = _agreed_of(x)
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


def _agreed_of(x: Parts) -> int:
    """What both sides must agree on: layout, type of the elements, and beside it the turn of a call and the shape of
    rows."""
    return crc32(f"{x.layout} {x.element}".encode()) << 8


def lower_all_to_all_start(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.all_to_all_start."""
    x = ctx.parts(view_of(op, AllToAllStartOp).x)
    levels: list[Mixed] = []
    for level, letter in enumerate(x.layout.axes[0][1:], 1):
        known = x.extent(level) if letter == "d" else _address(buffer_of(x.vectors["offsets", level]))
        levels += [int(letter == "r"), known]
    what = _agreed_of(x)
    numbers = [x.extent(0), len(levels) // 2, *levels, what, *_row(x.values, what), _address(buffer_of(x.values))]
    told = _told(op, "ragged_exchange_start", numbers)
    op.results[0].replace_all_uses_with(build.to_index(memref.load(told, [build.value(0)])))


def lower_all_to_all_wait(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.all_to_all_wait: the group says how much came, and puts it where there is room then."""
    found = view_of(op, AllToAllWaitOp)
    x, shape = ctx.parts(found.x), shape_of(op.results[0].type)
    ragged = [level for level, letter in enumerate(shape.layout.axes[0]) if letter == "r"]
    told = _told(op, "ragged_exchange_wait", [found.turn, *[0] * len(ragged)])
    *counts, rows = (build.to_index(memref.load(told, [build.value(k)])) for k in range(len(ragged) + 1))
    offsets = [room([count], build.i64()) for count in counts]
    values = room([rows, *_inner(x.values)], x.element)
    _told(op, "ragged_exchange_take", [found.turn, *map(_address, [*offsets, values])])
    made = {("offsets", level): tensor_of(vector) for level, vector in zip(ragged, offsets, strict=True)}
    extents = {d: x.extent(d) for d in range(shape.rank) if shape.has_extent_part(d)}
    held = shapes.cast(tensor_of(values), storage_type(shape, x.element))
    ctx.bind(op.results[0], Parts(ctx, shape, held, made, extents))


def _told(op: ir.Operation, symbol: str, numbers: Sequence[Mixed]) -> ir.Value:
    """Numbers in memory that a call of the group reads, and writes its answer to."""
    memory = memref.AllocaOp(ir.MemRefType.get([len(numbers)], build.i64()), [], []).result
    for place, number in enumerate(numbers):
        memref.store(build.to_i64(build.value(number)), memory, [build.value(place)])
    call = call_external(module_of(op), symbol, [_address(memory)], [build.i64()])
    call_external(module_of(op), "ragged_require", [call.result])
    return memory


def _exchanged(
    op: ir.Operation, rows: ir.Value, sent: ir.Value, received: ir.Value, what: int, is_lengths: bool = False
) -> ir.Value:
    """The rows that come for those that go. `sent` and `received` bound the rows of every rank."""
    out = room([vectors.last(received), *_inner(rows)], rows.type.element_type)
    row, agreed = _row(rows, what)
    numbers = [vectors.count(sent), row, agreed, int(is_lengths)]
    addresses = [_address(buffer_of(rows)), _address(buffer_of(sent)), _address(out), _address(buffer_of(received))]
    call = call_external(
        module_of(op),
        "ragged_exchange",
        [*addresses, *(build.to_i64(build.value(number)) for number in numbers)],
        [build.i64()],
    )
    call_external(module_of(op), "ragged_require", [call.result])
    return tensor_of(out)


def _inner(rows: ir.Value) -> list[Mixed]:
    """The extents of a row."""
    return [shapes.dim(rows, axis) for axis in range(1, rows.type.rank)]


def _row(rows: ir.Value, what: int) -> tuple[Mixed, Mixed]:
    """The bytes of a row, and what both sides must agree on with its shape."""
    element = rows.type.element_type
    if not is_number(element):
        raise LayoutError(f"expected elements of a known number of bytes, got {element}")
    agreed: Mixed = what
    for size in _inner(rows):
        agreed = build.add(build.mul(build.value(agreed), _MIX), size)
    return build.mul(build.product(_inner(rows)), byte_size(element)), agreed


def _address(memory: ir.Value) -> ir.Value:
    return build.to_i64(memref.extract_aligned_pointer_as_index(memory))


RULES = {
    "ragged.all_to_all": lower_all_to_all,
    "ragged.all_to_all_start": lower_all_to_all_start,
    "ragged.all_to_all_wait": lower_all_to_all_wait,
}
