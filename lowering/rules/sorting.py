"""The rule of `ragged.sort`."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size, view_of
from ragged_dialect.ir.memory import buffer_of, room, tensor_of
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.forall_bounds import inside_forall
from ragged_dialect.lowering.merge_sort import MergeSort, Row
from ragged_dialect.lowering.partial_sort import LIMIT, PartialSort
from ragged_dialect.lowering.vector.lanes import first_lanes, store_lanes
from ragged_dialect.ops.grouping import SortOp

_REGISTER = 64
"""Bytes of the vectors of keys that are merged, on every processor: of shorter registers several are in flight (with
AVX2 lists of 250 int32 take 0.8 of the time of one, with SSE2 0.6). Pairs have no room for that (2.5 times as long)."""


def lower_sort(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.sort: every segment by itself, in room for two copies of it, between which merges go back and forth. Its
    first few are found in one pass, where there are vectors."""
    view = view_of(op, SortOp)
    columns = [view.keys, *view.numbers]
    element = view.keys.type.element_type
    if isinstance(element, ir.IndexType):
        columns, element = [shapes.as_vector(x) for x in columns], build.i64()
    offsets = shapes.as_vector(view.offsets)
    size, count = build.value(shapes.dim(columns[0], 0)), build.value(build.sub(shapes.dim(offsets, 0), 1))
    lanes = 1
    if ctx.registers is not None:
        lanes = (ctx.registers.bytes if view.numbers else _REGISTER) // byte_size(element)
    sources = [buffer_of(x) for x in columns]
    out = room([size], element)

    def room_for(rows: Mixed) -> MergeSort:
        return MergeSort(sources, [room([build.mul(rows, 2)], element) for _ in columns], element, lanes)

    shared = room_for(size) if lanes == 1 else None  # where there are no vectors, on a GPU, threads have no memory
    few = view.limit if view.limit is not None and view.limit <= LIMIT else None
    with inside_forall(count) as (_, segment):
        first = shapes.load(offsets, segment)
        length = build.value(build.sub(shapes.load(offsets, build.add(segment, 1)), first))
        if shared is None:
            whole = build.value(build.mul(build.ceildiv(length, lanes), lanes))
            sort = room_for(whole) if few is None else MergeSort(sources, [], element, lanes)

            def more() -> None:
                if few is None:
                    _sort_by_merges(sort, out, first, length, build.value(0), whole)
                else:
                    PartialSort.of(sort, few).write(out, first, length)

            _sort_in_registers(sort, out, first, length, more)
        else:
            _sort_by_merges(shared, out, first, length, first, build.value(build.add(first, size)))
    made = tensor_of(out)
    if made.type.element_type != op.results[0].type.element_type:
        made = arith.index_cast(ir.RankedTensorType.get(made.type.shape, build.index_type()), made)
    ctx.bind(op.results[0], ctx.parts(shapes.cast(made, op.results[0].type)))


def _sort_in_registers(
    sort: MergeSort, out: ir.Value, first: ir.Value, length: ir.Value, more: Callable[[], None]
) -> None:
    """A segment: of one register, of two, or of more."""
    lanes = sort.lanes

    def write(row: Row, at: ir.Value, left: ir.Value) -> None:
        store_lanes(row[-1], out, [at], first_lanes(left, lanes))

    def one() -> None:
        write(sort.ordered(sort.taken(first, length)), first, length)

    def two() -> None:
        behind, left = build.add(first, lanes), build.value(build.sub(length, lanes))
        rows = sort.halves(sort.ordered(sort.load_whole(first)), sort.ordered(sort.taken(behind, left)))
        write(rows[0], first, length)
        write(rows[1], behind, left)

    def several() -> None:
        flow.choose(build.at_most(length, 2 * lanes), two, more, [])

    flow.choose(build.at_most(length, lanes), one, several, [])


def _sort_by_merges(
    sort: MergeSort, out: ir.Value, first: ir.Value, length: ir.Value, start: ir.Value, other: ir.Value
) -> None:
    made = sort.sorted(first, length, start, other)

    def put(i: ir.Value, _: list[ir.Value]) -> None:
        memref.store(memref.load(sort.places[-1], [build.add(made, i)]), out, [build.add(first, i)])

    flow.for_loop(length, [], put)


RULES = {"ragged.sort": lower_sort}
