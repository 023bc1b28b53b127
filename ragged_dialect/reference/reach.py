"""The range of an index expression over the whole ranges of its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import ir


def reach(expr: Any, last: Callable[[int], int]) -> range:
    """The smallest range that interval arithmetic gives for an affine expression whose loops run
    from 0 to `last(loop)`; its ends are the least and the greatest value, also for empty loops."""
    least, greatest = _ends(expr, last)
    return range(least, greatest + 1)


def _ends(expr: Any, last: Callable[[int], int]) -> tuple[int, int]:
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value, expr.value
    if isinstance(expr, ir.AffineDimExpr):
        return 0, last(expr.position)
    (a, b), (c, d) = _ends(expr.lhs, last), _ends(expr.rhs, last)
    if isinstance(expr, ir.AffineAddExpr):
        return a + c, b + d
    if isinstance(expr, ir.AffineMulExpr):
        return (a * c, b * c) if c >= 0 else (b * c, a * c)
    if isinstance(expr, ir.AffineModExpr):
        return 0, min(b, c - 1) if a >= 0 else c - 1
    if isinstance(expr, ir.AffineFloorDivExpr):
        return a // c, b // c
    return -(-a // c), -(-b // c)
