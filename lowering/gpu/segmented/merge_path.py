"""Merge-path: rows and component ends merged into one sequence, which is cut into equal tiles (Merrill and Garland,
Merge-based Parallel Sparse Matrix-Vector Multiplication, 2016).

Item by item the sequence has the rows of component 0, its end, the rows of component 1, its end, …
A row and an end cost about the same, so equal tiles are equal work, whether components are long,
short or empty. The end of component c is item `high(c) + c`, its first row (or its end, when it is
empty) item `low(c) + c`, where rows count from the first component's first one.
"""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode


class MergedItems:
    """The sequence of `count` components, at the insertion point."""

    def __init__(self, code: ComponentCode, count: ir.Value) -> None:
        self.code = code
        self.count = count
        self.base = code.low(build.value(0))
        self.rows_end = code.low(count)

    def start(self, component: ir.Value) -> ir.Value:
        """The item of a component's first row; also for the one after the last."""
        return arith.addi(arith.subi(self.code.low(component), self.base), component)

    def end(self, component: ir.Value) -> ir.Value:
        """The item of a component's end."""
        return arith.addi(arith.subi(self.code.high(component), self.base), component)

    def row(self, item: ir.Value, component: ir.Value) -> ir.Value:
        """The first row from an item on, given how many components end before it."""
        row: ir.Value = arith.addi(self.base, arith.subi(item, component))
        return build.minimum(row, self.rows_end)
