"""The checks of ops that compute on ragged tensors, loop by loop."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.checking.checker import Checker, Q
from ragged_dialect.checking.reach import check_reach
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
    seen = {(operands[first.operand], first.dim)}
    for use in others:
        if (operands[use.operand], use.dim) not in seen:
            seen.add((operands[use.operand], use.dim))
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
    axis, at = left.shape.layout.locate(a.dim)
    above = list(left.shape.layout.dims(axis))[:at]
    other_axis, _ = right.shape.layout.locate(b.dim)
    by_loop = {right.loops[d]: d for d in right.shape.layout.dims(other_axis)}
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
