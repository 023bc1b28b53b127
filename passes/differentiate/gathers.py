"""The transpose of gathers: what a body takes of a tensor is added where it was taken.

Rows that data picks are added row by row of the table, anything else element by element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.generic import index_loop
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import element_of
from ragged_dialect.ir.walk import captures, makers
from ragged_dialect.iteration import AT_LOOPS, expr_uses
from ragged_dialect.passes.differentiate.adjoint import Adjoint
from ragged_dialect.passes.differentiate.nests import Access, Nest, mapped, spread
from ragged_dialect.passes.differentiate.scatter import Place, added, flat
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, has_derivative
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.differentiate.views import storage_of, without_gaps
from ragged_dialect.types import is_ragged, is_tensor, shape_of


def of_gathered(adjoint: Adjoint) -> None:
    """Add to the cotangents of what a body captures: scalars, and tensors that it takes elements of."""
    for value in adjoint.nest.gathers(adjoint.ctx.is_linear):
        if is_tensor(value.type):
            _scattered(adjoint, value)
        else:
            adjoint.ctx.add(value, adjoint.of_captured(value))


def _scattered(adjoint: Adjoint, value: ir.Value) -> None:
    like = adjoint.ctx.like(value)
    nest = adjoint.nest
    for number, op in enumerate(nest.body.operations):
        if len(op.operation.regions) and value in captures([op.operation]):
            raise DerivativeFailure(nest.op, f"expected gathers outside of branches, got one in '{op.operation.name}'")
        if op.operation.name == "tensor.extract" and op.operation.operands[0] == value:
            adjoint.ctx.add(value, _of_extract(adjoint, number, like))
        elif value in list(op.operation.operands) and any(map(has_derivative, op.operation.results)):
            raise DerivativeFailure(nest.op, f"expected gathers by 'tensor.extract', got '{op.operation.name}'")


def _of_extract(adjoint: Adjoint, number: int, like: ir.Value) -> ir.Value:
    """The cotangent of a tensor from one gather of a body."""
    nest = adjoint.nest
    extract = nest.body.operations[number].operation
    is_whole = AT_LOOPS in extract.attributes
    if is_whole and all(index_loop(index) is not None for index in list(extract.operands)[1:]):
        return adjoint.of_operand_at(number, like)
    if nest.reduces or not nest.outs[0].map.is_permutation:
        raise DerivativeFailure(nest.op, f"expected a gather without a reduction, got one in '{nest.op.name}'")
    ins, out = [*adjoint.likes, adjoint.given], nest.outs[0]

    def term(given: list[ir.Value]) -> ir.Value:
        return adjoint.gathered(number, given)[0]

    def integers(of: Callable[[list[ir.Value]], ir.Value]) -> ir.Value:
        """What is made of the indices of each term."""

        def body(given: list[ir.Value]) -> ir.Value:
            return build.to_i64(of(list(adjoint.gathered(number, given)[1])))

        return mapped(ins, Access(empty_like(out.value, build.i64()), out.map), nest.kinds, body)

    made = mapped(ins, Access(empty_like(out.value, element_of(like.type)), out.map), nest.kinds, term)
    chosen = _Chosen.of(nest, extract) if is_whole else None
    if chosen is not None:
        return chosen.spread(made, integers(lambda at: at[chosen.dim]), like)
    terms = storage_of(made)
    rows = _Rows.of(nest, extract, like)
    if rows is not None:
        features = len(nest.kinds) - rows.loops
        return added(flat(terms, features), flat(storage_of(rows.positions(adjoint))), like)
    positions = integers(Place(without_gaps(like)).of)
    return added(flat(terms), flat(storage_of(positions)), like)


@dataclass(frozen=True)
class _Chosen:
    """A gather of one element along a plain dim for all others: `dim` is where data picks it, `loops` go over each of
    the other dims as a whole, and those that are left have one iteration."""

    nest: Nest
    dim: int
    loops: Sequence[int | None]

    @staticmethod
    def of(nest: Nest, extract: ir.Operation) -> _Chosen | None:
        """What an op of the body takes of a tensor, None where it takes anything else."""
        loops = [index_loop(index) for index in list(extract.operands)[1:]]
        rank, out = len(nest.kinds), nest.outs[0]
        if loops.count(None) != 1 or out.map != ir.AffineMap.get_identity(rank):
            return None
        once = all(out.value.type.shape[loop] == 1 for loop in range(rank) if loop not in loops)
        return _Chosen(nest, loops.index(None), loops) if once else None

    def spread(self, terms: ir.Value, places: ir.Value, like: ir.Value) -> ir.Value:
        """Each term at its place, and zeros elsewhere."""
        rank = len(self.loops)
        at = {loop: ir.AffineDimExpr.get(dim) for dim, loop in enumerate(self.loops)}
        exprs = [at.get(loop, ir.AffineConstantExpr.get(0)) for loop in range(len(self.nest.kinds))]
        over = ir.AffineMap.get(rank, 0, exprs)
        out = Access(empty_like(like), ir.AffineMap.get_identity(rank))
        return spread(Access(terms, over), Access(places, over), out, self.dim)


@dataclass(frozen=True)
class _Rows:
    """A gather of whole rows: the last loops go over their features, and `row` depends on the other `loops` only, by
    `steps` of the body and the inputs that are `read`."""

    nest: Nest
    row: ir.Value
    loops: int
    steps: Sequence[ir.Operation]
    read: Sequence[int]

    @staticmethod
    def of(nest: Nest, extract: ir.Operation, like: ir.Value) -> _Rows | None:
        """The rows that an op of the body takes of a dense tensor, None where it takes anything else."""
        if len(extract.operands) == 1:
            return None
        row, *features = list(extract.operands)[1:]
        rank, out = len(nest.kinds), nest.outs[0]
        loops = rank - len(features)
        own = [index_loop(value) for value in features] == list(range(loops, rank))
        if is_ragged(like.type) or not features or loops < 1 or not own or out.map != ir.AffineMap.get_identity(rank):
            return None
        steps = makers([row], [o.operation for o in nest.body.operations])
        operands = {row, *(operand for step in steps for operand in step.operands)}
        read = [k for k, element in enumerate(nest.elements) if element in operands]
        exprs = [expr for k in read for expr in nest.ins[k].map.results]
        by_feature = any(expr_uses(expr, loop) for expr in exprs for loop in range(loops, rank))
        by_feature |= any((index_loop(step.results[0]) or 0) >= loops or len(step.regions) for step in steps)
        layout = shape_of(out.value.type).layout
        if by_feature or not all(layout.is_plain(dim) for dim in range(loops, rank)):
            return None
        return _Rows(nest, row, loops, steps, read)

    def positions(self, adjoint: Adjoint) -> ir.Value:
        """The row that each of the other loops takes."""

        def position(given: list[ir.Value]) -> ir.Value:
            known = {self.nest.elements[k]: value for k, value in zip(self.read, given, strict=True)}
            for step in self.steps:
                clone(step, known)
            return build.to_i64(known.get(self.row, self.row))

        ins = [
            Access(adjoint.likes[k].value, ir.AffineMap.get(self.loops, 0, list(self.nest.ins[k].map.results)))
            for k in self.read
        ]
        features = frozenset(range(self.loops, len(self.nest.kinds)))
        like = empty_without(self.nest.outs[0].value, features, build.i64())
        return mapped(ins, Access(like, ir.AffineMap.get_identity(self.loops)), self.nest.kinds[: self.loops], position)
