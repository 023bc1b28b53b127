"""Running folds: loops marked `ragged.running`, whose passes are as many as the logarithm of the longest component."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checks import CHECKED
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.match import definer, made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.layout import RAGGED
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.types import shape_of

Combine = Callable[[ir.Value, ir.Value], ir.Value]


@dataclass(frozen=True)
class RunningFold:
    """What a marked loop computes: of `start`, along `dim`, from its first element on or `backwards`, in so many
    `passes`, each of which combines what is folded so far with an element by `combiner`."""

    start: ir.Value
    passes: ir.Value
    dim: int
    combiner: ir.Operation
    backwards: bool

    @staticmethod
    def of(loop: ir.Operation) -> RunningFold | None:
        """The fold of an `scf.for`; None for a loop without the mark, or one that combines otherwise than by one op."""
        return _fold_of(loop) if flow.RUNNING in loop.attributes and len(loop.results) == 1 else None


def running_fold(x: ir.Value, passes: ir.Value, dim: int, combine: Combine, backwards: bool = False) -> ir.Value:
    """A tensor folded along a dim: `combine` gets what is folded of the elements before, and an element. Every pass
    combines each element with what is twice as far away; of `passes` the last reaches over the longest component."""
    end = _end(x, dim) if backwards else None

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        distance = arith.shli(build.value(1), number)
        return [_pass(state[0], empty_like(x), dim, distance, combine, end)]

    made = flow.for_loop(passes, [x], step)[0]
    definer(made).attributes[flow.RUNNING] = ir.UnitAttr.get()
    return made


def passes_over(x: ir.Value, dim: int) -> ir.Value:
    """How many passes reach over the longest component of a dim."""
    longest = builders.max_length(x, dim) if shape_of(x.type).layout.letter(dim) in RAGGED else shapes.dim(x, dim)
    zeros = ir.Operation.create("math.ctlz", results=[build.i64()], operands=[build.to_i64(build.value(longest))])
    return build.to_index(arith.subi(build.constant(build.i64(), 64), zeros.result))


def _end(x: ir.Value, dim: int) -> ir.Value:
    """How many elements a dim has: an index, or of a level whose components differ a tensor over the dims that are
    left."""
    layout = shape_of(x.type).layout
    if layout.letter(dim) == "d" and not layout.is_split_outer(dim):
        return build.value(shapes.dim(x, dim))
    out = shapes.fill(build.constant(build.i64(), 0), empty_without(x, frozenset({dim}), build.i64()))
    rank = len(x.type.shape)
    maps = [ir.AffineMap.get_identity(rank), without(rank, dim)]
    kinds = ["reduction" if k == dim else "parallel" for k in range(rank)]
    return generic([x], [out], maps, kinds, lambda e: [arith.addi(e[1], build.constant(build.i64(), 1))]).result


def without(rank: int, dim: int) -> ir.AffineMap:
    """The loops of all dims but one."""
    return ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(k) for k in range(rank) if k != dim])


def _pass(x: ir.Value, out: ir.Value, dim: int, distance: ir.Value, combine: Combine, end: ir.Value | None) -> ir.Value:
    """Every element with the one `distance` before it, or behind it where there is an end."""
    rank = len(x.type.shape)
    whole = ir.AffineMap.get_identity(rank)
    ends = [end] if end is not None and isinstance(end.type, ir.RankedTensorType) else []

    def body(given: list[ir.Value]) -> list[ir.Value]:
        indices = [loop_index(k) for k in range(rank)]
        if end is None:
            there = arith.cmpi(arith.CmpIPredicate.sge, indices[dim], distance)
            other = arith.subi(indices[dim], distance)
        else:
            other = arith.addi(indices[dim], distance)
            there = arith.cmpi(arith.CmpIPredicate.slt, other, build.to_index(given[1]) if ends else end)
        indices[dim] = arith.select(there, other, indices[dim])
        both = combine(tensor.extract(x, indices), given[0])
        return [arith.select(there, both, given[0])]

    maps = [whole, *(without(rank, dim) for _ in ends), whole]
    made = generic([x, *ends], [out], maps, ["parallel"] * rank, body)
    made.attributes[CHECKED] = ir.UnitAttr.get()  # the loop carries values of one structure, which no pass sees
    return made.result


def _fold_of(loop: ir.Operation) -> RunningFold | None:
    block = loop.regions[0].blocks[0]
    generics = [op.operation for op in block.operations if op.operation.name == "linalg.generic"]
    if len(generics) != 1:
        return None
    body, carried = generics[0].regions[0].blocks[0], block.arguments[1]
    yields = list(block.operations)[-1].operands[0] == generics[0].results[0]
    if not yields or generics[0].operands[0] != carried:
        return None
    element = body.arguments[0]
    chosen = made_by(list(body.operations)[-1].operands[0], "arith.select")
    if chosen is None or chosen.operands[2] != element or isinstance(chosen.operands[1].owner, ir.Block):
        return None
    combiner = definer(chosen.operands[1])
    extracts = [op for op in find_ops(generics[0], "tensor.extract") if op.operands[0] == carried]
    if len(extracts) != 1 or list(combiner.operands) != [extracts[0].results[0], element]:
        return None
    moved = [
        (k, other)
        for k, x in enumerate(list(extracts[0].operands)[1:])
        if (other := made_by(x, "arith.select")) is not None
    ]
    if len(moved) != 1:
        return None
    ((dim, other),) = moved
    backwards = made_by(other.operands[1], "arith.addi") is not None
    return RunningFold(loop.operands[3], loop.operands[1], dim, combiner, backwards)
