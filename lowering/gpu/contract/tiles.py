"""Tiles of the rows of components, and which of them a block has.

The tiles of a component are T rows high, and those of component g start at tile `offsets[g] / T + g`: never fewer than
it needs, so that a block finds its component by a search in the offsets, with at most one tile to spare for each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.segmented.component_code import BodyCode
from ragged_dialect.lowering.gpu.segmented.warp_search import ended_by_warp


def at_most(rows: Mixed, components: Mixed, height: int) -> Mixed:
    """How many tiles there are at most."""
    return build.add(build.divide(rows, height), components)


@dataclass(frozen=True)
class Tiles:
    """Tiles of `height` rows. The first row of a component and the one after its last are `low` and `high` in the body
    of a forall, which `code` computes for any component."""

    code: BodyCode
    low: ir.Value
    high: ir.Value
    height: int

    def find(
        self, tile: ir.Value, count: Mixed, lane: ir.Value, work: Callable[[ir.Value, ir.Value, ir.Value], None]
    ) -> None:
        """Work on a tile, of whichever of `count` components it is: given the component, the tile's first row in it,
        and how many rows it has. Nothing where a component has no such tile."""
        components = build.value(count)

        def end(component: ir.Value) -> ir.Value:
            return build.add(self._first(component, self.high), 1)

        (component,) = ended_by_warp(end, components, [build.add(tile, 1)], lane)

        def on_component() -> None:
            known = self.code.at(component)
            row = arith.muli(arith.subi(tile, self._first(component, self.low)), build.value(self.height))
            length = arith.subi(self.code.value(self.high, known), self.code.value(self.low, known))
            guarded([build.less(row, length)], lambda: work(component, row, length))

        guarded([build.less(component, components)], on_component)

    def _first(self, component: ir.Value, offset: ir.Value) -> ir.Value:
        """The number of a component's first tile, or, of its end, of its last one."""
        return build.add(build.divide(self.code.value(offset, self.code.at(component)), self.height), component)
