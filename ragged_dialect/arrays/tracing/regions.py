"""Functions of users that become regions of ops: traced with values that stand for what the region is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.errors import TraceError
from ragged_dialect.ir import build
from ragged_dialect.ir.match import blocks_of, definer
from ragged_dialect.ir.walk import made_with, ops_in

Made = TypeVar("Made")


class Region:
    """What a function makes of its stand-ins moves into an op; what it makes of anything else is computed once, before
    that. `what` are the stand-ins, in errors."""

    def __init__(self, trace: Trace, what: str) -> None:
        self._trace = trace
        self._op = trace.op
        self._what = what
        self._block = ir.InsertionPoint.current.block
        self._before = len(list(self._block.operations))
        self._noted = list(trace.ending), dict(trace.reshaped), dict(trace.inserted)
        self._stand_ins: list[ir.Value] = []
        self._ops: list[ir.Operation] = []

    def stand_in(self, value: ir.Value, type_: ir.Type | None = None) -> ir.Value:
        """What stands for an argument of the region, of the type of a value or another one."""
        self._stand_ins.append(build.stand_in(type_ or value.type, value))
        return self._stand_ins[-1]

    def called(self, function: Callable[[], Made]) -> Made:
        """Call a function of a user's in which operations are traced as in the one around it."""
        extents = dict(self._trace.extents)  # numbers of the region are not for others
        with self._trace.changed(inside_operation=False, extents=extents):
            return function()

    def close(self) -> None:
        """All that belongs to the region is made."""
        self._ops += made_with(self._stand_ins, list(self._block.operations)[self._before :])

    def filled(self, arguments: Sequence[ir.Value], values: Sequence[ir.Value]) -> list[ir.Value]:
        """Move what belongs to the region to the insertion point, where it has arguments; some values there."""
        here = ir.InsertionPoint.current.block
        known = dict(zip(self._stand_ins, arguments, strict=True))
        for stand_in, argument in known.items():
            stand_in.replace_all_uses_with(argument)
        for op in self._ops:
            here.append(op)
        return [known.get(x, x) for x in values]

    def drop(self) -> None:
        """Erase what belongs to the region, and forget what is known of it."""
        self._trace.ending, self._trace.reshaped, self._trace.inserted = self._noted
        self.close()
        for op in reversed(self._ops):
            op.erase()
        for stand_in in self._stand_ins:
            definer(stand_in).erase()

    def end(self, op: ir.Operation) -> None:
        """Erase the stand-ins, with all traced. TraceError where somebody has kept what is inside `op`."""
        inside = ops_in(op)
        known = set(inside)
        made = [x for inner in inside[1:] for x in inner.results]  # also what was made of it later, behind it
        made += self._stand_ins
        made += [x for block in blocks_of(op) for x in block.arguments]
        if any(use.owner.operation not in known for x in made for use in x.uses):
            text = f"expected what is made of {self._what} in the function, got it outside of that"
            raise TraceError(f"{self._op}: {text}")
        for stand_in in self._stand_ins:
            definer(stand_in).erase()
