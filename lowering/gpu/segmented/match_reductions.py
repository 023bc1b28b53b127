"""Which foralls reduce the rows of ragged components, and how: what segmented reductions need to know."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import body_ops, loop_of
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_same, root
from ragged_dialect.lowering.gpu.kernel.fills import foldable_fills
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.segmented.component_rows import (
    Components,
    is_free,
    is_row_of_component,
    plain_generics,
)
from ragged_dialect.lowering.gpu.segmented.row_reduction import Follower, ReductionMatcher, RowReduction


@dataclass(frozen=True)
class ReducedComponents(Components):
    """Components whose rows a forall reduces."""

    work: tuple[RowReduction, ...]


def match_components(forall: ir.Operation) -> ReducedComponents | None:
    """The components of a forall, None when its body does anything else than reducing their rows."""
    body = forall.regions[0].blocks[0]
    if len(body.arguments) != 1:
        return None
    fills = foldable_fills(body)
    filled = {fill for fill, _, _ in fills}
    ops = [op for op in body_ops(body) if op not in filled]
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
    reductions: list[RowReduction] | None = []
    for matcher in matchers:
        if (found := matcher.match(written)) is None:
            return None
        reductions.append(found)
    if not reductions or len({matcher.difference for matcher in matchers}) > 1:
        return None
    reductions = with_followers(reductions, [g.op for g in generics if g not in reducing], written, body)
    difference = matchers[0].difference
    if reductions is None or difference is None:
        return None
    return ReducedComponents(forall, difference, tuple(reductions))


def with_followers(
    reductions: list[RowReduction], ops: list[ir.Operation], written: set[ir.Value], body: ir.Block
) -> list[RowReduction] | None:
    """The reductions with the ops that follow them; None when one of these is no `Follower`. They may
    run again when a reduction's result changes: they read nothing but results of one reduction and of
    its earlier followers, and store what nobody else does."""
    found = list(reductions)
    for op in ops:
        reads = {root(x) for x in GenericOp(op).inputs if is_buffer(x)} & written
        number = next((n for n, r in enumerate(found) if reads and reads <= _outs(r)), None)
        follower = None if number is None else _follower(GenericOp(op), found[number], written, body)
        if number is None or follower is None:
            return None
        found[number] = replace(found[number], followers=(*found[number].followers, follower))
    return found


def _outs(reduction: RowReduction) -> set[ir.Value]:
    """The buffers that a reduction and its followers write."""
    return {root(out) for made in _made(reduction) for out in made.generic.outs}


@dataclass(frozen=True)
class _Made:
    """A reduction, or a follower of it; `loops` has the reduction's loop for each of its own."""

    generic: GenericOp
    loops: dict[int, int]


def _made(reduction: RowReduction) -> list[_Made]:
    reduced = GenericOp(reduction.op)
    same = {d: d for d in range(reduced.rank)}
    return [_Made(reduced, same), *(_Made(GenericOp(f.op), f.loops) for f in reduction.followers)]


def _follower(generic: GenericOp, reduction: RowReduction, written: set[ir.Value], body: ir.Block) -> Follower | None:
    outs = range(generic.n_inputs, len(generic.operands))
    if generic.reductions or any(generic.is_read(k) for k in outs):
        return None
    if not all(is_row_of_component(generic.operands[k], body) for k in outs):
        return None
    if not all(is_free(op, written) for op in generic.payload):
        return None
    loops: dict[int, int] = {}
    for k, x in enumerate(generic.inputs):
        if is_buffer(x) and root(x) in written:
            pairs = _pairs(generic, k, reduction)
            if pairs is None or any(loops.setdefault(loop, of) != of for loop, of in pairs):
                return None
    return Follower(generic.op, loops) if len(loops) == generic.rank == len(set(loops.values())) else None


def _pairs(generic: GenericOp, k: int, reduction: RowReduction) -> list[tuple[int, int]] | None:
    """Loops of an op that reads what a reduction or a follower stored, each with the reduction's loop along
    the same dim; None when it does not read the same elements."""
    x = generic.operands[k]
    made, out = next(
        (made, n)
        for made in _made(reduction)
        for n in range(made.generic.n_inputs, len(made.generic.operands))
        if root(made.generic.operands[n]) == root(x)
    )
    view = made.generic.operands[out]
    if not is_same(x, view) or x.type.shape != view.type.shape:
        return None
    results = list(zip(generic.maps[k].results, made.generic.maps[out].results, strict=True))
    if not all(isinstance(e, ir.AffineDimExpr) for e, _ in results):
        return None
    return [(loop_of(e), made.loops[loop_of(of)]) for e, of in results]
