"""The component of a row, by a search in halves."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed

Ends = Callable[[ir.Value], ir.Value]
"""The place where a component ends; it never decreases from one component to the next."""


def ended(end: Ends, places: list[ir.Value], low: ir.Value, high: ir.Value) -> list[ir.Value]:
    """How many components end before each place, known to be from `low` to `high`."""

    def halve(state: list[ir.Value]) -> list[ir.Value]:
        size, *lows = state
        step = arith.divui(arith.addi(size, build.value(1)), build.value(2))
        found: list[ir.Value] = []
        for first, place in zip(lows, places, strict=True):
            after = arith.addi(first, step)
            before = build.less(end(arith.subi(after, build.value(1))), place)
            found.append(arith.select(before, after, first))
        return [arith.subi(size, step), *found]

    return flow.repeat([arith.subi(high, low), *(low for _ in places)], more, halve)[1:]


def owner(first: Callable[[ir.Value], ir.Value], number: ir.Value, count: Mixed) -> ir.Value:
    """The component that has a number, of which there are `count` at most: those of component g begin with `first(g)`,
    which never decreases."""
    (component,) = ended(lambda g: first(build.add(g, 1)), [build.add(number, 1)], build.value(0), build.value(count))
    return component


def more(state: list[ir.Value]) -> ir.Value:
    """Whether there are components left to look at."""
    return build.less(0, state[0])
