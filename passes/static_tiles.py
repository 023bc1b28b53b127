"""Elementwise ops on ragged tensors of static shape, out of the reach of upstream's folders.

`tensor<2x2xi32, #ragged.layout<"dt">>` has 3 or 4 elements: its shape does not tell. Upstream folds
`x - x` of a static shape to a constant of that type, which no longer knows how many. As
`linalg.generic` the op keeps an operand that does.
"""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.generic import generic
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.iteration import is_elementwise
from ragged_dialect.passes.rewriting import walk
from ragged_dialect.types import is_ragged, is_tensor, shape_of


def generalize_static_tiles(module: ir.Operation) -> None:
    """Rewrite every elementwise op of a module whose result is ragged and of static shape."""
    for op in [op for op in walk(module, bodies=False) if _is_foldable(op)]:
        with ir.InsertionPoint(op), op.location:
            _generalize(op)


def _is_foldable(op: ir.Operation) -> bool:
    if not is_elementwise(op) or len(op.results) != 1:
        return False
    result = op.results[0].type
    if not is_ragged(result) or None in shape_of(result).shape:
        return False
    return any(is_ragged(v.type) for v in op.operands) and not _picks_whole(op)


def _picks_whole(op: ir.Operation) -> bool:
    return op.name == "arith.select" and not is_tensor(op.operands[0].type)


def _generalize(op: ir.Operation) -> None:
    tensors = [v for v in op.operands if is_tensor(v.type)]
    result = op.results[0].type
    like = next(v for v in tensors if is_ragged(v.type))
    out = builders.empty([like], result)
    maps = [ir.AffineMap.get_identity(len(result.shape))] * (len(tensors) + 1)
    made = generic(tensors, [out], maps, ["parallel"] * len(result.shape), lambda elements: [_scalar(op, elements)])
    op.results[0].replace_all_uses_with(made.result)
    op.erase()


def _scalar(op: ir.Operation, elements: list[ir.Value]) -> ir.Value:
    """The op on one element of every tensor."""
    arguments = iter(elements)
    scalars = [next(arguments) if is_tensor(v.type) else v for v in op.operands]
    attributes = copy_attributes(op)
    element = op.results[0].type.element_type
    return ir.Operation.create(op.name, results=[element], operands=scalars, attributes=attributes).result
