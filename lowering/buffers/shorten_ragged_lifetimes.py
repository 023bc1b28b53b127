"""`shorten-ragged-lifetimes`: buffers are allocated where they are used first, and freed after their last use."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import in_block
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_buffer
from ragged_dialect.passes.base import RaggedPass

_ACCESSES = ("linalg.", "vector.", "func.call")
_MEMORY = frozenset(f"memref.{name}" for name in ("atomic_rmw", "copy", "dim", "load", "prefetch", "store"))


class ShortenRaggedLifetimes(RaggedPass):
    """Move allocations down to the first use of their buffers, and deallocations up to the last one.

    ```mlir
    %a = memref.alloc(%n) …
    %b = memref.alloc(%n) …
    use(%a)
    use(%b)
    memref.dealloc %a
    memref.dealloc %b
    // becomes
    %a = memref.alloc(%n) …
    use(%a)
    memref.dealloc %a
    %b = memref.alloc(%n) …
    use(%b)
    memref.dealloc %b
    ```

    Else all that a program makes would be kept to its end, and its peak be the sum of its temporaries. Buffers without
    one deallocation, in their block, and those that loops or branches carry, as results, are freed where they are; all
    where there are several blocks. Preconditions: bufferized, deallocated, parallel loops are not outlined yet.
    """

    def run(self, op: ir.Operation) -> None:
        """Move what allocates and frees in every function of a module."""
        for alloc in find_ops(op, "memref.alloc"):
            block = alloc.block
            if len(block.region.blocks) > 1:  # uses in others have no place in this one
                continue
            users, frees = _users(alloc.results[0])
            if users and len(frees) == 1 and frees[0].block == block:
                first, last = _ends(users, block)
                alloc.move_before(first)
                frees[0].move_after(last)
            elif uses := list(alloc.results[0].uses):  # of a result, which is no use of what was freed before it
                alloc.move_before(_ends([use.owner.operation for use in uses], block)[0])


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


def _ends(users: list[ir.Operation], block: ir.Block) -> tuple[ir.Operation, ir.Operation]:
    """The first and the last op of a block that users are, or are in."""
    places = [place for user in users if (place := in_block(user, block)) is not None]
    first = last = places[0]
    for place in places:
        first = place if place.is_before_in_block(first) else first
        last = place if last.is_before_in_block(place) else last
    return first, last
