"""Running flat ops over the same rows chunk by chunk."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import DYNAMIC, ir, memref, scf
from ragged_dialect.generic import count_from, indexing_maps
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer, terminator
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_allocation, plain_dim, range_view
from ragged_dialect.lowering.rows.groups import RowGroup
from ragged_dialect.lowering.rows.op import Place
from ragged_dialect.lowering.vector.machine import CACHE_LINE


@dataclass(frozen=True)
class Rooms:
    """Where the reductions of a group leave what each chunk comes to, by the numbers of their outs, and the chunk."""

    of: dict[ir.Operation, dict[int, ir.Value]]
    chunk: ir.Value


def cut(group: RowGroup) -> None:
    """Run the ops of a group in chunks of rows, in a loop where the last one is. What is left of the chunks by
    reductions is put together after that, in their order: results do not depend on the number of threads."""
    for op in group.ops:
        Mapping().give(op)
    static = [length for length in group.lengths if isinstance(length, int)]
    if static and static[0] * group.width <= (group.mapping.tile or group.chunk):
        return
    last, rows = list(group.ops.values())[-1], group.rows
    with ir.InsertionPoint(last.op), last.op.location:
        x, dim = next(place for place in reversed(last.places) if place[1] >= 0)  # a result, no temporary
        extent = static[0] if static else memref.dim(x, build.value(dim))
        chunks = build.ceildiv(extent, rows)
        reduced = {op: found.parts for op, found in group.ops.items() if found.parts is not None}
        rooms = {op: parts.rooms(chunks) for op, parts in reduced.items()}
        loop = scf.ForOp(build.value(0), build.value(chunks), build.value(1))
        if not group.mapping.is_serial:
            loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(loop.body):
            low = build.mul(loop.induction_variable, rows)
            size = build.minimum(rows, build.sub(extent, low))
            scf.yield_([])
        for op, parts in reduced.items():
            parts.combine(rooms[op])
    end = terminator(loop.body)
    narrow(group, low, size, rows, end, Rooms(rooms, loop.induction_variable))


def narrow(group: RowGroup, low: Mixed, size: Mixed, rows: int, end: ir.Operation, rooms: Rooms | None = None) -> None:
    """Move the ops of a group before an op, to run on `size` rows from `low` on, which are at most `rows`; what
    reductions leave of them goes into `rooms`."""
    with ir.InsertionPoint(end), end.location:
        views = {place: _chunk_of(place, group, low, size, rows) for place in group.along}
    for op, found in group.ops.items():
        dims = [plain_dim(m, found.loop) for m in indexing_maps(op)]
        operands = [views.get((x, -1 if dim is None else dim), x) for x, dim in zip(op.operands, dims, strict=True)]
        if rooms is not None and found.parts is not None:
            with ir.InsertionPoint(end), op.location:
                found.parts.one(rooms.chunk, low, operands, rooms.of[op])
            op.erase()
            continue
        op.move_before(end)
        count_from(op, build.value(low))
        for k, x in enumerate(operands):
            op.operands[k] = x


def _chunk_of(place: Place, group: RowGroup, low: Mixed, size: Mixed, rows: int) -> ir.Value:
    """The rows of a chunk. What only the group uses is allocated for a chunk."""
    x, dim = place
    if not is_allocation(x) or any(use.owner.operation not in group.ops for use in x.uses):
        return range_view(x, dim, low, size)
    shape = [rows if k == dim else s for k, s in enumerate(x.type.shape)]
    type_ = ir.MemRefType.get(shape, x.type.element_type, None, x.type.memory_space)
    dynamic = [k for k, s in enumerate(x.type.shape) if s == DYNAMIC]
    sizes = [value for k, value in zip(dynamic, definer(x).operands, strict=True) if k != dim]
    return range_view(memref.alloc(type_, sizes, [], alignment=CACHE_LINE), dim, 0, size)
