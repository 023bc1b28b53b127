"""Rows and component ends as one sequence, which is cut into equal pieces.

Item by item the sequence has the rows of component 0, its end, the rows of component 1, its end, …
A row and an end cost about the same, so equal pieces are equal work, whether components are long,
short or empty. The end of component c is item `high(c) + c`, its first row (or its end, when it is
empty) item `low(c) + c`, where rows count from the first component's first one.
"""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.gpu.balanced_component import ComponentCode
from ragged_dialect.lowering.gpu.balanced_loops import repeat
from ragged_dialect.lowering.gpu.shuffle import WARP
from ragged_dialect.lowering.gpu.thread_loops import below

_LT = 2


class MergedItems:
    """The sequence of `count` components, at the insertion point."""

    def __init__(self, code: ComponentCode, count: Any) -> None:
        self.code = code
        self.count = count
        self.base = code.low(emit.value(0))
        self.rows_end = code.low(count)

    def start(self, component: Any) -> Any:
        """The item of a component's first row; also for the one after the last."""
        return arith.addi(arith.subi(self.code.low(component), self.base), component)

    def end(self, component: Any) -> Any:
        """The item of a component's end."""
        return arith.addi(arith.subi(self.code.high(component), self.base), component)

    def row(self, item: Any, component: Any) -> Any:
        """The first row from an item on, given how many components end before it."""
        return emit.minimum(arith.addi(self.base, arith.subi(item, component)), self.rows_end)

    def ended(self, items: list[Any], low: Any, high: Any) -> list[Any]:
        """How many components end before each item, known to be from `low` to `high`."""

        def halve(state: list[Any]) -> list[Any]:
            size, *lows = state
            step = arith.divui(arith.addi(size, emit.value(1)), emit.value(2))
            found: list[Any] = []
            for first, item in zip(lows, items, strict=True):
                after = arith.addi(first, step)
                before = arith.cmpi(_LT, self.end(arith.subi(after, emit.value(1))), item)
                found.append(arith.select(before, after, first))
            return [arith.subi(size, step), *found]

        return repeat([arith.subi(high, low), *(low for _ in items)], _more, halve)[1:]

    def ended_by_warp(self, items: list[Any], lane: Any) -> list[Any]:
        """How many components end before each item, for items that are the same in a whole warp: its
        lanes look at 32 places at a time."""
        last = arith.subi(self.count, emit.value(1))

        def narrow(state: list[Any]) -> list[Any]:
            size, *lows = state
            step = arith.divui(arith.addi(size, emit.value(WARP - 1)), emit.value(WARP))
            at = arith.subi(arith.muli(arith.addi(lane, emit.value(1)), step), emit.value(1))
            found: list[Any] = []
            for low, item in zip(lows, items, strict=True):
                place = arith.addi(low, at)
                before = arith.cmpi(_LT, self.end(emit.minimum(place, last)), item)
                lanes = _count(arith.andi(before, below(place, self.count)))
                found.append(arith.addi(low, arith.muli(lanes, step)))
            return [arith.subi(step, emit.value(1)), *found]

        size = emit.maximum(self.count, 0)
        return repeat([size, *(emit.value(0) for _ in items)], _more, narrow)[1:]


def _more(state: list[Any]) -> Any:
    """Whether there are places left to look at."""
    return arith.cmpi(_LT, emit.value(0), state[0])


def _count(condition: Any) -> Any:
    """In how many lanes of the warp a condition holds."""
    i32 = ir.IntegerType.get_signless(32)
    votes = ir.Operation.create(
        "nvvm.vote.sync",
        results=[i32],
        operands=[emit.constant(i32, -1), condition],
        attributes={"kind": ir.Attribute.parse("#nvvm<vote_sync_kind ballot>")},
    ).results[0]
    return arith.index_castui(emit.index_type(), math.ctpop(votes))
