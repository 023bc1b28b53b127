"""Where long components are: at rows that are so far apart that each of them has one."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.lowering.search import ended
from ragged_dialect.lowering.skew.runtime import SHARES


@dataclass(frozen=True)
class Places:
    """Where long components are looked for: at `number` rows, `most` from one another, of which each component of more
    rows than that has one. `count` is the number of components, whose rows begin with `first`."""

    offsets: ir.Value
    count: ir.Value
    first: ir.Value
    most: ir.Value
    number: ir.Value

    @staticmethod
    def of(offsets: ir.Value, count: ir.Value, least: int) -> Places:
        """The places, at the insertion point: none where all components together have no more than `least` rows."""
        first = _offset(offsets, build.value(0))
        total = build.sub(_offset(offsets, count), first)
        most = build.value(build.maximum(least, build.divide(total, SHARES)))
        number = build.value(build.add(build.divide(total, most), 1))
        return Places(offsets, count, first, most, arith.select(build.more(total, most), number, build.value(0)))

    def component(self, place: ir.Value) -> list[ir.Value]:
        """The component that has the row of a place, and how many rows it has."""
        row = build.add(build.add(build.mul(place, self.most), self.first), 1)
        last = build.value(build.sub(self.count, 1))
        (component,) = ended(self._end, [build.value(row)], build.value(0), last)
        return [component, build.value(build.sub(self._end(component), _offset(self.offsets, component)))]

    def _end(self, component: ir.Value) -> ir.Value:
        return _offset(self.offsets, build.value(build.add(component, 1)))


def _offset(offsets: ir.Value, at: ir.Value) -> ir.Value:
    return build.to_index(memref.load(offsets, [at]))
