"""The transpose of what bodies gather: every element is added to where it was taken from."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build
from ragged_dialect.ir.walk import captures
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.differentiate.adjoint import Adjoint
from ragged_dialect.passes.differentiate.nests import Access, mapped
from ragged_dialect.passes.differentiate.scatter import Place, added, flat
from ragged_dialect.passes.differentiate.values import element_of, empty_like
from ragged_dialect.passes.differentiate.views import storage_of
from ragged_dialect.types import is_tensor


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
            raise PassFailure(
                nest.op, f"ragged-differentiate: expected gathers outside of branches, got one in '{op.operation.name}'"
            )
        if op.operation.name == "tensor.extract" and op.operation.operands[0] == value:
            adjoint.ctx.add(value, _of_extract(adjoint, number, like))


def _of_extract(adjoint: Adjoint, number: int, like: ir.Value) -> ir.Value:
    """The cotangent of a tensor from one gather of a body."""
    nest = adjoint.nest
    if nest.reduces or not nest.outs[0].map.is_permutation:
        raise PassFailure(
            nest.op, f"ragged-differentiate: expected a gather without a reduction, got one in '{nest.op.name}'"
        )
    place = Place(like)
    ins = [*adjoint.likes, adjoint.given]
    out = nest.outs[0]

    def term(given: list[ir.Value]) -> ir.Value:
        return adjoint.gathered(number, given)[0]

    def position(given: list[ir.Value]) -> ir.Value:
        return build.to_i64(place.of(list(adjoint.gathered(number, given)[1])))

    element = element_of(like.type)
    terms = mapped(ins, Access(empty_like(out.value, element), out.map), nest.kinds, term)
    positions = mapped(ins, Access(empty_like(out.value, build.i64()), out.map), nest.kinds, position)
    return added(flat(storage_of(terms)), flat(storage_of(positions)), like)
