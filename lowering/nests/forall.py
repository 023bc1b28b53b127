"""A forall over components that stays open while ops over the same components are added to it.

Consecutive ops over the same batch become one forall: an op that reads the result of an earlier
one reads this iteration's part of it, which is still in cache. Every result, also a temporary, is
a shared out of storage size, so nothing is allocated in the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.nests.forall_bounds import attributes
from ragged_dialect.lowering.scf.parts import Range

if TYPE_CHECKING:
    from ragged_dialect.lowering.scf.context import Lowering


@dataclass
class Slot:
    """A shared out: its initial tensor, the storage range of an iteration, and the tensor of that
    range as it is now in the body."""

    init: ir.Value
    ranges: list[Range]
    current: ir.Value


class OpenForall:
    """An `scf.forall` under construction: a block with the induction variables and one argument
    per shared out. `close` makes the op at the insertion point of that moment."""

    def __init__(self, ctx: Lowering, counts: Sequence[Mixed]) -> None:
        self.ctx = ctx
        self.counts = list(counts)
        self.operands, _ = build.split(counts)
        self.mapping = ctx.mapping
        self.slots: list[Slot] = []
        self.known: dict[Hashable, ir.Value] = {}
        self._callbacks: list[Callable[[], None]] = []
        self._results: list[ir.Value] | None = None
        self._draft = ir.Operation.create(
            "scf.forall", attributes=attributes(self.counts, 0), operands=self.operands, regions=1
        )
        self.block = self._draft.regions[0].blocks.append(*[build.index_type()] * len(counts))
        self.ivs = list(self.block.arguments)

    def add(self, init: ir.Value, ranges: list[Range]) -> int:
        """Add a shared out; the insertion point is in the body. Returns its slot."""
        argument = self.block.add_argument(init.type, ir.Location.current)
        part = shapes.extract_slice(argument, [r[0] for r in ranges], [r[1] for r in ranges], [True] * len(ranges))
        self.slots.append(Slot(init, ranges, part))
        return len(self.slots) - 1

    def on_close(self, callback: Callable[[], None]) -> None:
        """Call back once the results exist."""
        self._callbacks.append(callback)

    def result(self, slot: int) -> ir.Value:
        """The whole tensor of a slot; closes the forall."""
        if self._results is None:
            self.ctx.close()
        assert self._results is not None
        return self._results[slot]

    def close(self) -> None:
        """Make the op, with the body built so far."""
        inits = [slot.init for slot in self.slots]
        final = ir.Operation.create(
            "scf.forall",
            results=[init.type for init in inits],
            operands=[*self.operands, *inits],
            attributes={**attributes(self.counts, len(inits)), **self.mapping},
            regions=1,
        )
        arguments = list(self.block.arguments)[len(self.ivs) :]
        with ir.InsertionPoint(self.block):
            terminator = ir.Operation.create("scf.forall.in_parallel", regions=1)
            inner = terminator.regions[0].blocks.append()
            with ir.InsertionPoint(inner):
                for slot, argument in zip(self.slots, arguments, strict=True):
                    offsets, sizes = [r[0] for r in slot.ranges], [r[1] for r in slot.ranges]
                    shapes.insert_in_parallel(slot.current, argument, offsets, sizes)
        self.block.append_to(final.regions[0])
        self._draft.erase()
        self._results = list(final.results)
        for callback in self._callbacks:
            callback()
