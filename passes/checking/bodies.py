"""Asserts and indices in the bodies of linalg ops: no check can leave a loop over elements, so they are combined over
all of them first."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import generic, indexing_maps
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.walk import is_outside
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.types import dense_type, is_ragged


def check_body(emit: Emitter, op: ir.Operation, dense: bool) -> None:
    """Put a `cf.assert` in front of a linalg op for every one in its body, and with `dense` checks of the
    indices of every `tensor.extract` of a dense tensor."""
    if not op.name.startswith("linalg.") or not op.results or not op.regions:
        return
    for found in [inner.operation for inner in op.regions[0].blocks[0].operations]:
        with ir.InsertionPoint(op), found.location:
            if found.name == "cf.assert":
                (condition,) = _over_all(emit, op, found.operands[0:1], [(1, arith.extui, arith.andi)])
                holds = build.unequal(condition, 0)
                ir.Operation.create("cf.assert", operands=[holds], attributes={"msg": found.attributes["msg"]})
            elif dense and found.name == "tensor.extract" and not is_ragged(found.operands[0].type):
                _check_indices(emit, op, found)


def _check_indices(emit: Emitter, op: ir.Operation, extract: ir.Operation) -> None:
    x, *indices = extract.operands
    if not indices or not is_outside(x, op):
        return
    # Unsigned, a negative index is the largest. Without elements there is none: 0 is in [0, 1) then.
    steps = [(0, arith.index_cast, arith.maxui)] * len(indices)
    *worst, some = _over_all(
        emit, op, [*indices, indices[0]], [*steps, (0, lambda type_, _: build.constant(type_, 1), arith.ori)]
    )
    some = build.unequal(some, 0)
    emit.named(extract.name)
    for dim, index in enumerate(worst):
        bound = arith.select(some, emit.index(emit.extent(x, dim)), emit.index(1))
        emit.valid("index", dim, arith.index_cast(ir.IndexType.get(), index), bound)


Step = tuple[int, Callable[[ir.Type, ir.Value], ir.Value], Callable[[ir.Value, ir.Value], ir.Value]]
"""What to start from, what makes an i64 (of a type and a value), what combines two."""


def _over_all(emit: Emitter, op: ir.Operation, values: Sequence[ir.Value], steps: Sequence[Step]) -> list[ir.Value]:
    """Values of the body combined over all elements, each by a step of its own, as i64."""
    maps, body = indexing_maps(op), op.regions[0].blocks[0]
    i64 = ir.IntegerType.get_signless(64)
    starts = [tensor.from_elements(dense_type((), i64), [arith.constant(i64, step[0])]) for step in steps]

    def payload(elements: list[ir.Value]) -> list[ir.Value]:
        known: ValueMap = dict(zip(body.arguments, elements, strict=False))
        for inner in _needed(body, values):
            clone(inner, known)
        return [
            combine(sofar, convert(i64, known.get(value, value)))
            for value, sofar, (_, convert, combine) in zip(values, elements[-len(steps) :], steps, strict=True)
        ]

    # The outs are read too, or at least give extents: they may be all that has some loop.
    rank = maps[0].n_dims
    scalar = ir.AffineMap.get(rank, 0, [])
    operands = [emit.behind(x) if isinstance(x.type, ir.RankedTensorType) else x for x in op.operands]
    made = generic(operands, starts, [*maps, *[scalar] * len(steps)], ["reduction"] * rank, payload)
    return [tensor.extract(result, []) for result in made.results]


def _needed(body: ir.Block, values: Sequence[ir.Value]) -> list[ir.Operation]:
    """The ops of the body that values are computed by, in order."""
    wanted, found = set(values), list[ir.Operation]()
    for inner in reversed([o.operation for o in body.operations]):
        if any(result in wanted for result in inner.results):
            wanted.update(inner.operands)
            found.insert(0, inner)
    return found
