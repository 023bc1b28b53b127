"""Which foralls reduce the rows of ragged components, and how: what segmented reductions need to know."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.kernel.fills import foldable_fills
from ragged_dialect.lowering.gpu.segmented.component_rows import Components, plain_generics
from ragged_dialect.lowering.gpu.segmented.followers import with_followers
from ragged_dialect.lowering.gpu.segmented.row_reduction import ReductionMatcher, RowReduction


@dataclass(frozen=True)
class ReducedComponents(Components):
    """Components whose rows a forall reduces."""

    reductions: tuple[RowReduction, ...]

    @property
    def work(self) -> tuple[RowReduction, ...]:
        """What is done with rows."""
        return self.reductions


def match_components(forall: ir.Operation) -> ReducedComponents | None:
    """The components of a forall, None when its body does anything else than reducing their rows."""
    body = forall.regions[0].blocks[0]
    if len(body.arguments) != 1:
        return None
    fills = foldable_fills(body)
    filled = {fill for fill, _, _ in fills}
    ops = [op for op in [o.operation for o in body.operations][:-1] if op not in filled]
    plain = plain_generics(ops)
    if plain is None:
        return None
    generics, written = plain
    inits = {found: scalar for _, found, scalar in fills}
    reducing = [generic for generic in generics if generic.reductions]
    matchers = [
        ReductionMatcher(body, generic, {k: v for (op, k), v in inits.items() if op == generic.op})
        for generic in reducing
    ]
    matched = [matcher.match(written) for matcher in matchers]
    reductions = [reduction for reduction in matched if reduction is not None]
    if not reductions or len(reductions) < len(matched) or len({matcher.difference for matcher in matchers}) > 1:
        return None
    reductions = with_followers(reductions, [g.op for g in generics if g not in reducing], written, body)
    difference = matchers[0].difference
    if reductions is None or difference is None:
        return None
    return ReducedComponents(forall, difference, tuple(reductions))
