"""Loops with the mark `flow.FOLD`: what of an index vector they come to, which parts of it may be combined to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.kinds import neutral_constant
from ragged_dialect.passes.base import PassFailure

_FOLDS: dict[str, tuple[Callable[[ir.Value, ir.Value], ir.Value], float | str]] = {
    "search": (arith.minui, "ones"),  # the smallest unsigned index
    "addi": (arith.addi, 0),
    "add_unsigned": (build.add_unsigned, 0),
    "maxsi": (arith.maxsi, "lowest"),
    "scan": (arith.addi, 0),
}


@dataclass(frozen=True)
class Fold:
    """What a loop with the mark `flow.FOLD` folds."""

    kind: str
    few: bool

    @staticmethod
    def of(loop: ir.Operation) -> Fold | None:
        """The mark of a loop, None where it has none, or nothing to fold. PassFailure for another mark, and for one on
        a loop that does not carry one integer."""
        if flow.FOLD not in loop.attributes:
            return None
        mark = loop.attributes[flow.FOLD]
        kind = mark["kind"] if isinstance(mark, ir.DictAttr) and "kind" in mark else mark
        fold = Fold(str(kind).strip('"'), isinstance(mark, ir.DictAttr) and "few" in mark)
        if fold.kind not in _FOLDS or loop.name != "scf.for":
            raise PassFailure(loop, f"expected {flow.FOLD} of a loop among {', '.join(_FOLDS)}, got {kind}")
        if fold.kind == "scan" and len(loop.results) != 1:  # of lengths known to be 0, or of a buffer that is carried
            return None
        if [isinstance(x.type, (ir.IndexType, ir.IntegerType)) for x in loop.results] != [True]:
            raise PassFailure(loop, f"expected {flow.FOLD} of a loop that carries one integer, got another")
        return fold

    @property
    def apply(self) -> Callable[[ir.Value, ir.Value], ir.Value]:
        """Combines two values."""
        return _FOLDS[self.kind][0]

    def neutral(self, type_: ir.Type) -> ir.Value:
        """The value that changes nothing."""
        return neutral_constant(type_, _FOLDS[self.kind][1])


def with_bounds(
    loop: ir.Operation, bounds: tuple[ir.Value, ir.Value], init: ir.Value, known: dict[ir.Value, ir.Value]
) -> ir.Operation:
    """A copy of a loop of one carried value, with other bounds and another start, at the insertion point."""
    copy = clone(loop, known)
    for k, x in ((0, bounds[0]), (1, bounds[1]), (3, init)):
        copy.operands[k] = x
    return copy
