"""`hoist-ragged-allocs`: temporaries of loop bodies are allocated once, as large as any iteration needs them."""

from __future__ import annotations

from math import prod

from ragged_dialect._mlir import DYNAMIC, arith, ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.functions import calls, with_callers
from ragged_dialect.ir.walk import captures, find_ops, makers, ops_in
from ragged_dialect.lowering.checks.convert_ragged_checks_to_calls import REPORT
from ragged_dialect.passes.base import RaggedPass


class HoistRaggedAllocs(RaggedPass):
    """Take allocations out of loops that free them again.

    ```mlir
    scf.for %b = %lo to %hi step %c1 { %n = … %offsets[%b] … %t = memref.alloc(%n) … memref.dealloc %t }
    // becomes
    %most = scf.for %b = %lo to %hi step %c1 iter_args(%m = %c0) -> index { %n = … scf.yield maxsi(%m, %n) }
    %a = memref.alloc(%most)
    scf.for %b = %lo to %hi step %c1 { %t = memref.reinterpret_cast %a to offset: [0], sizes: [%n], strides: [1] … }
    memref.dealloc %a
    ```

    Short components take less time than an allocation. Only where the size follows from index vectors that the loop
    does not write, and is that of the first dim, and in loops without checks, which an iteration may not come past.
    Preconditions: bufferized, deallocated; parallel loops are outlined, so that threads do not share the buffer; a
    body writes what it reads.
    """

    def run(self, op: ir.Operation) -> None:
        """Hoist in every loop of a module, inner ones first."""
        checked = with_callers(op, {REPORT})
        for loop in reversed(list(find_ops(op, "scf.for"))):
            if calls(loop, checked):
                continue  # it may end before an iteration allocates
            most: dict[ir.Value, ir.Value] = {}
            inside = [op.operation for op in loop.regions[0].blocks[0].operations]
            for alloc in [op for op in inside if op.name == "memref.alloc"]:  # before others are erased
                _hoist(loop, alloc, most)


def _hoist(loop: ir.Operation, alloc: ir.Operation, most: dict[ir.Value, ir.Value]) -> None:
    """Take an allocation out of a loop; `most` has the largest values of sizes."""
    body, buffer = loop.regions[0].blocks[0], alloc.results[0]
    users = [use.owner.operation for use in buffer.uses]
    frees = [user for user in users if user.name == "memref.dealloc"]
    if len(frees) != 1 or frees[0].block != body or any(user.name == "scf.yield" for user in users):
        return
    shape = list(buffer.type.shape)
    sizes = list(alloc.operands)
    steps = _steps(loop, sizes)
    if steps is None:
        return
    varies = bool(steps) or body.arguments[0] in sizes
    if varies and DYNAMIC in shape[1:]:
        return
    with ir.InsertionPoint(loop), loop.location:
        if varies and sizes[0] not in most:
            most[sizes[0]] = _most(loop, sizes[0], steps)
        outer = [most[sizes[0]]] if varies else sizes
        whole = memref.alloc(buffer.type, outer, [], alignment=alloc.attributes.get("alignment", None))
    with ir.InsertionPoint(alloc), alloc.location:
        buffer.replace_all_uses_with(_first(whole, sizes[0]) if varies else whole)
    with ir.InsertionPoint.after(loop), loop.location:
        memref.dealloc(whole)
    frees[0].erase()
    alloc.erase()


def _steps(loop: ir.Operation, values: list[ir.Value]) -> list[ir.Operation] | None:
    """The ops of a loop's body that values are computed by, in order; None where they read what the loop may write, or
    do more than read."""
    inside = [op.operation for op in loop.regions[0].blocks[0].operations]
    found = makers(values, inside)
    carried = set(list(loop.regions[0].blocks[0].arguments)[1:])
    is_fixed = all(_is_pure(op, loop) for op in found) and not carried & {*values, *captures(found)}
    return found if is_fixed else None


def _is_pure(op: ir.Operation, loop: ir.Operation) -> bool:
    """Whether an op computes numbers of others, and of buffers that the loop only loads from."""
    if op.name == "scf.for":
        return all(_is_pure(inner, loop) for inner in ops_in(op) if inner != op)
    if op.name == "memref.load":
        source = op.operands[0]
        return isinstance(source.owner, ir.Block) and all(
            use.owner.operation.name == "memref.load" for use in source.uses
        )
    return op.name.startswith("arith.") or op.name == "scf.yield"


def _most(loop: ir.Operation, size: ir.Value, steps: list[ir.Operation]) -> ir.Value:
    """The largest size of any iteration."""
    low, high, step = list(loop.operands)[:3]

    def larger(i: ir.Value, most: list[ir.Value]) -> list[ir.Value]:
        known: ValueMap = {loop.regions[0].blocks[0].arguments[0]: i}
        for op in steps:
            clone(op, known)
        return [arith.maxsi(most[0], known.get(size, size))]

    return flow.strided(low, step, high, [build.value(0)], larger)[0]


def _first(whole: ir.Value, size: ir.Value) -> ir.Value:
    """A buffer of the first rows of another one."""
    inner = list(whole.type.shape)[1:]
    strides = [prod(inner[k:]) for k in range(len(inner) + 1)]
    return memref.reinterpret_cast(whole.type, whole, [], [size], [], [0], [DYNAMIC, *inner], strides)
