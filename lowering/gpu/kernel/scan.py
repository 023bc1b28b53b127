"""A loop of running sums on the threads of a block: offsets from lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import body_ops, made_by, terminator
from ragged_dialect.lowering.gpu.kernel.barriers import Access
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange
from ragged_dialect.lowering.gpu.kernel.shuffle import shuffle_up
from ragged_dialect.lowering.gpu.kernel.slots import keep, load
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded


@dataclass(frozen=True)
class RunningSum:
    """`for i { total += element(i); store total … }`: the loop, its addition and its ops."""

    loop: ir.Operation
    addition: ir.Operation
    element: ir.Value

    @staticmethod
    def of(loop: ir.Operation) -> RunningSum | None:
        """The parts of a loop that carries one sum and stores it; None for other loops."""
        block = loop.regions[0].blocks[0]
        if len(block.arguments) != 2:
            return None
        total = block.arguments[1]
        (result,) = terminator(block).operands
        addition = made_by(result, "arith.addi")
        if addition is None or total not in list(addition.operands):
            return None
        if len(list(total.uses)) != 1:
            return None
        a, b = addition.operands
        return RunningSum(loop, addition, b if a == total else a)

    def elements(self, i: ir.Value) -> ir.Value:
        """Emit what is added at i."""
        known: ValueMap = {self.loop.regions[0].blocks[0].arguments[0]: i}
        self._copy(known, lambda op: op.name != "memref.store" and op != self.addition)
        return known.get(self.element, self.element)

    def store(self, i: ir.Value, total: ir.Value) -> None:
        """Emit what is done with the sum at i."""
        known: ValueMap = {self.loop.regions[0].blocks[0].arguments[0]: i, self.addition.results[0]: total}
        self._copy(known, lambda op: op != self.addition)

    def _copy(self, known: dict[ir.Value, ir.Value], wanted: Callable[[ir.Operation], bool]) -> None:
        for op in body_ops(self.loop.regions[0].blocks[0]):
            if wanted(op):
                clone(op, known)


def emit_scan(scan: RunningSum, thread: ir.Value, exchange: Exchange) -> ir.Value:
    """Emit the loop before itself; the final total. Every thread takes part and gets it."""
    low, high, _, init = scan.loop.operands
    threads = exchange.kernel.threads
    totals = exchange.slots.totals(init.type)
    barriers = exchange.barriers
    barriers.before([Access.of(totals, True)])
    before_loop = barriers.pending[:-1]

    def body(base: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        first = build.add(base, build.mul(thread, DEVICE.thread_items))
        places = [build.value(build.add(first, k)) for k in range(DEVICE.thread_items)]
        sums = list(accumulate((_guarded(scan, i, high, init.type) for i in places), arith.addi))
        before, whole = _across(sums[-1], thread, totals, exchange)
        start = arith.addi(carried[0], before)
        for i, part in zip(places, sums, strict=True):
            guarded([build.below(i, high)], lambda i=i, part=part: scan.store(i, arith.addi(start, part)))
        barriers.wait()
        return [arith.addi(carried[0], whole)]

    (total,) = flow.strided(low, threads * DEVICE.thread_items, high, [init], body)
    # The last barrier of a loop that runs leaves nothing pending; one that runs no times leaves all that was.
    barriers.pending = before_loop
    return total


def _guarded(scan: RunningSum, i: ir.Value, high: ir.Value, type_: ir.Type) -> ir.Value:
    """The element at i, 0 past the end."""
    return flow.choose(build.below(i, high), lambda: [scan.elements(i)], lambda: [build.constant(type_, 0)], [type_])[0]


def _across(own: ir.Value, thread: ir.Value, totals: ir.Value, exchange: Exchange) -> tuple[ir.Value, ir.Value]:
    """Sum over the threads before this one, and over all."""
    lane = arith.remui(thread, build.value(DEVICE.warp))
    warp = arith.divui(thread, build.value(DEVICE.warp))
    zero = build.constant(own.type, 0)
    upto = own
    for distance in (1, 2, 4, 8, 16):
        other = shuffle_up(upto, distance)
        upto = arith.addi(upto, arith.select(build.below(lane, distance), zero, other))
    last = build.equal(lane, DEVICE.warp - 1)
    guarded([last], lambda: keep(upto, totals, warp))
    exchange.barriers.wait()
    before, whole = arith.subi(upto, own), zero
    for k in range(exchange.kernel.threads // DEVICE.warp):
        part = load(totals, build.value(k), own.type)
        earlier = build.above(warp, k)
        before = arith.addi(before, arith.select(earlier, part, zero))
        whole = arith.addi(whole, part)
    return before, whole
