"""A loop that folds into one index, on the threads of a block: threads take turns, then combine."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.combiners import neutral_constant
from ragged_dialect.lowering.gpu.kernel.barriers import Access
from ragged_dialect.lowering.gpu.kernel.combiner import folds
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange


def emit_fold(loop: ir.Operation, thread: ir.Value, exchange: Exchange) -> ir.Value:
    """Emit a loop marked `flow.FOLD` before itself; its result, in every thread."""
    apply, neutral = folds(loop.attributes[flow.FOLD].value)
    low, high, _, init = loop.operands
    exchange.barriers.before([Access.of(load.operands[0], False) for load in find_ops(loop, "memref.load")])

    # a search starts from -1, which is all ones: the largest unsigned index
    start = neutral_constant(init.type, neutral)
    step = exchange.kernel.threads
    first = arith.addi(low, thread)
    carried = [start]
    if flow.FEW not in loop.attributes:
        turns = arith.divui(build.maximum(build.add(build.sub(high, first), step - 1), 0), build.value(step))
        batches = arith.divui(turns, build.value(DEVICE.thread_items))
        batch = step * DEVICE.thread_items
        middle = arith.addi(first, build.mul(batches, batch))
        carried = flow.strided(first, batch, middle, carried, lambda i, c: _several(loop, i, step, c))
        first = middle
    carried = flow.strided(first, step, high, carried, lambda i, c: _iteration(loop, i, c))
    (whole,) = exchange.combine(carried, [apply], [(1, step)])
    return apply(whole, init)


def _several(loop: ir.Operation, i: ir.Value, step: int, carried: list[ir.Value]) -> list[ir.Value]:
    """Some iterations that a thread does one after the other."""
    for k in range(DEVICE.thread_items):
        carried = _iteration(loop, build.add(i, k * step), carried)
    return carried


def _iteration(loop: ir.Operation, i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
    """A copy of the loop's body; the carried values after it."""
    block = loop.regions[0].blocks[0]
    known: ValueMap = dict(zip(block.arguments, [i, *carried], strict=True))
    *body, last = [op.operation for op in block.operations]
    for op in body:
        clone(op, known)
    return [known.get(x, x) for x in last.operands]
