"""What one reduction of rows and a later one have in common, which needs what the first made, but of a part of the rows
could do with what the first makes of that."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import indexing_maps, input_count, iterator_kinds, outs_of
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.match import defining_op
from ragged_dialect.lowering.buffers.subviews import is_address, is_allocation, is_buffer, root
from ragged_dialect.lowering.skew.parts import Parts


def written_by(op: ir.Operation) -> list[ir.Value]:
    """What an op writes to: whatever it may, where it is none that is known."""
    if op.name.startswith("linalg."):
        return outs_of(op)
    return [] if is_address(op) or op.name == "memref.load" else [x for x in op.operands if is_buffer(x)]


def arguments_of(op: ir.Operation) -> list[ir.Value]:
    """The elements that a generic has of its operands."""
    return list(op.regions[0].blocks[0].arguments)


def can_follow(first: ir.Operation, second: ir.Operation, between: list[ir.Operation], shift: int) -> bool:
    """Whether what a generic reads, but for operand `shift`, is what another one reads, and none of it is written
    meanwhile."""
    ins = list(second.operands)[: input_count(second)]
    read = [x for k, x in enumerate(ins) if k != shift]
    written = [root(x) for op in between for x in written_by(op)]
    known = all(x in list(first.operands) for x in read)
    return known and all(is_allocation(x) and x not in map(root, read) for x in written)


def is_of_same(first: Parts, number: int, second: Parts, shift: int, g: ir.Value) -> bool:
    """Whether a result folds what is g in another op, over the same rows and of the same elements as operand `shift`
    of that has."""
    maps, others = indexing_maps(first.op), indexing_maps(second.op)
    known = [(x, maps[k], a) for k, (x, a) in enumerate(zip(first.op.operands, arguments_of(first.op), strict=True))]
    alike = {
        b: a
        for x, map_, a in known
        for k, (y, b) in enumerate(zip(second.op.operands, arguments_of(second.op), strict=True))
        if x == y and map_ == others[k]
    }

    def same(a: ir.Value, b: ir.Value) -> bool:
        if b in alike or a == b:
            return a == alike.get(b, b)
        one, other = defining_op(a), defining_op(b)
        if one is None or other is None or one.name != other.name or len(one.regions) or not len(one.operands):
            return False
        pairs = zip(one.operands, other.operands, strict=True)
        return copy_attributes(one) == copy_attributes(other) and all(same(*pair) for pair in pairs)

    loops = iterator_kinds(first.op) == iterator_kinds(second.op) and first.loop == second.loop
    return loops and maps[number] == others[shift] and same(first.combiners[number].element, g)
