"""A compute op ready for its loop nest: operands, loops, payload."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.iteration import Iteration, expr_uses
from ragged_dialect.lowering.scf.parts import Parts, Pending

Payload = Callable[[list[ir.Value], Callable[[int], ir.Value]], list[ir.Value]]


@dataclass
class Operand:
    """An operand of a nest: its parts, or a scalar, and per dim a loop or an expression."""

    value: Parts | ir.Value
    loops: list[int | None]
    exprs: list[ir.AffineExpr]

    @property
    def parts(self) -> Parts:
        """The parts of one that is no scalar: that has dims, or is written."""
        assert isinstance(self.value, Parts)
        return self.value

    @property
    def pending(self) -> Pending | None:
        """The open forall's result that it is, if it is one."""
        return self.value.pending if isinstance(self.value, Parts) else None

    def uses(self, loop: int) -> list[int]:
        """Dims indexed by exactly this loop."""
        return [dim for dim, used in enumerate(self.loops) if used == loop]

    def mentions(self, loop: int) -> bool:
        """Whether another expression contains the loop."""
        return any(used is None and expr_uses(e, loop) for used, e in zip(self.loops, self.exprs, strict=True))


@dataclass
class Nest:
    """A compute op ready to be lowered. `alive` are the loops in order; `index_loops` those whose
    index the payload reads, which are none of those that go `backwards`. The lists of a component that are known to
    be of one length `are_matrices`: the loops over them and through them stay in one dense op."""

    operands: list[Operand]
    inputs: int
    kinds: dict[int, str]
    payload: Payload
    index_loops: frozenset[int] = frozenset()
    backwards: frozenset[int] = frozenset()
    are_matrices: bool = False

    @property
    def tensors(self) -> list[Operand]:
        """The operands that are no scalars."""
        return [operand for operand in self.operands if isinstance(operand.value, Parts)]

    @property
    def outs(self) -> list[Operand]:
        """The operands that are written."""
        return self.operands[self.inputs :]


def make_nest(
    it: Iteration,
    operands: Sequence[Parts | ir.Value],
    payload: Payload,
    index_loops: frozenset[int] = frozenset(),
    backwards: frozenset[int] = frozenset(),
    are_matrices: bool = False,
) -> Nest:
    """A nest from an analysed op and its lowered operands (parts, or scalars)."""
    made = [Operand(x, list(access.loops), list(access.exprs)) for x, access in zip(operands, it.accesses, strict=True)]
    return Nest(made, it.inputs, dict(enumerate(it.kinds)), payload, index_loops, backwards, are_matrices)
