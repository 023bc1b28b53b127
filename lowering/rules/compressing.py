"""The rule of `ragged.compress`."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, memref, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.memory import room, tensor_of
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.structure.runs import fill_row_ids
from ragged_dialect.ops.grouping import CompressOp

_One = Callable[[ir.Value], tuple[ir.Value, ir.Value]]
"""Whether an element of a tile is kept, and the element."""


def lower_compress(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.compress: tile by tile at once, each of which puts what it keeps where that of the tiles before it ends;
    or a run for each row, of one or none, where running sums say. Rows of several elements are taken by their numbers:
    a copy of those of a few behind a branch takes three times as long."""
    view = view_of(op, CompressOp)
    mask, rows = view.mask, view.x
    if ctx.tile and (rows is None or rows.type.rank == 1):
        made = _in_tiles(ctx, mask, rows)
    else:
        numbers = _in_tiles(ctx, mask, None) if ctx.tile else _in_runs(ctx, mask)
        made = numbers if rows is None else _taken(rows, numbers)
    op.results[0].replace_all_uses_with(shapes.cast(made, view.res.type))


def _in_tiles(ctx: Lowering, mask: ir.Value, values: ir.Value | None) -> ir.Value:
    """Values that are kept, or the numbers of those."""
    size, tile = shapes.dim(mask, 0), ctx.tile
    tiles = build.ceildiv(size, tile)
    counts = room([tiles], build.i64())

    def each(visit: Callable[[ir.Value, ir.Value, Mixed], None]) -> None:
        with inside_forall(tiles) as (_, number):
            first = build.mul(number, build.value(tile))
            visit(number, first, build.minimum(build.sub(build.value(size), first), tile))

    def count(number: ir.Value, first: ir.Value, length: Mixed) -> None:
        def one(i: ir.Value, so_far: list[ir.Value]) -> list[ir.Value]:
            return [arith.addi(so_far[0], arith.extui(build.i64(), tensor.extract(mask, [build.add(first, i)])))]

        (found,) = flow.for_loop(length, [build.constant(build.i64(), 0)], one)
        memref.store(found, counts, [number])

    each(count)
    starts = vectors.scan(tensor_of(counts))
    into = room([vectors.last(starts)], build.i64() if values is None else values.type.element_type)

    def one(i: ir.Value) -> tuple[ir.Value, ir.Value]:
        return tensor.extract(mask, [i]), build.to_i64(i) if values is None else tensor.extract(values, [i])

    def keep(number: ir.Value, first: ir.Value, length: Mixed) -> None:
        start = shapes.load(starts, number)
        if ctx.registers is not None and ctx.registers.compresses:
            _store_where(into, start, length, lambda i: one(build.add(first, i)))
            return
        end = shapes.load(starts, build.add(number, 1))
        _store_until(into, start, end, lambda i: one(build.add(first, i)))

    each(keep)
    return tensor_of(into)


def _store_where(into: ir.Value, start: ir.Value, length: Mixed, one: _One) -> None:
    """Store what is kept behind a branch, of which `vectorize-ragged-loops` makes lanes."""

    def body(i: ir.Value, place: list[ir.Value]) -> list[ir.Value]:
        kept, value = one(i)
        with flow.when(kept):
            memref.store(value, into, place)
        return [arith.addi(place[0], arith.index_castui(build.index_type(), kept))]

    flow.for_loop(length, [start], body)


def _store_until(into: ir.Value, start: ir.Value, end: ir.Value, one: _One) -> None:
    """Store every element at the next place, where the next one that is kept comes after it, until all places have
    theirs: without a branch that nobody can guess."""

    def body(state: list[ir.Value]) -> list[ir.Value]:
        (kept, value), (i, place) = one(state[0]), state
        memref.store(value, into, [place])
        return [arith.addi(i, build.value(1)), arith.addi(place, arith.index_castui(place.type, kept))]

    flow.repeat([build.value(0), start], lambda state: build.less(state[1], end), body)


def _in_runs(ctx: Lowering, mask: ir.Value) -> ir.Value:
    size = shapes.dim(mask, 0)
    offsets = vectors.running(size, lambda i: arith.extui(build.i64(), tensor.extract(mask, [i])))
    return fill_row_ids(ctx, offsets, vectors.last(offsets))


def _taken(rows: ir.Value, numbers: ir.Value) -> ir.Value:
    """The rows that have some numbers."""
    sizes = [shapes.dim(numbers, 0), *shapes.dims(rows)[1:]]
    rank, out = len(sizes), shapes.empty(sizes, rows.type.element_type)
    maps = [ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(0)]), ir.AffineMap.get_identity(rank)]

    def body(given: list[ir.Value]) -> list[ir.Value]:
        return [tensor.extract(rows, [build.to_index(given[0]), *map(loop_index, range(1, rank))])]

    return generic([numbers], [out], maps, ["parallel"] * rank, body).result


RULES = {"ragged.compress": lower_compress}
