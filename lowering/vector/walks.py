"""Loops without a known end inside loops of vectors: all lanes take as many steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import body_ops, terminator


@dataclass(frozen=True)
class Walk:
    """An `scf.while` that goes on, or ends, for all iterations of the loop around it at once, as a search that halves
    what is left of a table does; `varying` are its values that are different for each of these."""

    loop: ir.Operation
    varying: frozenset[ir.Value]

    @property
    def state(self) -> list[ir.Value]:
        """What it carries, as its condition has it."""
        return list(self.loop.regions[0].blocks[0].arguments)

    @staticmethod
    def of(loop: ir.Operation, varies: Callable[[ir.Value], bool]) -> Walk | None:
        """What a loop does, by which values from before it vary; None where its iterations end apart, or where the
        condition hands on something else than what there is so far."""
        before, after = (region.blocks[0] for region in loop.regions)
        goes_on, *handed = terminator(before).operands
        if handed != list(before.arguments):
            return None
        carried = list(terminator(after).operands)
        varying = {k for k, x in enumerate(loop.operands) if varies(x)}
        while True:
            found = {argument[k] for argument in (list(before.arguments), list(after.arguments)) for k in varying}
            for op in (*body_ops(before), *body_ops(after)):
                if any(x in found or varies(x) for x in op.operands):
                    found |= set(op.results)
            more = {k for k, x in enumerate(carried) if x in found or varies(x)}
            if more <= varying:
                break
            varying |= more
        results = {x for k, x in enumerate(loop.results) if k in varying}
        return None if goes_on in found or varies(goes_on) else Walk(loop, frozenset(found | results))
