"""How far index expressions such as `i + k` or `2 * i` reach into a dense dim."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.iteration import Access, Iteration
from ragged_dialect.passes.checking.emitter import Emitter, Extent

_FAR = 1 << 56
"""Ends of expressions that lie further out are moved here, beyond every extent of memory, and so are factors: sums and
products of them do not wrap."""

_SMALL = 1 << 8
"""A loop times a factor below this is not as far out."""


def check_reach(emit: Emitter, iteration: Iteration, operands: list[ir.Value]) -> None:
    """Every index that is not a plain loop stays inside the extent of its dim, at all indices of its
    loops. Their extents are known to be equal for all operands by then."""
    for operand, access in zip(operands, iteration.accesses, strict=False):
        for dim, expr in _compound(access):
            low, high = _bounds(emit, expr, lambda loop: emit.minus(_extent(emit, iteration, operands, loop), 1))
            emit.valid("at_least", dim, low, factor=0)
            emit.valid("covers", dim, emit.extent(operand, dim), emit.plus(high, 1))


def _compound(access: Access) -> list[tuple[int, ir.AffineExpr]]:
    return [(dim, expr) for dim, expr in enumerate(access.exprs) if access.loops[dim] is None]


def _extent(emit: Emitter, iteration: Iteration, operands: list[ir.Value], loop: int) -> Extent:
    """Extent of a dense loop, static where one of the dims it indexes is."""
    uses = [use for use in iteration.dense_uses(loop) if use.operand < len(operands)]
    extents = [emit.extent(operands[use.operand], use.dim) for use in uses]
    return next((e for e in extents if isinstance(e, int)), extents[0])


def _bounds(emit: Emitter, expr: ir.AffineExpr, last: Callable[[int], Extent]) -> tuple[Extent, Extent]:
    """The least and the greatest value of an expression of loops from 0 to `last`. They may lie
    further apart than the values do where a loop occurs twice or a multiple of it is below `mod`."""
    if isinstance(expr, ir.AffineConstantExpr):
        end = _near_number(expr.value)
        return end, end
    if isinstance(expr, ir.AffineDimExpr):
        return 0, last(expr.position)
    assert isinstance(expr, ir.AffineBinaryExpr)
    low, high = _bounds(emit, expr.lhs, last)
    if isinstance(expr, ir.AffineAddExpr):
        other_low, other_high = _bounds(emit, expr.rhs, last)
        return emit.plus(low, other_low), emit.plus(high, other_high)
    factor = _near_number(expr.rhs.value)
    if isinstance(expr, ir.AffineMulExpr):
        if abs(factor) >= _SMALL or not isinstance(expr.lhs, ir.AffineDimExpr):
            low, high = (_near(emit, end, _FAR // abs(factor)) for end in (low, high))
        ends = emit.times(low, factor), emit.times(high, factor)
        return ends if factor >= 0 else (ends[1], ends[0])
    if isinstance(expr, ir.AffineModExpr):
        most = expr.rhs.value - 1
        return 0, emit.least(high, most) if isinstance(low, int) and low >= 0 else most
    up = factor - 1 if isinstance(expr, ir.AffineCeilDivExpr) else 0
    return emit.floor(emit.plus(low, up), factor), emit.floor(emit.plus(high, up), factor)


def _near_number(end: int) -> int:
    return max(min(end, _FAR), -_FAR)


def _near(emit: Emitter, end: Extent, far: int = _FAR) -> Extent:
    """An end of an expression, no further out than `far`."""
    return emit.most(emit.least(end, far), -far)
