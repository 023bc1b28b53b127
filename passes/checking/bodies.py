"""Asserts in the bodies of linalg ops: no check can leave a loop over elements, so the conditions are
combined over all of them first."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import generic, indexing_maps
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.types import dense_type


def check_body(op: ir.Operation) -> None:
    """Put a `cf.assert` in front of a linalg op for every one in its body."""
    if not op.name.startswith("linalg.") or not op.results or not op.regions:
        return
    body = op.regions[0].blocks[0]
    for found in [inner.operation for inner in body.operations if inner.operation.name == "cf.assert"]:
        with ir.InsertionPoint(op), found.location:
            condition = _holds_everywhere(op, body, found.operands[0])
            ir.Operation.create("cf.assert", operands=[condition], attributes={"msg": found.attributes["msg"]})


def _holds_everywhere(op: ir.Operation, body: ir.Block, condition: ir.Value) -> ir.Value:
    """Whether a condition in the body holds for all elements."""
    maps = indexing_maps(op)
    i64 = ir.IntegerType.get_signless(64)
    start = tensor.from_elements(dense_type((), i64), [arith.constant(i64, 1)])

    def payload(elements: list[ir.Value]) -> list[ir.Value]:
        known: ValueMap = dict(zip(body.arguments, elements, strict=False))
        for inner in _needed(body, condition):
            clone(inner, known)
        return [arith.andi(elements[-1], arith.extui(i64, known.get(condition, condition)))]

    # The outs are read too, or at least give extents: they may be all that has some loop.
    rank = maps[0].n_dims
    scalar = ir.AffineMap.get(rank, 0, [])
    made = generic(list(op.operands), [start], [*maps, scalar], ["reduction"] * rank, payload)
    return build.unequal(tensor.extract(made.result, []), arith.constant(i64, 0))


def _needed(body: ir.Block, value: ir.Value) -> list[ir.Operation]:
    """The ops of the body that a value is computed by, in order."""
    wanted, found = {value}, list[ir.Operation]()
    for inner in reversed([o.operation for o in body.operations]):
        if any(result in wanted for result in inner.results):
            wanted.update(inner.operands)
            found.insert(0, inner)
    return found
