"""The range of an index expression over the whole ranges of its loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import ir

FAR = 1 << 56
"""What lies further out than every extent of memory is as good as here: sums and products fit 64 bits."""


def reach(expr: Any, last: Callable[[int], int]) -> range:
    """The smallest range that interval arithmetic gives for an affine expression whose loops run
    from 0 to `last(loop)`; its ends are the least and the greatest value, also for empty loops."""
    least, greatest = _ends(expr, last)
    return range(least, greatest + 1)


def _ends(expr: Any, last: Callable[[int], int]) -> tuple[int, int]:
    if isinstance(expr, ir.AffineConstantExpr):
        return _near(expr.value), _near(expr.value)
    if isinstance(expr, ir.AffineDimExpr):
        return 0, last(expr.position)
    (a, b), (c, d) = _ends(expr.lhs, last), _ends(expr.rhs, last)
    if isinstance(expr, ir.AffineAddExpr):
        return a + c, b + d
    if isinstance(expr, ir.AffineMulExpr):
        low, high = (_near(end, FAR // abs(c)) * c for end in (a, b))
        return (low, high) if c >= 0 else (high, low)
    if isinstance(expr, ir.AffineModExpr):
        most = expr.rhs.value - 1
        return 0, min(b, most) if a >= 0 else most
    if isinstance(expr, ir.AffineFloorDivExpr):
        return a // c, b // c
    return -(-a // c), -(-b // c)


def _near(end: int, far: int = FAR) -> int:
    return max(-far, min(end, far))
