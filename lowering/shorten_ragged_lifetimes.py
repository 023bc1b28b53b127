"""`shorten-ragged-lifetimes`: buffers are allocated where they are used first, and freed after their last use."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import in_block
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers import VIEWS, is_buffer
from ragged_dialect.passes.base import RaggedPass

_ACCESSES = ("linalg.", "vector.", "func.call")
_MEMORY = frozenset(f"memref.{name}" for name in ("atomic_rmw", "copy", "dim", "load", "prefetch", "store"))


@dataclass(frozen=True)
class ShortenRaggedLifetimes(RaggedPass):
    """Move allocations down to the first use of their buffers, and deallocations up to the last one, into branches.

    ```mlir
    %a = memref.alloc(%n) …
    %b = memref.alloc(%n) …
    use(%a)
    %r = scf.if %ok { use(%a, %b) … scf.yield } else { scf.yield }
    memref.dealloc %a
    memref.dealloc %b
    // becomes
    %a = memref.alloc(%n) …
    use(%a)
    %r = scf.if %ok {
      %b = memref.alloc(%n) …
      use(%a, %b)
      memref.dealloc %b
      memref.dealloc %a
      …
    } else { memref.dealloc %a … }
    ```

    What follows a run-time check is in a branch of it, so that all that was there before would be kept to the end, and
    the peak of a program be the sum of its temporaries. Only for buffers with one deallocation, in their block, that
    neither loops nor branches carry. Preconditions: bufferized, deallocated, parallel loops are not outlined yet.
    """

    name: ClassVar[str] = "shorten-ragged-lifetimes"

    def run(self, op: ir.Operation) -> None:
        """Move what allocates and frees in every function of a module."""
        for alloc in find_ops(op, "memref.alloc"):
            users, frees = _users(alloc.results[0])
            if users and len(frees) == 1 and frees[0].block == alloc.block:
                _allocate_late(alloc, frees[0], users)
                _free_early(frees[0], users)


def _users(buffer: ir.Value) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The ops that access a buffer or its views, and those that free it. No users where it goes elsewhere."""
    users: list[ir.Operation] = []
    frees: list[ir.Operation] = []
    values = [buffer]
    for value in values:
        for use in value.uses:
            op = use.owner.operation
            if op.name == "memref.dealloc":
                frees.append(op)
                continue
            if op.name in VIEWS:
                values.append(op.results[0])
            elif (op.name not in _MEMORY and not op.name.startswith(_ACCESSES)) or any(map(is_buffer, op.results)):
                return [], []
            users.append(op)
    return users, frees


def _ends(users: Iterable[ir.Operation], block: ir.Block) -> tuple[ir.Operation, ir.Operation] | None:
    """The first and the last op of a block that some ops are, or are in; None where all are outside."""
    found = [top for op in users if (top := in_block(op, block)) is not None]
    if not found:
        return None
    first = last = found[0]
    for op in found:
        first = op if op.is_before_in_block(first) else first
        last = op if last.is_before_in_block(op) else last
    return first, last


def _allocate_late(alloc: ir.Operation, free: ir.Operation, users: list[ir.Operation]) -> None:
    """Move an allocation before its first use, and with its deallocation into the one branch that has all uses."""
    ends = _ends(users, alloc.block)
    assert ends is not None
    first, last = ends
    if first == last and first.name == "scf.if":
        for region in first.regions:
            if len(region.blocks) and all(in_block(op, region.blocks[0]) for op in users):
                operations = region.blocks[0].operations
                alloc.move_before(operations[0].operation)
                free.move_before(operations[len(operations) - 1].operation)
                _allocate_late(alloc, free, users)
                return
    alloc.move_before(first)


def _free_early(free: ir.Operation, users: list[ir.Operation]) -> None:
    """Move a deallocation behind the last use in its block, or into both branches there."""
    ends = _ends(users, free.block)
    if ends is None:
        return
    last = ends[1]
    if last.name != "scf.if" or not all(len(region.blocks) for region in last.regions):
        free.move_after(last)
        return
    for region in last.regions:
        with ir.InsertionPoint.at_block_begin(region.blocks[0]):
            _free_early(free.clone().operation, users)
    free.erase()
