"""`sequence-ragged-scans`: running folds in one pass over every component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.match import definer, made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.combiners import NEUTRAL, neutral_constant
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source
from ragged_dialect.types import shape_of, tensor_type


@dataclass(frozen=True)
class SequenceRaggedScans(RaggedPass):
    """Make one pass of the loops marked `ragged.running`, whose passes are as many as the logarithm of the longest
    component: a processor has each component on one thread, and goes over it once.

    ```mlir
    scf.for %k … iter_args(%x = %x0) { %y = linalg.generic … arith.addf of %x[…, %i - 2**%k, …] and %x[…, %i, …] … }
    // becomes
    %sums, %y = linalg.generic {…, "reduction", …} ins(%x0) outs(%zeros, %e) { %s = arith.addf %sum, %a … yield %s, %s }
    ```

    A loop whose body is not what the mark says stays. Precondition: layouts are known; before convert-ragged-to-scf.
    """

    name: ClassVar[str] = "sequence-ragged-scans"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the marked loops of a module."""
        for loop in find_ops(op, "scf.for"):
            found = _scan_of(loop) if flow.RUNNING in loop.attributes else None
            if found is not None:
                with ir.InsertionPoint(loop), loop.location:
                    loop.results[0].replace_all_uses_with(_sequence(loop.operands[3], found))
                loop.erase()


class _Scan(NamedTuple):
    """The dim of running folds, and what combines."""

    dim: int
    combiner: ir.Operation


def _scan_of(loop: ir.Operation) -> _Scan | None:
    """What a loop scans; None for one that combines otherwise than by one op."""
    block = loop.regions[0].blocks[0]
    generics = [op.operation for op in block.operations if op.operation.name == "linalg.generic"]
    if len(generics) != 1 or len(loop.results) != 1:
        return None
    body, carried = generics[0].regions[0].blocks[0], block.arguments[1]
    yields = list(block.operations)[-1].operands[0] == generics[0].results[0]
    if not yields or list(generics[0].operands)[:-1] != [carried]:
        return None
    element = body.arguments[0]
    chosen = made_by(list(body.operations)[-1].operands[0], "arith.select")
    if chosen is None or chosen.operands[2] != element:
        return None
    extracts = find_ops(generics[0], "tensor.extract")
    combiner = definer(chosen.operands[1]) if not isinstance(chosen.operands[1].owner, ir.Block) else None
    if combiner is None or combiner.name not in NEUTRAL or len(extracts) != 1 or extracts[0].operands[0] != carried:
        return None
    moved = [k for k, x in enumerate(list(extracts[0].operands)[1:]) if made_by(x, "linalg.index") is None]
    if list(combiner.operands) != [extracts[0].results[0], element] or len(moved) != 1:
        return None
    return _Scan(moved[0], combiner)


def _sequence(x: ir.Value, scan: _Scan) -> ir.Value:
    type_ = x.type
    rank, element = len(type_.shape), type_.element_type
    whole = ir.AffineMap.get_identity(rank)
    kept = [k for k in range(rank) if k != scan.dim]
    maps = [whole, ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(k) for k in kept]), whole]
    kinds = ["reduction" if k == scan.dim else "parallel" for k in range(rank)]
    shape = shape_of(type_)
    start = neutral_constant(element, NEUTRAL[scan.combiner.name])
    folded = shapes.fill(start, _empty(x, shape.reduce(frozenset({scan.dim})), kept))
    out = _empty(x, shape, list(range(rank)))

    def body(given: list[ir.Value]) -> list[ir.Value]:
        attributes = copy_attributes(scan.combiner)
        made = ir.Operation.create(scan.combiner.name, [element], [given[1], given[0]], attributes).result
        return [made, made]

    return generic([x], [folded, out], maps, kinds, body).results[1]


def _empty(x: ir.Value, shape: RaggedShape, dims: list[int]) -> ir.Value:
    """An uninitialised tensor with the levels `dims` of another one."""
    type_ = tensor_type(shape, x.type.element_type)
    if shape.layout.is_dense:
        sizes = [tensor.dim(x, build.value(dim)) if e is None else e for e, dim in zip(shape.shape, dims, strict=True)]
        return shapes.cast(shapes.empty(sizes, x.type.element_type), type_)
    plain = [shape.layout.is_plain(k) for k in range(shape.rank)]
    sources = [None if plain[k] else Source(0, dim) for k, dim in enumerate(dims)]
    sized = [dim for k, dim in enumerate(dims) if plain[k] and shape.shape[k] is None]
    return builders.empty([x], type_, sources, [tensor.dim(x, build.value(dim)) for dim in sized])
