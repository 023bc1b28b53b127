"""Which foralls reduce the rows of ragged components, and how: what the balanced schedule needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ragged_dialect.lowering.buffers import VIEWS, root
from ragged_dialect.lowering.gpu.balanced_followers import with_followers
from ragged_dialect.lowering.gpu.balanced_reduction import ReductionMatcher, RowReduction
from ragged_dialect.lowering.gpu.fills import foldable_fills
from ragged_dialect.lowering.gpu.generic_op import GenericOp

_ADDRESSING = VIEWS | {"memref.load", "memref.dim"}


@dataclass(frozen=True)
class Components:
    """What a forall does to its components: rows `low` to `high` of each, which are the offsets at
    the component's number and the next one; `length` is their difference."""

    forall: Any
    low: Any
    high: Any
    length: Any
    reductions: tuple[RowReduction, ...]

    @property
    def body(self) -> Any:
        """The block of the forall."""
        return self.forall.regions[0].blocks[0]

    @property
    def component(self) -> Any:
        """The number of the component in the body."""
        return self.body.arguments[0]


def match_components(forall: Any) -> Components | None:
    """The components of a forall, None when its body does anything else than reducing their rows."""
    body = forall.regions[0].blocks[0]
    if len(body.arguments) != 1:
        return None
    fills = foldable_fills(body)
    filled = {fill for fill, _, _ in fills}
    ops = [op for op in [o.operation for o in body.operations][:-1] if op not in filled]
    generics = [op for op in ops if op.name == "linalg.generic"]
    outs = [root(out) for op in generics for out in GenericOp(op).outs]
    if len(set(outs)) < len(outs) or not all(_is_plain(op, set(outs)) for op in ops):
        return None
    inits = {found: scalar for _, found, scalar in fills}
    reducing = [op for op in generics if GenericOp(op).reductions]
    matchers = [
        ReductionMatcher(body, GenericOp(op), {k: v for (o, k), v in inits.items() if o == op}) for op in reducing
    ]
    matched = [matcher.match(set(outs)) for matcher in matchers]
    reductions = [reduction for reduction in matched if reduction is not None]
    if not reductions or len(reductions) < len(matched) or len({matcher.length for matcher in matchers}) > 1:
        return None
    reductions = with_followers(reductions, [op for op in generics if op not in reducing], set(outs), body)
    return None if reductions is None else _components(forall, matchers[0].length, reductions)


def _is_plain(op: Any, written: set[Any]) -> bool:
    """Whether an op of a body computes where things are, or is a generic."""
    if op.name == "memref.load":
        return root(op.operands[0]) not in written
    return op.name == "linalg.generic" or op.name in _ADDRESSING or op.name.startswith("arith.")


def _components(forall: Any, length: Any, reductions: list[RowReduction]) -> Components:
    high, low = length.operands
    return Components(forall, low, high, length.results[0], tuple(reductions))
