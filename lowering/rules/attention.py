"""ragged.attention on the CPU: a forall over blocks of queries, of whatever component and each with all heads."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import view_of
from ragged_dialect.lowering.attention_kernel import Block, Kernel
from ragged_dialect.lowering.context import Lowering
from ragged_dialect.lowering.forall import OpenForall
from ragged_dialect.lowering.micro_kernel import RegisterBlock
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.ops.attention import AttentionOp, groups, wide
from ragged_dialect.shape import RaggedShape
from ragged_dialect.types import shape_of, storage_type


def lower_attention(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.attention: blocks of as many queries as there are lanes. The blocks of component b begin with number
    offsets[b] / lanes + b, which rises with b: no prefix sum, and at most one block of a component is empty."""
    q, k, v = map(ctx.parts, op.operands)
    if q.shape.shape[3] is None or v.shape.shape[3] is None:
        raise LayoutError("expected static head dims (run ragged-decompose-attention)")
    lanes = RegisterBlock.of(wide(q.element)).lanes
    outs = [_out(ctx, q, result) for result in op.results if result == op.results[0] or len(list(result.uses))]
    inputs = [x.values for x in (q, k, v)]
    ctx.close()
    blocks = build.add(build.divide(q.storage_dim(0), lanes), q.parents(1))
    forall = OpenForall(ctx, [blocks])
    with ir.InsertionPoint(forall.block), ctx.scope(forall.known):
        kernel = Kernel(view_of(op, AttentionOp), inputs)
        block = _block(q, k, v, forall.ivs[0], lanes, kernel.visible.end)
        heads = q.extent(2)
        for out in outs:
            forall.add(out.values, [(block.row, block.count), *((0, n) for n in out.storage_dims()[1:])])
        group = groups(q.shape, k.shape)

        def each(head: ir.Value, made: list[ir.Value]) -> list[ir.Value]:
            return kernel.run(block, head, build.divide(head, group), made[0], made[1] if len(made) > 1 else None)

        busy = arith.select(build.more(block.count, 0), build.value(heads), build.value(0))
        made = flow.for_loop(busy, [slot.current for slot in forall.slots], each)
        for slot, value in zip(forall.slots, made, strict=True):
            slot.current = value
    forall.close()
    for number, (out, result) in enumerate(zip(outs, op.results, strict=False)):
        ctx.bind(result, out.replace(forall.result(number)))


def _out(ctx: Lowering, q: Parts, result: ir.Value) -> Parts:
    """Storage of a result, of the structure of the queries."""
    shape, element = shape_of(result.type), result.type.element_type
    sizes: list[Mixed] = [q.storage_dim(0), q.extent(2)]
    if shape.rank == 4:
        assert shape.shape[3] is not None
        sizes.append(shape.shape[3])
    values = shapes.cast(shapes.empty(sizes, element), storage_type(shape, element))
    return Parts(ctx, RaggedShape(shape.layout, shape.shape), values, dict(q.vectors), {}, {})


def _block(q: Parts, k: Parts, v: Parts, number: ir.Value, lanes: int, end: bool) -> Block:
    """The block of queries of a number, found by bisection; of none where the component has no such block."""
    offsets = q.vectors["offsets", 1]

    def first(b: Mixed) -> ir.Value:
        return build.add(build.divide(shapes.load(offsets, b), lanes), b)

    def halve(state: list[ir.Value]) -> list[ir.Value]:
        middle = build.divide(build.add(state[0], state[1]), 2)
        before = build.at_most(first(middle), number)
        return [arith.select(before, middle, state[0]), arith.select(before, state[1], middle)]

    ends = [build.value(0), build.value(q.parents(1))]
    component = flow.repeat(ends, lambda s: build.more(build.sub(s[1], s[0]), 1), halve)[0]
    start, length = q.component(1, component)
    place = build.minimum(build.mul(build.sub(number, first(component)), build.value(lanes)), length)
    count = build.minimum(build.sub(build.value(length), place), lanes)
    key, keys = k.component(1, component)
    shift = build.sub(keys, length) if end else 0
    place, row, count = map(build.value, (place, build.add(start, place), count))
    return Block(place, row, count, key, v.component(1, component)[0], keys, shift)


RULES = {"ragged.attention": lower_attention}
