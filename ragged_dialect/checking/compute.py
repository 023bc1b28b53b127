"""The checks of ops that compute on ragged tensors, loop by loop."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Extent, Q
from ragged_dialect.ir.expressions import never_negative
from ragged_dialect.iteration import Iteration, Use, is_elementwise
from ragged_dialect.types import is_tensor


def check_compute(ask: Checker[Q], op: ir.Operation) -> None:
    """Per loop: all ragged uses conform, dense dims of a ragged loop reach its lengths, dense
    dims of a dense loop have one extent. Per index that is not a loop: the extent holds it."""
    iteration = ask.iteration(op)
    operands = list(op.operands)
    if is_elementwise(op):
        operands = [v for v in operands if is_tensor(v.type)]
    for loop, uses in enumerate(iteration.ragged):
        # A result of arith and math is an access of its own without an operand.
        dense = [use for use in iteration.dense_uses(loop) if use.operand < len(operands)]
        uses = tuple(use for use in uses if use.operand < len(operands))
        if uses:
            _check_ragged(ask, iteration, operands, uses, dense)
        else:
            _check_dense(ask, iteration, operands, _representatives(iteration, dense))
    check_reach(ask, iteration, operands)


def _check_ragged(
    ask: Checker[Q], iteration: Iteration, operands: list[ir.Value], uses: tuple[Use, ...], dense: list[Use]
) -> None:
    first, *others = uses

    def level(use: Use) -> tuple[ir.Value, int, tuple[int | None, ...]]:
        """The lengths that a use reads: those of a level, in the order of the loops of the levels above it."""
        access = iteration.accesses[use.operand]
        return operands[use.operand], use.dim, tuple(access.loops[d] for d in access.shape.layout.above(use.dim))

    seen = {level(first)}
    for use in others:
        if level(use) not in seen:
            seen.add(level(use))
            ask.conform(operands[first.operand], operands[use.operand], _pairs(iteration, first, use))
    shape = iteration.accesses[first.operand].shape
    tile = shape.shape[first.dim]
    for use in dense:
        extent = ask.extent(operands[use.operand], use.dim)
        static = iteration.static_extent(use)
        if tile is None or static is None or static < tile:
            ask.valid("covers", use.dim, extent, ask.lengths(operands[first.operand], first.dim))


def _pairs(iteration: Iteration, a: Use, b: Use) -> list[tuple[int, int]]:
    """Dims of two operands that run together: the levels above, then the level. The first operand has
    all parents of the loop; -1 stands for one that the other lacks."""
    left, right = iteration.accesses[a.operand], iteration.accesses[b.operand]
    above = left.shape.layout.above(a.dim)
    by_loop = {right.loops[d]: d for d in right.shape.layout.above(b.dim)}
    return [*((d, by_loop.get(left.loops[d], -1)) for d in above), (a.dim, b.dim)]


def _representatives(iteration: Iteration, uses: list[Use]) -> list[Use]:
    """Dense uses without those whose extent a conformity check compares anyway: the batch dims
    right above a level of one ragged loop have one number of components."""
    kept: list[Use] = []
    conforming: set[int] = set()
    for use in uses:
        access = iteration.accesses[use.operand]
        axis, at = access.shape.layout.locate(use.dim)
        below = access.loops[use.dim + 1] if at == 0 and access.shape.layout.axes[axis][1:2] in ("r", "w") else None
        if below is None or below not in conforming:
            kept.append(use)
        if below is not None:
            conforming.add(below)
    return kept


def _check_dense(ask: Checker[Q], iteration: Iteration, operands: list[ir.Value], uses: list[Use]) -> None:
    if len(uses) < 2:
        return
    first = next((use for use in uses if iteration.static_extent(use) is not None), uses[0])
    expected = ask.extent(operands[first.operand], first.dim)
    for use in uses:
        if use is not first:
            ask.equal(use.dim, ask.extent(operands[use.operand], use.dim), expected)


_FAR = 1 << 56
"""Ends of expressions that lie further out are moved here, beyond every extent of memory, and so are factors: sums and
products of them do not wrap."""

_SMALL = 1 << 8
"""A loop times a factor below this is not as far out."""


def check_reach(ask: Checker[Q], iteration: Iteration, operands: list[ir.Value]) -> None:
    """Every index that is not a plain loop stays inside the extent of its dim, at all indices of its
    loops. Their extents are known to be equal for all operands by then."""
    for operand, access in zip(operands, iteration.accesses, strict=False):
        compound = [(dim, expr) for dim, expr in enumerate(access.exprs) if access.loops[dim] is None]
        for dim, expr in compound:
            low, high = _bounds(ask, expr, lambda loop: ask.minus(_extent(ask, iteration, operands, loop), 1))
            ask.valid("at_least", dim, low, factor=0)
            ask.valid("covers", dim, ask.extent(operand, dim), ask.plus(high, 1))


def _extent(ask: Checker[Q], iteration: Iteration, operands: list[ir.Value], loop: int) -> Extent[Q]:
    """Extent of a dense loop, static where one of the dims it indexes is."""
    uses = [use for use in iteration.dense_uses(loop) if use.operand < len(operands)]
    use = next((use for use in uses if iteration.static_extent(use) is not None), uses[0])
    return ask.extent(operands[use.operand], use.dim)


def _bounds(ask: Checker[Q], expr: ir.AffineExpr, last: Callable[[int], Extent[Q]]) -> tuple[Extent[Q], Extent[Q]]:
    """The least and the greatest value of an expression of loops from 0 to `last`. They may lie
    further apart than the values do where a loop occurs twice or a multiple of it is below `mod`."""
    if isinstance(expr, ir.AffineConstantExpr):
        end = _near_number(expr.value)
        return end, end
    if isinstance(expr, ir.AffineDimExpr):
        return 0, last(expr.position)
    assert isinstance(expr, ir.AffineBinaryExpr)
    low, high = _bounds(ask, expr.lhs, last)
    if isinstance(expr, ir.AffineAddExpr):
        other_low, other_high = _bounds(ask, expr.rhs, last)
        return ask.plus(low, other_low), ask.plus(high, other_high)
    factor = _near_number(expr.rhs.value)
    if isinstance(expr, ir.AffineMulExpr):
        if abs(factor) >= _SMALL or not isinstance(expr.lhs, ir.AffineDimExpr):
            low, high = (_near(ask, end, _FAR // abs(factor)) for end in (low, high))
        ends = ask.times(low, factor), ask.times(high, factor)
        return ends if factor >= 0 else (ends[1], ends[0])
    if isinstance(expr, ir.AffineModExpr):
        most = expr.rhs.value - 1
        return 0, ask.least(high, most) if never_negative(expr.lhs) else most
    up = factor - 1 if isinstance(expr, ir.AffineCeilDivExpr) else 0
    return ask.floor(ask.plus(low, up), factor), ask.floor(ask.plus(high, up), factor)


def _near_number(end: int) -> int:
    return max(min(end, _FAR), -_FAR)


def _near(ask: Checker[Q], end: Extent[Q], far: int = _FAR) -> Extent[Q]:
    """An end of an expression, no further out than `far`."""
    return ask.most(ask.least(end, far), -far)
