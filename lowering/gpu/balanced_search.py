"""Searches for components: for one thread, and by a whole warp at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.gpu.shuffle import WARP
from ragged_dialect.lowering.gpu.thread_loops import below

_LT = 2

Ends = Callable[[Any], Any]
"""The place where a component ends; it never decreases from one component to the next."""


def ended(end: Ends, places: list[Any], low: Any, high: Any) -> list[Any]:
    """How many components end before each place, known to be from `low` to `high`."""

    def halve(state: list[Any]) -> list[Any]:
        size, *lows = state
        step = arith.divui(arith.addi(size, emit.value(1)), emit.value(2))
        found: list[Any] = []
        for first, place in zip(lows, places, strict=True):
            after = arith.addi(first, step)
            before = arith.cmpi(_LT, end(arith.subi(after, emit.value(1))), place)
            found.append(arith.select(before, after, first))
        return [arith.subi(size, step), *found]

    return emit.repeat([arith.subi(high, low), *(low for _ in places)], _more, halve)[1:]


def ended_by_warp(end: Ends, count: Any, places: list[Any], lane: Any) -> list[Any]:
    """How many of `count` components end before each place, for places that are the same in a whole warp:
    its lanes look at 32 components at a time."""
    last = arith.subi(count, emit.value(1))

    def narrow(state: list[Any]) -> list[Any]:
        size, *lows = state
        step = arith.divui(arith.addi(size, emit.value(WARP - 1)), emit.value(WARP))
        at = arith.subi(arith.muli(arith.addi(lane, emit.value(1)), step), emit.value(1))
        found: list[Any] = []
        for low, place in zip(lows, places, strict=True):
            component = arith.addi(low, at)
            before = arith.cmpi(_LT, end(emit.minimum(component, last)), place)
            lanes = _votes(arith.andi(before, below(component, count)))
            found.append(arith.addi(low, arith.muli(lanes, step)))
        return [arith.subi(step, emit.value(1)), *found]

    return emit.repeat([emit.maximum(count, 0), *(emit.value(0) for _ in places)], _more, narrow)[1:]


def _more(state: list[Any]) -> Any:
    """Whether there are components left to look at."""
    return arith.cmpi(_LT, emit.value(0), state[0])


def _votes(condition: Any) -> Any:
    """In how many lanes of the warp a condition holds."""
    i32 = ir.IntegerType.get_signless(32)
    votes = ir.Operation.create(
        "nvvm.vote.sync",
        results=[i32],
        operands=[emit.constant(i32, -1), condition],
        attributes={"kind": ir.Attribute.parse("#nvvm<vote_sync_kind ballot>")},
    ).results[0]
    return arith.index_castui(emit.index_type(), math.ctpop(votes))
