"""Index expressions of a loop nest, cut into what outer loops give and what inner loops give."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.iteration import expr_uses


def composed(expr: ir.AffineExpr, count: int, dims: int, place: Callable[[int], int | None]) -> ir.AffineExpr:
    """An expression of `count` loops over `dims` others: loop k is dim `place(k)`, or 0 for None."""
    table: list[ir.AffineExpr] = []
    for loop in range(count):
        at = place(loop)
        table.append(ir.AffineConstantExpr.get(0) if at is None else ir.AffineDimExpr.get(at))
    return expr.compose(ir.AffineMap.get(dims, 0, table))


def is_separable(expr: ir.AffineExpr, outer: Collection[int], loops: Sequence[int]) -> bool:
    """Whether an expression is a sum of one of the outer loops and one of the others."""
    if not isinstance(expr, ir.AffineBinaryExpr):
        return True
    if isinstance(expr, ir.AffineAddExpr):
        return is_separable(expr.lhs, outer, loops) and is_separable(expr.rhs, outer, loops)
    if isinstance(expr, ir.AffineMulExpr):
        return is_separable(expr.lhs, outer, loops)
    used = {loop in outer for loop in loops if expr_uses(expr, loop)}
    return len(used) < 2


def without_constant(expr: ir.AffineExpr, dims: int) -> ir.AffineExpr:
    """An expression less its value where all loops are 0."""
    zero = expr.compose(ir.AffineMap.get(0, 0, [ir.AffineConstantExpr.get(0)] * dims))
    value = ir.AffineConstantExpr(zero).value
    return expr if value == 0 else expr - value
