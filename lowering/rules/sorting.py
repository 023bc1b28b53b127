"""The rule of `ragged.sort`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import byte_size, constant_int, made_by, terminator, view_of
from ragged_dialect.ir.memory import buffer_of, room, tensor_of
from ragged_dialect.lowering.dense.inline_index_vectors import is_index_vector
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.sorting.merge_sort import MergeSort
from ragged_dialect.lowering.sorting.partial_sort import LIMIT, PartialSort
from ragged_dialect.lowering.vector.lanes import first_lanes, store_lanes
from ragged_dialect.ops.grouping import SortOp

_REGISTER = 64
"""Bytes of the vectors of keys that are merged, on every processor: of shorter registers several are in flight (with
AVX2 lists of 250 int32 take 0.8 of the time of one, with SSE2 0.6). Pairs have no room for that (2.5 times as long)."""

_KNOWN, _ANY = 8, 4
"""The most registers of a run where it is known how long segments are, so that there is code for that length alone, and
else. On a Zen 4 core 20,000 rows of 100 float32 take 2.5 ms with 8 and 3.9 with 4, and of 64 with either 1.9; code of 8
for any length takes 0.3 s to compile."""

_LONGEST = 1 << 20
"""The longest segments that there is code for: what two copies of one take is in memory even where there are none."""


def lower_sort(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.sort: every segment by itself, in room for two copies of it, between which merges go back and forth. Its
    first few are found in one pass, where there are vectors."""
    view = view_of(op, SortOp)
    columns = [view.keys, *view.numbers]
    element = view.keys.type.element_type
    if isinstance(element, ir.IndexType):
        columns, element = [shapes.as_vector(x) for x in columns], build.i64()
    offsets = shapes.as_vector(view.offsets)
    size, count = build.value(shapes.dim(columns[0], 0)), build.value(vectors.count(offsets))
    lanes = block = 1
    common = _common_length(offsets)
    if ctx.registers is not None:
        lanes = (ctx.registers.bytes if view.numbers else _REGISTER) // byte_size(element)
        block = _ANY if common is None else min(1 << (-(-common // lanes) - 1).bit_length(), _KNOWN)
    sources = [buffer_of(x) for x in columns]
    out = room([size], element)

    def room_for(rows: Mixed) -> MergeSort:
        return MergeSort(sources, [room([build.mul(rows, 2)], element) for _ in columns], element, lanes, block)

    shared = room_for(size) if lanes == 1 else None  # where there are no vectors, on a GPU, threads have no memory
    few = view.limit if view.limit is not None and view.limit <= LIMIT else None
    with inside_forall(count) as (_, segment):
        first = shapes.load(offsets, segment)
        length = common or build.sub(shapes.load(offsets, build.add(segment, 1)), first)
        if shared is None:
            run = block * lanes
            whole = build.value(build.mul(build.ceildiv(length, run), run))
            sort = room_for(whole) if few is None else MergeSort(sources, [], element, lanes, block)

            def more() -> None:
                if few is None:
                    _sort_by_merges(sort, out, first, build.value(length), build.value(0), whole)
                else:
                    PartialSort.of(sort, few).write(out, first, build.value(length))

            _sort_in_registers(sort, out, first, length, more)
        else:
            _sort_by_merges(shared, out, first, build.value(length), first, build.value(build.add(first, size)))
    made = tensor_of(out)
    if made.type.element_type != op.results[0].type.element_type:
        made = arith.index_cast(ir.RankedTensorType.get(made.type.shape, build.index_type()), made)
    ctx.bind(op.results[0], ctx.parts(shapes.cast(made, op.results[0].type)))


def _sort_in_registers(
    sort: MergeSort, out: ir.Value, first: ir.Value, length: Mixed, more: Callable[[], None]
) -> None:
    """A segment: of one register, of two, and so on, or of more than a run."""
    lanes = sort.lanes

    def of(count: int) -> None:
        rows = sort.ordered(sort.taken(first, length, count))
        for i, row in enumerate(rows):
            left = build.sub(length, i * lanes)
            mask = None if isinstance(left, int) and left >= lanes else first_lanes(left, lanes)
            store_lanes(row[-1], out, [build.add(first, i * lanes)], mask)

    def at_least(count: int) -> None:
        further = partial(at_least, 2 * count) if count < sort.block else more
        flow.choose(build.at_most(length, count * lanes), partial(of, count), further, [])

    if not isinstance(length, int):
        at_least(1)
    elif length > sort.block * lanes:
        more()
    else:
        of(sort.block)


def _sort_by_merges(
    sort: MergeSort, out: ir.Value, first: ir.Value, length: ir.Value, start: ir.Value, other: ir.Value
) -> None:
    made = sort.sorted(first, length, start, other)

    def put(at: ir.Value, _: list[ir.Value]) -> None:
        row, to = sort.load(build.add(made, at))[-1], [build.add(first, at)]
        if sort.lanes == 1:
            memref.store(row, out, to)
        else:
            store_lanes(row, out, to, first_lanes(build.sub(length, at), sort.lanes))

    flow.strided(0, sort.lanes, length, [], put)


def _common_length(offsets: ir.Value) -> int | None:
    """The length of all segments where each begins at a multiple of it, as rows of a matrix do."""
    op = made_by(offsets, "linalg.generic")
    if op is None or not is_index_vector(op):
        return None
    cast = made_by(terminator(op.regions[0].blocks[0]).operands[0], "arith.index_cast")
    product = None if cast is None else made_by(cast.operands[0], "arith.muli")
    if product is None or made_by(product.operands[0], "linalg.index") is None:
        return None
    length = constant_int(product.operands[1])
    return length if length is not None and 0 < length <= _LONGEST else None


RULES = {"ragged.sort": lower_sort}
