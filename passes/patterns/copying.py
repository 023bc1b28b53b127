"""Loops that only copy: the values that they copy stand for them."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps
from ragged_dialect.passes.analysis.loop_nest import Operand
from ragged_dialect.passes.patterns.matching import shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter, may_cast
from ragged_dialect.types import is_tensor, tensor_type


def copy_of_operand(op: ir.Operation, rewriter: Rewriter) -> bool:
    """generic that yields an operand as it is -> the operand, and compact(x) of windows. Upstream's pattern makes a
    `tensor.cast` between layouts; what a dense operand is copied to has lengths, and stays a loop, and so does what is
    copied where another operand has elements alone.
    """
    operations = list(op.regions[0].blocks[0].operations)
    if len(op.results) != 1 or len(operations) != 1:
        return False
    arguments = list(op.regions[0].blocks[0].arguments)
    number = next((k for k, argument in enumerate(arguments) if argument == operations[0].operands[0]), None)
    maps = indexing_maps(op)
    if number is None or not is_tensor(op.operands[number].type):
        return False
    source, result, identity = op.operands[number], op.results[0], ir.AffineMap.get_identity(maps[-1].n_dims)
    if maps[number] != identity or maps[-1] != identity:
        return False
    own = Operand(source, identity).partial_loops()
    if not all(Operand(x, m).partial_loops() <= own for x, m in zip(op.operands, maps, strict=True)):
        return False
    if may_cast(source.type, result.type):
        return rewriter.replace(op, source)
    if not shape(source).layout.has_windows:
        return False
    if not may_cast(tensor_type(shape(source).compact(), source.type.element_type), result.type):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.compact(source))


PATTERNS: dict[str, tuple[Pattern, ...]] = {"linalg.generic": (copy_of_operand,)}
