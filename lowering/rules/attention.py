"""Attention and its derivatives. On the CPU they are a forall over blocks of rows, of whatever component and each
with all heads; on a GPU attention is a call for each component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from ragged_dialect._mlir import arith, ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import view_of
from ragged_dialect.lowering.attention import HEAD_DIMS
from ragged_dialect.lowering.attention.backward import Backward
from ragged_dialect.lowering.attention.blocks import Block
from ragged_dialect.lowering.attention.call import Operands, lower_to_call
from ragged_dialect.lowering.attention.few import Few
from ragged_dialect.lowering.attention.forward import Forward
from ragged_dialect.lowering.attention.lanes import Lanes, blocks_of
from ragged_dialect.lowering.attention.tiles import TiledForward
from ragged_dialect.lowering.nests.forall import OpenForall
from ragged_dialect.lowering.products.micro_kernel import RegisterBlock
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.search import owner
from ragged_dialect.ops.attention import Attention, AttentionOp, AttentionVjp, AttentionVjpQOp, groups, wide
from ragged_dialect.types import shape_of, storage_type

Run = Callable[[Block, ir.Value, list[ir.Value]], list[ir.Value]]
"""Makes one head of a block, given the tensors of its rows: these with the results in."""

Kernel: TypeAlias = "tuple[Run, Few | None]"
"""What makes a head of a block, and all heads of a block of few rows, if there is such."""


def lower_attention(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.attention: queries along the lanes, or a call that tensor cores do."""
    found = view_of(op, AttentionOp)
    q, k, v = map(ctx.parts, (found.q, found.k, found.v))
    if ctx.tensor_cores:
        _call(ctx, op, Operands([q], [k, v]))
        return

    tiles = ctx.registers is not None and ctx.registers.tiles and found.q.type.element_type == ir.BF16Type.get()
    kind = TiledForward if tiles else Forward

    def kernel(blocks: int) -> Kernel:
        made = kind(found, q.values, k.values, v.values, blocks)
        group = groups(q.shape, k.shape)

        def run(block: Block, head: ir.Value, outs: list[ir.Value]) -> list[ir.Value]:
            return made.run(block, head, build.divide(head, group), outs[0], outs[1] if len(outs) > 1 else None)

        few = Few(made, group)
        return run, few if few.rows else None

    _lower(ctx, op, q, (k, v), (q, v), kernel, kind.isa)


def lower_vjp(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.attention_vjp_q and ragged.attention_vjp_kv: queries along the lanes, or keys, which meet all heads of
    queries of their group."""
    found = view_of(op, AttentionVjp)
    q, k, v = map(ctx.parts, (found.q, found.k, found.v))
    lse, upstream, delta = map(ctx.parts, (found.lse, found.upstream, found.delta))
    queries, of_queries, of_keys = isinstance(found, AttentionVjpQOp), (q, upstream), (k, v)
    own, others = (of_queries, of_keys) if queries else (of_keys, of_queries)
    if ctx.tensor_cores:
        _call(ctx, op, Operands([*own], [*others], [lse, delta]))
        return

    def kernel(blocks: int) -> Kernel:
        rows, met, saved = ((a.values, b.values) for a, b in (own, others, (lse, delta)))
        made = Backward(found, rows, met, saved, queries, not queries and len(_used(op)) > 1, blocks)
        group = groups(q.shape, k.shape)
        if queries:
            return lambda block, head, outs: made.run(block, head, build.divide(head, group), 1, outs), None
        return lambda block, head, outs: made.run(block, head, build.mul(head, group), group, outs), None

    _lower(ctx, op, own[0], others, (*own, q) if queries else (*own, *own), kernel)


def _used(op: ir.Operation) -> list[ir.Value]:
    """The results that are made: the first one, and what is read."""
    return [r for r in op.results if r == op.results[0] or len(list(r.uses))]


def _call(ctx: Lowering, op: ir.Operation, operands: Operands) -> None:
    """A call that tensor cores do."""
    _require_head_dims([operands.own[0], *operands.others])
    own, results = operands.own[0], _used(op)
    rooms = {ir.OpResult(r).result_number: _room(own, r) for r in results}
    made = lower_to_call(ctx, view_of(op, Attention), operands, rooms)
    for result, values in zip(results, made, strict=True):
        ctx.bind(result, _of_rows(ctx, own, result, values))


def _lower(
    ctx: Lowering, op: ir.Operation, own: Parts, others: tuple[Parts, Parts], kept: Sequence[Parts],
    kernel: Callable[[int], Kernel], isa: str = Lanes.isa,
) -> None:  # fmt: skip
    """A forall over rows of `own`, each time of one component and as many as there are lanes in the blocks that share a
    tile, given what a block keeps. Those of component b begin with number offsets[b] / rows + b, which rises with b: no
    prefix sum, and at most one of a component is empty."""
    _require_head_dims([own, *others], HEAD_DIMS)
    regs = RegisterBlock.of(wide(own.element), isa)
    blocks = blocks_of(regs, [x.shape.shape[3] or 0 for x in kept])
    rows = blocks * regs.lanes
    end = view_of(op, Attention).visible.end
    results = _used(op)
    outs = [_of_rows(ctx, own, result, shapes.empty(*_room(own, result))) for result in results]
    ctx.close()
    forall = OpenForall(ctx, [build.add(build.divide(own.storage_dim(0), rows), own.parents(1))])
    with ir.InsertionPoint(forall.block), ctx.scope(forall.known):
        run, few = kernel(blocks)
        block = _block(own, others, forall.ivs[0], rows, end)
        heads = own.extent(2)
        for out in outs:
            forall.add(out.values, [(block.row, block.count), *((0, n) for n in out.storage_dims()[1:])])
        busy = arith.select(build.more(block.count, 0), build.value(heads), build.value(0))
        current = [slot.current for slot in forall.slots]

        def by_head() -> list[ir.Value]:
            return flow.for_loop(busy, current, lambda head, outs: run(block, head, outs))

        if few is None:
            made = by_head()
        else:
            types = [x.type for x in current]
            made = flow.choose(build.at_most(block.count, few.rows), lambda: few.run(block, current), by_head, types)
        for slot, value in zip(forall.slots, made, strict=True):
            slot.current = value
    forall.close()
    for number, (out, result) in enumerate(zip(outs, results, strict=True)):
        ctx.bind(result, out.replace(forall.result(number)))


def _require_head_dims(read: Sequence[Parts], most: int | None = None) -> None:
    """LayoutError where an extent of features is not known, or is larger than a kernel has."""
    dims = [x.shape.shape[3] for x in read]
    if None in dims:
        raise LayoutError("expected static head dims (run ragged-decompose-attention)")
    if most is not None and max(dim or 0 for dim in dims) > most:
        raise LayoutError(f"expected head dims of at most {most}, got {dims} (run ragged-decompose-attention)")


def _room(own: Parts, result: ir.Value) -> tuple[list[Mixed], ir.Type]:
    """Extents and elements of the storage of a result, of the structure of the rows `own`."""
    shape = shape_of(result.type)
    sizes: list[Mixed] = [own.storage_dim(0), own.extent(2)]
    if shape.rank == 4:
        assert shape.shape[3] is not None
        sizes.append(shape.shape[3])
    return sizes, result.type.element_type


def _of_rows(ctx: Lowering, own: Parts, result: ir.Value, values: ir.Value) -> Parts:
    """A result with these values, of the structure of the rows `own`."""
    shape = shape_of(result.type)
    values = shapes.cast(values, storage_type(shape, result.type.element_type))
    return Parts(ctx, shape, values, dict(own.vectors), {})


def _block(own: Parts, others: tuple[Parts, Parts], number: ir.Value, rows: int, end: bool) -> Block:
    """The block of rows of a number; of none where the component has no such block."""
    offsets = own.vectors["offsets", 1]

    def first(b: ir.Value) -> ir.Value:
        return build.add(build.divide(shapes.load(offsets, b), rows), b)

    component = owner(first, number, build.sub(own.parents(1), 1))
    start, length = own.component(1, component)
    place = build.minimum(build.mul(build.sub(number, first(component)), build.value(rows)), length)
    count = build.minimum(build.sub(build.value(length), place), rows)
    (first_row, many), (second_row, _) = (x.component(1, component) for x in others)
    shift = build.sub(many, length) if end else 0
    is_last = build.at_least(build.add(place, count), length)
    place, row, count = map(build.value, (place, build.add(start, place), count))
    return Block(component, place, row, count, is_last, (first_row, second_row), many, shift)


def lower_jvp(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.attention_jvp: there is no kernel. LayoutError."""
    raise LayoutError("expected attention with a kernel, got its tangents (run ragged-decompose-attention)")


RULES = {
    "ragged.attention": lower_attention,
    "ragged.attention_jvp": lower_jvp,
    "ragged.attention_vjp_q": lower_vjp,
    "ragged.attention_vjp_kv": lower_vjp,
}
