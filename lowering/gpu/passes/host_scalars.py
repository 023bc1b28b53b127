"""Which scalars of the device the host will read: those that it computes sizes and bounds of."""

from __future__ import annotations

from collections.abc import Iterator

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import blocks_of, defining_op

_NEEDY = frozenset({"memref.alloc", "scf.forall"})
_CONTROL = frozenset({"scf.for", "scf.if", "scf.while"})


def host_scalars(block: ir.Block) -> frozenset[ir.Value]:
    """The scalars that a function's block loads or folds and of each of which alone, by arithmetic on integers, follows
    the size of a buffer, or how often or whether something runs."""
    found = [_sources(x) for x in _needs(block)]
    return frozenset(x for sources in found if len(sources) == 1 for x in sources)


def is_integer_arithmetic(op: ir.Operation) -> bool:
    """Whether an op computes integers of integers, which the host does as the device would."""
    integers = (ir.IndexType, ir.IntegerType)
    return op.name.startswith(("arith.", "math.")) and all(
        isinstance(x.type, integers) for x in (*op.operands, *op.results)
    )


def _needs(block: ir.Block) -> Iterator[ir.Value]:
    """What ops need that only the host does, and the control flow around them."""
    for op in (o.operation for o in block.operations):
        if op.name in _NEEDY:
            yield from op.operands
        elif op.name in _CONTROL:
            inside = [x for inner in blocks_of(op) for x in _needs(inner)]
            yield from (*op.operands, *inside) if inside else ()


def _sources(x: ir.Value) -> set[ir.Value]:
    """What integer arithmetic makes a value of, but for extents and arguments."""
    seen, found, left = {x}, set[ir.Value](), [x]
    while left:
        value = left.pop()
        op = defining_op(value)
        if op is None:
            continue
        if is_integer_arithmetic(op):
            left += {*op.operands} - seen
            seen |= {*op.operands}
        elif op.name in ("memref.load", *_CONTROL):
            found.add(value)
    return found
