"""Affine expressions as index arithmetic."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed


def _modulo(a: ir.Value, b: ir.Value) -> ir.Value:
    return arith.subi(a, arith.muli(arith.floordivsi(a, b), b))


_DIVISIONS: dict[type[ir.AffineExpr], tuple[Callable[[ir.Value, ir.Value], ir.Value], ...]] = {
    ir.AffineModExpr: (_modulo, arith.remui),
    ir.AffineFloorDivExpr: (arith.floordivsi, arith.divui),
    ir.AffineCeilDivExpr: (arith.ceildivsi, arith.ceildivui),
}
"""Divisions, which round down or up, and those of numbers that are not negative, which take fewer instructions."""


def affine_value(expr: ir.AffineExpr, point: Sequence[Mixed]) -> Mixed:
    """Value of an affine expression at a point, one index per loop."""
    if isinstance(expr, ir.AffineDimExpr):
        return point[expr.position]
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value
    assert isinstance(expr, ir.AffineBinaryExpr)
    a, b = affine_value(expr.lhs, point), affine_value(expr.rhs, point)
    if isinstance(expr, ir.AffineAddExpr):
        return build.add(a, b)
    if isinstance(expr, ir.AffineMulExpr):
        return build.mul(a, b)
    return _DIVISIONS[type(expr)][never_negative(expr.lhs)](build.value(a), build.value(b))


def never_negative(expr: ir.AffineExpr) -> bool:
    """Whether an expression of indices is never negative, by its form."""
    if isinstance(expr, ir.AffineConstantExpr):
        return expr.value >= 0
    if isinstance(expr, ir.AffineBinaryExpr) and not isinstance(expr, ir.AffineModExpr):
        return never_negative(expr.lhs) and never_negative(expr.rhs)
    return True
