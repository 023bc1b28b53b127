"""Which foralls reduce or map the rows of ragged components, and how: what segmented kernels need to know."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import body_ops, loop_of
from ragged_dialect.lowering.buffers.subviews import is_buffer, is_same, root
from ragged_dialect.lowering.gpu.kernel.combiner import combiner_of
from ragged_dialect.lowering.gpu.kernel.fills import foldable_fills
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.segmented.component_rows import (
    Components,
    Follower,
    RowMatcher,
    RowWork,
    is_free,
    is_row_of_component,
    plain_generics,
)

_Match = Callable[[RowMatcher, set[ir.Value]], RowWork | None]


@dataclass(frozen=True)
class RowComponents(Components):
    """Components whose rows a forall reduces, or maps by ops that do not depend on each other."""

    work: tuple[RowWork, ...]
    reduces: bool


def match_rows(forall: ir.Operation) -> RowComponents | None:
    """The components of a forall, None when its body does anything else than reducing their rows, or mapping them."""
    if len(forall.regions[0].blocks[0].arguments) != 1:
        return None
    return _reduced(forall) or _mapped(forall)


def _reduced(forall: ir.Operation) -> RowComponents | None:
    """What reduces rows, and nothing else."""
    body = forall.regions[0].blocks[0]
    fills = foldable_fills(body)
    filled = {fill for fill, _, _ in fills}
    plain = plain_generics([op for op in body_ops(body) if op not in filled])
    if plain is None:
        return None
    generics, written = plain
    reducing = [generic for generic in generics if generic.reductions]
    found = _matched(forall, reducing, written, _reduction_of, reduces=True)
    if found is None:
        return None
    inits = {at: scalar for _, at, scalar in fills}
    work = [replace(one, inits={k: v for (op, k), v in inits.items() if op == one.op}) for one in found.work]
    followed = with_followers(work, [g.op for g in generics if g not in reducing], written, body)
    return None if followed is None else replace(found, work=tuple(followed))


def _mapped(forall: ir.Operation) -> RowComponents | None:
    """What maps rows, and nothing else."""
    plain = plain_generics(body_ops(forall.regions[0].blocks[0]))
    return None if plain is None else _matched(forall, *plain, _map_of, reduces=False)


def _matched(
    forall: ir.Operation, generics: Sequence[GenericOp], written: set[ir.Value], match: _Match, *, reduces: bool
) -> RowComponents | None:
    """Generics on the rows of the same components."""
    matchers = [RowMatcher(forall.regions[0].blocks[0], generic) for generic in generics]
    work: list[RowWork] = []
    for matcher in matchers:
        if (found := match(matcher, written)) is None:
            return None
        work.append(found)
    difference, *others = {matcher.difference for matcher in matchers} or {None}
    return None if difference is None or others else RowComponents(forall, difference, tuple(work), reduces)


def _rows(matcher: RowMatcher, loop: int, operands: Iterable[int]) -> dict[int, int | None]:
    """The dims along which operands that a loop indexes have rows."""
    return {k: matcher.rows_of(k, loop) for k in operands if loop in matcher.generic.loops_of(k)}


def _work(matcher: RowMatcher, loop: int, rows: dict[int, int]) -> RowWork | None:
    """Work on rows, where the extents of the other loops are known outside."""
    sizes = {d: matcher.extent(d) for d in range(matcher.generic.rank) if d != loop}
    known = {d: size for d, size in sizes.items() if size is not None}
    return RowWork(matcher.generic.op, loop, rows, known) if len(known) == len(sizes) else None


def _reads_others(generic: GenericOp, written: set[ir.Value]) -> bool:
    """Whether a generic reads nothing that the body writes."""
    inputs = any(is_buffer(x) and root(x) in written for x in generic.inputs)
    return not inputs and all(is_free(op, written) for op in generic.payload)


def _reduction_of(matcher: RowMatcher, written: set[ir.Value]) -> RowWork | None:
    generic = matcher.generic
    if len(generic.reductions) != 1 or not _reads_others(generic, written):
        return None
    (loop,) = generic.reductions
    rows = _rows(matcher, loop, range(generic.n_inputs))
    found = {k: dim for k, dim in rows.items() if dim is not None}
    if not found or len(found) < len(rows):
        return None
    if not all(_is_accumulated(matcher, out) for out in range(len(generic.outs))):
        return None
    return _work(matcher, loop, found)


def _map_of(matcher: RowMatcher, written: set[ir.Value]) -> RowWork | None:
    generic = matcher.generic
    if generic.reductions or not _reads_others(generic, written):
        return None
    if any(generic.is_read(k) for k in range(generic.n_inputs, len(generic.operands))):
        return None
    for loop in range(generic.rank):
        rows = _rows(matcher, loop, range(len(generic.operands)))
        found = {k: dim for k, dim in rows.items() if dim is not None}
        if found:
            return _work(matcher, loop, found)
    return None


def _is_accumulated(matcher: RowMatcher, out: int) -> bool:
    """Whether an out is the component's row, and accumulated into by a known combiner."""
    generic = matcher.generic
    k = generic.n_inputs + out
    results = generic.maps[k].results
    loops = [e.position for e in results if isinstance(e, ir.AffineDimExpr)]
    parallel = [d for d in range(generic.rank) if generic.parallel[d]]
    if len(loops) < len(results) or sorted(loops) != parallel or combiner_of(generic, out) is None:
        return False
    return is_row_of_component(generic.operands[k], matcher.body)


def with_followers(
    reductions: list[RowWork], ops: list[ir.Operation], written: set[ir.Value], body: ir.Block
) -> list[RowWork] | None:
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


def _outs(reduction: RowWork) -> set[ir.Value]:
    """The buffers that a reduction and its followers write."""
    return {root(out) for made in _made(reduction) for out in GenericOp(made.op).outs}


def _made(reduction: RowWork) -> list[Follower]:
    """A reduction, as what follows itself, and its followers."""
    same = {d: d for d in range(GenericOp(reduction.op).rank)}
    return [Follower(reduction.op, same), *reduction.followers]


def _follower(generic: GenericOp, reduction: RowWork, written: set[ir.Value], body: ir.Block) -> Follower | None:
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


def _pairs(generic: GenericOp, k: int, reduction: RowWork) -> list[tuple[int, int]] | None:
    """Loops of an op that reads what a reduction or a follower stored, each with the reduction's loop along
    the same dim; None when it does not read the same elements."""
    x = generic.operands[k]
    made, own, out = next(
        (made, own, n)
        for made in _made(reduction)
        for own in (GenericOp(made.op),)
        for n in range(own.n_inputs, len(own.operands))
        if root(own.operands[n]) == root(x)
    )
    view = own.operands[out]
    if not is_same(x, view) or x.type.shape != view.type.shape:
        return None
    results = list(zip(generic.maps[k].results, own.maps[out].results, strict=True))
    if not all(isinstance(e, ir.AffineDimExpr) for e, _ in results):
        return None
    return [(loop_of(e), made.loops[loop_of(of)]) for e, of in results]
