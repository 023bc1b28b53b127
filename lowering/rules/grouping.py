"""The rule of the op that groups elements by keys."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, memref, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.memory import room, tensor_of
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.forall_bounds import forall_over
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.ops.grouping import GroupByOp
from ragged_dialect.types import shape_of


def lower_group_by(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.group_by: a counting sort in parts. Each counts its keys; running sums over keys, and in a key over
    parts, say where a part's elements of a key start; then each puts its indices there, in order. The result does not
    depend on how many parts there are."""
    view = view_of(op, GroupByOp)
    keys, count = shapes.as_vector(view.keys), build.to_index(view.count)
    size = build.value(shapes.dim(keys, 0))
    # Divided twice, as a product of the count might be too large for an index.
    few = arith.divui(arith.divui(size, build.value(ctx.keys_of_a_count)), build.value(build.maximum(count, 1)))
    parts = build.value(build.maximum(build.minimum(arith.divui(size, build.value(ctx.keys)), few), 1))
    step = arith.divui(build.add(size, build.sub(parts, 1)), parts)

    def table() -> ir.Value:
        return room([parts, count], build.i64())

    def meet(table: ir.Value, next_: Callable[[ir.Value, ir.Value], None]) -> None:
        """All parts at once go along their keys: each adds one to its number of a key in a table."""
        forall = forall_over(parts, stays=True)
        (block,) = forall.regions[0].blocks
        with ir.InsertionPoint.at_block_terminator(block):
            (part,) = block.arguments
            first = build.mul(part, step)
            own = build.maximum(build.sub(build.minimum(build.add(first, step), size), first), 0)

            def body(i: ir.Value, _: list[ir.Value]) -> list[ir.Value]:
                at = build.add(first, i)
                place = [part, shapes.load(keys, at)]
                number = memref.load(table, place)
                next_(at, number)
                memref.store(arith.addi(number, build.constant(build.i64(), 1)), table, place)
                return []

            flow.for_loop(own, [], body)

    counts = table()
    shapes.fill(build.constant(build.i64(), 0), counts)
    meet(counts, lambda _, number: None)
    counted = tensor_of(counts)

    def number(i: ir.Value) -> ir.Value:
        key = arith.divui(i, parts)
        return tensor.extract(counted, [build.sub(i, build.mul(key, parts)), key])

    starts = vectors.running(build.mul(count, parts), number)
    left, order = table(), room([size], build.i64())

    def start(_: list[ir.Value]) -> list[ir.Value]:
        return [tensor.extract(starts, [build.add(build.mul(loop_index(1), parts), loop_index(0))])]

    generic([], [left], [ir.AffineMap.get_identity(2)], ["parallel"] * 2, start)
    meet(left, lambda at, number: memref.store(build.to_i64(at), order, [build.to_index(number)]))
    offsets = vectors.generate(build.add(count, 1), lambda k: shapes.load(starts, build.mul(k, parts)))
    ctx.bind(op.results[0], Parts(ctx, shape_of(op.results[0].type), tensor_of(order), {("offsets", 1): offsets}, {}))


RULES = {"ragged.group_by": lower_group_by}
