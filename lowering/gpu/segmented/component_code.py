"""The body of a forall over components as code for whichever component a kernel has got to."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import definer, defining_op
from ragged_dialect.ir.walk import captures
from ragged_dialect.lowering.buffers.subviews import extent
from ragged_dialect.lowering.gpu.kernel.combiner import Combiner, combiner_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.segmented.component_rows import Components, Iterations, RowWork

Known = dict[ir.Value, ir.Value]
"""Values of a body and what stands for them elsewhere."""


class BodyCode:
    """Computes values of the body again, at the insertion point. `inside` has what stands for values
    from outside of the forall; those it lacks stand for themselves."""

    def __init__(self, found: Iterations, inside: Known) -> None:
        self.found = found
        self.inside = inside
        self.whole: Known = {}

    def at(self, component: ir.Value) -> Known:
        """What is known at a component."""
        return {self.found.component: component}

    def value(self, x: ir.Value, known: Known) -> ir.Value:
        """A value, computed from what is known; `known` has it and what led to it afterwards."""
        if x not in known:
            op = defining_op(x)
            if op is None or op.block != self.found.body:
                return self.inside.get(x, x)
            self.copy(op, known)
        return known[x]

    def copy(self, op: ir.Operation, known: Known) -> ir.Operation:
        """A copy of an op of the body, computed from what is known; `known` has its results afterwards."""
        copy = clone(op, {x: self.value(x, known) for x in captures([op])})
        known.update(zip(op.results, copy.results, strict=True))
        return copy

    @contextmanager
    def placed(self, op: ir.Operation, component: ir.Value) -> Generator[GenericOp]:
        """A generic with the operands that it has at a component, until the context ends."""
        copy = self.copy(op, {**self.at(component), **self.whole})
        try:
            yield GenericOp(copy)
        finally:
            copy.erase()


class ComponentCode(BodyCode):
    """Code for components that have rows."""

    found: Components

    def low(self, component: ir.Value) -> ir.Value:
        """The first row of a component; also of the one after the last, where there are no rows left."""
        return self.value(self.found.low, self.at(component))

    def high(self, component: ir.Value) -> ir.Value:
        """The row after the last one of a component."""
        return self.value(self.found.high, self.at(component))

    def widen(self, reduction: RowWork) -> list[ir.Value]:
        """Have the rows of all components where a reduction has those of one, from the insertion point
        on: row numbers count from the start of the buffers then. The number of rows of each."""
        counts: list[ir.Value] = []
        operands = list(reduction.op.operands)
        for k, dim in reduction.rows.items():
            view = operands[k]
            source = self.value(definer(view).operands[0], {})
            counts.append(build.value(extent(source, dim)))
            self.whole[view] = self.value(view, {self.found.low: build.value(0), self.found.length: counts[-1]})
        return counts


@dataclass(frozen=True)
class PlacedReduction:
    """A reduction at a component, and the combiners of its outs."""

    generic: GenericOp
    combiners: tuple[Combiner, ...]

    @staticmethod
    def of(generic: GenericOp) -> PlacedReduction:
        """The combiners of a reduction that has one for every out."""
        found = [combiner_of(generic, out) for out in range(len(generic.outs))]
        return PlacedReduction(generic, tuple(c for c in found if c is not None))

    @property
    def skipped(self) -> list[ir.Operation]:
        """Ops of the payload that combine."""
        return [op for combiner in self.combiners for op in combiner.ops]


def captured(found: Iterations, ops: list[ir.Operation], values: list[Mixed]) -> list[ir.Value]:
    """Values from outside of the forall that code for some ops of its body and for some values uses, in order
    of first use."""
    seen: dict[ir.Operation, None] = {}
    outside: dict[ir.Value, None] = {}

    def need(x: ir.Value) -> None:
        op = defining_op(x)
        if op is not None and op.block == found.body:
            visit(op)
        elif x != found.component:
            outside.setdefault(x)

    def visit(op: ir.Operation) -> None:
        if op not in seen:
            seen[op] = None
            for x in captures([op]):
                need(x)

    for op in ops:
        visit(op)
    for x in values:
        if isinstance(x, ir.Value):
            need(x)
    return list(outside)
