"""Ops with what is inside their regions: finding some of them, what they capture, putting values in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, count

from ragged_dialect._mlir import Op, ir
from ragged_dialect.handles import visit_all
from ragged_dialect.ir.match import blocks_of, is_read


def ops_in(root: Op, closed: Callable[[ir.Operation], bool] | None = None) -> list[ir.Operation]:
    """An op and the ops inside it, outer ones first; nothing that is inside of a `closed` one."""
    found: list[ir.Operation] = []
    add, advance, skip = found.append, ir.WalkResult.ADVANCE, ir.WalkResult.SKIP

    def visit(op: ir.Operation) -> ir.WalkResult:
        add(op)
        return advance

    if closed is None:
        visit_all(root.operation, visit, ir.WalkOrder.PRE_ORDER)
    else:
        root.operation.walk(lambda op: skip if add(op) or closed(op) else advance, ir.WalkOrder.PRE_ORDER)
    return found


def inside(root: ir.Operation) -> Iterator[ir.Operation]:
    """The ops inside of an op, outer ones first, as far as they are asked for."""
    for block in blocks_of(root):
        for op in block.operations:
            yield op.operation
            yield from inside(op.operation)


def find_ops(root: Op, *names: str) -> list[ir.Operation]:
    """The ops of some names among an op and those inside it, outer ones first."""
    return [op for op in ops_in(root) if op.name in names]


def outermost(root: Op, name: str) -> list[ir.Operation]:
    """The ops of a name inside an op that are in no other one of it."""
    return [op for op in ops_in(root, lambda op: op.name == name) if op.name == name]


def is_outside(x: ir.Value, region: Op) -> bool:
    """Whether a value is defined outside of an op with regions."""
    block = x.owner if isinstance(x.owner, ir.Block) else x.owner.operation.block
    while block.owner.operation.name != "func.func":
        if block.owner.operation == region.operation:
            return False
        block = block.owner.operation.block
    return True


def touches_memory(root: Op) -> bool:
    """Whether an op, or one in its regions, reads or writes buffers, or calls what may: it stays between its neighbours
    that do."""
    buffers = (ir.MemRefType, ir.UnrankedMemRefType)
    return any(
        op.name.startswith(("func.call", "llvm.")) or any(isinstance(v.type, buffers) for v in op.operands)
        for op in ops_in(root)
    )


def values_in(ops: Iterable[Op]) -> list[ir.Value]:
    """What is defined by some ops and inside them: results, and arguments of blocks."""
    inside = [op for root in ops for op in ops_in(root)]
    arguments = (a for op in inside for block in blocks_of(op) for a in block.arguments)
    return [*(r for op in inside for r in op.results), *arguments]


def captures(ops: Iterable[Op], arguments: Iterable[ir.Value] = ()) -> list[ir.Value]:
    """Values used in some ops and their regions and defined outside, in order of first use.
    `arguments` count as inside."""
    inside: set[ir.Value] = set(arguments)
    found: dict[ir.Value, None] = {}
    for root in ops:
        for op in ops_in(root):
            for operand in op.operands:
                if operand not in inside:
                    found.setdefault(operand)
            inside.update(op.results)
            for block in blocks_of(op):
                inside.update(block.arguments)
    return list(found)


def made_with(values: Iterable[ir.Value], ops: Iterable[Op]) -> list[ir.Operation]:
    """Those of some ops in order that use values, or what these make of them."""
    known, found = set(values), list[ir.Operation]()
    for op in ops:
        if any(x in known for x in captures([op])):
            known.update(op.operation.results)
            found.append(op.operation)
    return found


def makers(values: Iterable[ir.Value], ops: Sequence[ir.Operation]) -> list[ir.Operation]:
    """The ops among some of one block that make values, or what these are made of, in order."""
    wanted, found = set(values), list[ir.Operation]()
    for op in reversed(ops):
        if any(result in wanted for result in op.results):
            wanted.update(captures([op]))
            found.append(op)
    return found[::-1]


def append(block: ir.Block, ops: Iterable[Op]) -> None:
    """Move ops to the end of a block."""
    for op in list(ops):
        block.append(op.operation.detach_from_parent())


def free_symbol(module: ir.Operation, wanted: str) -> str:
    """The wanted name, or one made of it, that no symbol of a module has."""
    taken = ir.SymbolTable(module)
    numbered = (f"{wanted}_{number}" for number in count(1))
    return next(name for name in chain([wanted], numbered) if name not in taken)


def locate(root: ir.Operation, location: ir.Location) -> None:
    """Give an op, and all in it, a location: that of what a text of our own is made for."""

    def move(op: ir.Operation) -> ir.WalkResult:
        op.location = location
        return ir.WalkResult.ADVANCE

    root.walk(move)


def replace(op: Op, *values: ir.Value | None) -> None:
    """Put values in place of the first results of an op, None for those that nothing reads, as it does what is behind
    them; erase the op."""
    for result, value in zip(op.operation.results, values, strict=False):
        if value is not None:
            result.replace_all_uses_with(value)
    op.operation.erase()


def erase_unused(ops: Iterable[Op]) -> None:
    """Erase those of some ops, the last one first, of which nothing reads a result."""
    for op in reversed([op.operation for op in ops]):
        if not is_read(*op.results):
            op.erase()
