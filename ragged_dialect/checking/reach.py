"""How far index expressions such as `i + k` or `2 * i` reach into a dense dim."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Extent, Q
from ragged_dialect.iteration import Access, Iteration

_FAR = 1 << 56
"""Ends of expressions that lie further out are moved here, beyond every extent of memory, and so are factors: sums and
products of them do not wrap."""

_SMALL = 1 << 8
"""A loop times a factor below this is not as far out."""


def check_reach(ask: Checker[Q], iteration: Iteration, operands: list[ir.Value]) -> None:
    """Every index that is not a plain loop stays inside the extent of its dim, at all indices of its
    loops. Their extents are known to be equal for all operands by then."""
    for operand, access in zip(operands, iteration.accesses, strict=False):
        for dim, expr in _compound(access):
            low, high = _bounds(ask, expr, lambda loop: ask.minus(_extent(ask, iteration, operands, loop), 1))
            ask.valid("at_least", dim, low, factor=0)
            ask.valid("covers", dim, ask.extent(operand, dim), ask.plus(high, 1))


def _compound(access: Access) -> list[tuple[int, ir.AffineExpr]]:
    return [(dim, expr) for dim, expr in enumerate(access.exprs) if access.loops[dim] is None]


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
        return 0, ask.least(high, most) if _never_negative(expr.lhs) else most
    up = factor - 1 if isinstance(expr, ir.AffineCeilDivExpr) else 0
    return ask.floor(ask.plus(low, up), factor), ask.floor(ask.plus(high, up), factor)


def _never_negative(expr: ir.AffineExpr) -> bool:
    """Whether an expression of loops has no negative value whatever their extents are."""
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value >= 0
    if isinstance(expr, ir.AffineBinaryExpr) and not isinstance(expr, ir.AffineModExpr):
        return _never_negative(expr.lhs) and _never_negative(expr.rhs)
    return True


def _near_number(end: int) -> int:
    return max(min(end, _FAR), -_FAR)


def _near(ask: Checker[Q], end: Extent[Q], far: int = _FAR) -> Extent[Q]:
    """An end of an expression, no further out than `far`."""
    return ask.most(ask.least(end, far), -far)
