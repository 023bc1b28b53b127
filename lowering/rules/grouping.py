"""The rule of the op that groups elements by keys."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.match import view_of
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.ops.grouping import GroupByOp
from ragged_dialect.types import shape_of


def lower_group_by(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.group_by: the histogram, its running sums, then every index to the place that is left first."""
    view = view_of(op, GroupByOp)
    keys = shapes.as_vector(view.keys)
    size = shapes.dim(keys, 0)
    one = build.constant(build.i64(), 1)

    def count(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        key = shapes.load(keys, i)
        return [tensor.insert(arith.addi(tensor.extract(state[0], [key]), one), state[0], [key])]

    zeros = shapes.fill(build.constant(build.i64(), 0), shapes.empty([build.to_index(view.count)], build.i64()))
    (lengths,) = flow.for_loop(size, [zeros], count)
    offsets = vectors.scan(lengths)

    def place(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        key = shapes.load(keys, i)
        left = tensor.extract(state[1], [key])
        at = build.sub(shapes.load(offsets, build.add(key, 1)), build.to_index(left))
        order = tensor.insert(build.to_i64(i), state[0], [build.value(at)])
        return [order, tensor.insert(arith.subi(left, one), state[1], [key])]

    order, _ = flow.for_loop(size, [shapes.empty([build.value(size)], build.i64()), lengths], place)
    made = {("offsets", 1): offsets}
    ctx.bind(op.results[0], Parts(ctx, shape_of(op.results[0].type), order, made, {}))


RULES = {"ragged.group_by": lower_group_by}
