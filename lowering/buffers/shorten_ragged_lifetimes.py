"""`shorten-ragged-lifetimes`: buffers are allocated where they are used first, and freed after their last use."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import enclosing, terminator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers.subviews import VIEWS, is_buffer
from ragged_dialect.passes.base import RaggedPass

_ACCESSES = ("linalg.", "vector.", "func.call")
_MEMORY = frozenset(f"memref.{name}" for name in ("atomic_rmw", "copy", "dim", "load", "prefetch", "store"))


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
    the peak of a program be the sum of its temporaries. Buffers without one deallocation, in their block, and those
    that loops or branches carry, as results, stay in their block; all where there are several blocks. Preconditions:
    bufferized, deallocated, parallel loops are not outlined yet.
    """

    def run(self, op: ir.Operation) -> None:
        """Move what allocates and frees in every function of a module."""
        for alloc in find_ops(op, "memref.alloc"):
            if len(alloc.block.region.blocks) > 1:  # uses in others have no place in this one
                continue
            users, frees = _users(alloc.results[0])
            if users and len(frees) == 1 and frees[0].block == alloc.block:
                paths = [_path(user, alloc.block) for user in users]
                _free_early(frees[0], paths, _allocate_late(alloc, frees[0], paths))
            elif uses := list(alloc.results[0].uses):  # of a result, which is no use of what was freed before it
                alloc.move_before(_ends([_path(use.owner.operation, alloc.block) for use in uses], 0)[0])


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


def _path(op: ir.Operation, block: ir.Block) -> list[ir.Operation]:
    """The op of a block that an op is in, the one below it, and so on down to the op itself."""
    path = [op]
    while path[-1].block != block:
        path.append(enclosing(path[-1]))
    return path[::-1]


def _ends(paths: list[list[ir.Operation]], depth: int) -> tuple[ir.Operation, ir.Operation]:
    """The first and the last op of a block that paths go through at a depth."""
    first = last = paths[0][depth]
    for path in paths:
        first = path[depth] if path[depth].is_before_in_block(first) else first
        last = path[depth] if last.is_before_in_block(path[depth]) else last
    return first, last


def _into(paths: list[list[ir.Operation]], depth: int, block: ir.Block) -> list[list[ir.Operation]]:
    """The paths that go into a block at a depth."""
    return [path for path in paths if len(path) > depth and path[depth].block == block]


def _allocate_late(alloc: ir.Operation, free: ir.Operation, paths: list[list[ir.Operation]]) -> int:
    """Move an allocation before its first use, and with its deallocation into the one branch that has all uses. Returns
    the depth of that branch."""
    depth = 0
    while True:
        first, last = _ends(paths, depth)
        inside = [
            region.blocks[0]
            for region in (first.regions if first == last and first.name == "scf.if" else ())
            if len(region.blocks) and len(_into(paths, depth + 1, region.blocks[0])) == len(paths)
        ]
        if not inside:
            alloc.move_before(first)
            return depth
        depth += 1
        free.move_before(terminator(inside[0]))


def _free_early(free: ir.Operation, paths: list[list[ir.Operation]], depth: int) -> None:
    """Move a deallocation behind the last use in its block, or into both branches there."""
    waiting = [(free, paths, depth)]
    while waiting:
        free, paths, depth = waiting.pop()
        if not paths:
            continue
        last = _ends(paths, depth)[1]
        if last.name != "scf.if" or not all(len(region.blocks) for region in last.regions):
            free.move_after(last)
            continue
        for region in last.regions:
            block = region.blocks[0]
            with ir.InsertionPoint.at_block_begin(block):
                waiting.append((free.clone().operation, _into(paths, depth + 1, block), depth + 1))
        free.erase()
