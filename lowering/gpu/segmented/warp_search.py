"""The component of a row, by a search of a warp, in as many parts as it has lanes."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.lowering.search import Ends, more


def ended_by_warp(end: Ends, count: ir.Value, places: list[ir.Value], lane: ir.Value) -> list[ir.Value]:
    """How many of `count` components end before each place, for places that are the same in a whole warp:
    its lanes look at 32 components at a time."""
    last: ir.Value = arith.subi(count, build.value(1))

    def narrow(state: list[ir.Value]) -> list[ir.Value]:
        size, *lows = state
        step = arith.divui(arith.addi(size, build.value(DEVICE.warp - 1)), build.value(DEVICE.warp))
        at = arith.subi(arith.muli(arith.addi(lane, build.value(1)), step), build.value(1))
        found: list[ir.Value] = []
        for low, place in zip(lows, places, strict=True):
            component: ir.Value = arith.addi(low, at)
            before = build.less(end(build.minimum(component, last)), place)
            lanes = _votes(arith.andi(before, build.below(component, count)))
            found.append(arith.addi(low, arith.muli(lanes, step)))
        return [arith.subi(step, build.value(1)), *found]

    return flow.repeat([build.maximum(count, 0), *(build.value(0) for _ in places)], more, narrow)[1:]


def _votes(condition: ir.Value) -> ir.Value:
    """In how many lanes of the warp a condition holds."""
    i32 = ir.IntegerType.get_signless(32)
    votes = build.made("nvvm.vote.sync", i32, build.constant(i32, -1), condition, kind="#nvvm<vote_sync_kind ballot>")
    return arith.index_castui(build.index_type(), math.ctpop(votes))
