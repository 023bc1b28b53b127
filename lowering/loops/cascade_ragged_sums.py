"""`cascade-ragged-sums`: long sums are made of short ones, so that their error does not grow with the length."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import byte_size, entry_of
from ragged_dialect.lowering.buffers.subviews import layout_strides
from ragged_dialect.lowering.loops.annotations import keep_rolled
from ragged_dialect.lowering.nests.exact_sums import SHORT, add_to_pair, loop_with_sums
from ragged_dialect.lowering.nests.sum_nests import Sum, SumNest, induction_variable, static_count, sum_nests
from ragged_dialect.passes.base import RaggedPass

_CELLS = 4096
"""Sums of a thread that have pairs at a time, on its stack."""


class CascadeRaggedSums(RaggedPass):
    """Cut the loops of sums into chunks, and add the sums of chunks in pairs of floats.

    ```mlir
    scf.for %i = %c0 to %n step %c1 { … %s = arith.addf %acc, %x fastmath<reassoc,contract> … }
    // becomes
    scf.for %k = %c0 to %n step %c64 {
      scf.for %i = %k to min(%k + 64, %n) step %c1 { … %s = arith.addf %acc, %x fastmath<reassoc,contract> … }
      (%high, %low) += %acc, %acc = -0.0      // if there are several chunks
    }
    ```

    Chunks along memory are longer, as vectors add several numbers at once. Preconditions: linalg ops are loops, and
    sums that may be regrouped have `reassoc` (order-ragged-loops). Sums whose places are computed from
    indices stay as they are.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the sums of every function."""
        for nest in sum_nests(op):
            found = _cut(nest)
            if found is not None:
                with nest.loops[0].location:
                    _rewrite(nest, *found)


def _rewrite(nest: SumNest, loop: ir.Operation, chunk: int) -> None:
    if len(nest.loops) == 1:
        _carry(nest, chunk)
        return
    sizes = _sizes(nest)
    if sizes is not None:
        _Cascade(nest, sizes).rewrite(loop, chunk)


def _carry(nest: SumNest, chunk: int) -> None:
    """Let the only loop of a nest carry its sums."""
    (loop,) = nest.loops
    block = loop.regions[0].blocks[0]
    low, high = list(loop.operands)[:2]

    def body(index: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        induction_variable(loop).replace_all_uses_with(index)
        for one, value in zip(nest.sums, carried, strict=True):
            one.load.results[0].replace_all_uses_with(value)
        results = [one.store.operands[0] for one in nest.sums]
        for one in nest.sums:
            one.load.erase()
            one.store.erase()
        *ops, _ = block.operations
        for op in ops:
            ir.InsertionPoint.current.block.append(op)
        return results

    places = [(one.buffer, one.indices) for one in nest.sums]
    with ir.InsertionPoint(loop):
        inits = [memref.load(*place) for place in places]
        totals = loop_with_sums(low, 1, high, inits, range(len(inits)), body, chunk)
        for place, total in zip(places, totals, strict=True):
            memref.store(total, *place)
    loop.erase()


def _cut(nest: SumNest) -> tuple[ir.Operation, int] | None:
    """The loop to be cut and the length of chunks; None for sums that are short."""
    terms = 1
    for loop in reversed([loop for loop in nest.loops if loop not in nest.parallel]):
        innermost = loop == nest.loops[-1]
        count, limit = static_count(loop), _along_memory(nest) if innermost else max(1, SHORT // terms)
        if count is None or count > limit:
            return loop, limit
        terms *= min(max(count, 1), SHORT)
    return None


def _along_memory(nest: SumNest) -> int:
    """Length of chunks of the innermost loop, which sums: longer where all accesses lie side by side. Vectors of at
    least 16 bytes add them then, and several of these at a time where there is little else to do."""
    loop = nest.loops[-1]
    body = [op.operation for op in loop.regions[0].blocks[0].operations]
    if not all(op.name.startswith(("arith.", "math.")) or _is_straight(op, induction_variable(loop)) for op in body):
        return SHORT
    lanes = 16 // max(max(byte_size(one.element) for one in nest.sums), 4)
    return SHORT * lanes * (1 if any(op.name.startswith("math.") for op in body) else 4)


def _is_straight(op: ir.Operation, iv: ir.Value) -> bool:
    """Whether an access is to the same place, or the next, in every iteration."""
    if op.name not in ("memref.load", "memref.store"):
        return op.name == "scf.yield"
    first = 1 if op.name == "memref.load" else 2
    buffer, indices = op.operands[first - 1], list(op.operands)[first:]
    if iv not in indices:
        return True
    return indices.count(iv) == 1 and indices[-1] == iv and (layout_strides(buffer.type) or [0])[-1] == 1


def _sizes(nest: SumNest) -> dict[ir.Operation, int] | None:
    """How many iterations of each parallel loop have pairs at a time; None where one cannot run in tiles, because
    what is around it would be done again."""
    room, sizes = _CELLS, dict[ir.Operation, int]()
    for loop in reversed(nest.parallel):
        count = static_count(loop)
        sizes[loop] = min(room, max(count or _CELLS, 1))
        if count != sizes[loop] and not nest.only_leads_to(loop):
            return None
        room //= sizes[loop]
    return sizes


class _Cascade:
    """Rewrites one nest. `bases` has the first iteration of every parallel loop in a tile."""

    def __init__(self, nest: SumNest, sizes: dict[ir.Operation, int]) -> None:
        self.nest, self.sizes, self.top = nest, sizes, nest.loops[0]
        with ir.InsertionPoint(entry_of(self.top)):
            self.pairs = [(self._pair(one), self._pair(one)) for one in nest.sums]
        for loop, size in sizes.items():
            if static_count(loop) != size:
                _chunks(loop, size, around=self.top)
        self.bases = {loop: loop.operands[0] for loop in nest.parallel}

    def _pair(self, one: Sum) -> ir.Value:
        shape = [self.sizes[loop] for loop in self.nest.parallel]
        return memref.alloca(ir.MemRefType.get(shape, one.element), [], [])

    def rewrite(self, loop: ir.Operation, chunk: int) -> None:
        """Cut a loop of the nest. Where it is the outermost, short sums do not touch the pairs, and the first and
        the last chunk do what else is done before and after all of them."""
        low, high = list(loop.operands)[:2]
        outer = _chunks(loop, chunk, around=loop)
        inside = [p for p in self.nest.parallel if p in self.nest.loops[self.nest.loops.index(loop) :]]
        end = ir.InsertionPoint.at_block_terminator(outer.regions[0].blocks[0])
        if loop == self.top:
            with end:
                first = build.equal(induction_variable(outer), low)
                last = build.at_least(loop.operands[1], high)
                with flow.when(build.more(arith.subi(high, low), chunk)):
                    self._each(inside, lambda place: place.keep(first, last))
            return
        with ir.InsertionPoint(self.top):
            self._each(self.nest.parallel, _Place.clear)
        with end:
            self._each(inside, _Place.keep)
        with ir.InsertionPoint.after(self.top):
            self._each(self.nest.parallel, _Place.finish)

    def _each(
        self, loops: list[ir.Operation], body: Callable[[_Place], None], ivs: dict[ir.Value, ir.Value] | None = None
    ) -> None:
        """The body for every sum in a tile; these parallel loops are run anew, the others go on."""
        ivs = ivs or {}
        if loops:
            made = scf.ForOp(*list(loops[0].operands)[:3])
            keep_rolled(made.operation)
            with ir.InsertionPoint(made.body):
                self._each(loops[1:], body, {**ivs, induction_variable(loops[0]): made.induction_variable})
                scf.yield_([])
            return
        at = [
            build.value(build.sub(ivs.get(induction_variable(loop), induction_variable(loop)), self.bases[loop]))
            for loop in self.nest.parallel
        ]
        for one, pair in zip(self.nest.sums, self.pairs, strict=True):
            body(_Place(one.buffer, [ivs.get(index, index) for index in one.indices], pair, at))


@dataclass(frozen=True)
class _Place:
    """A sum in its buffer, and its pair."""

    buffer: ir.Value
    indices: list[ir.Value]
    pair: tuple[ir.Value, ir.Value]
    at: list[ir.Value]

    def clear(self) -> None:
        """Start from what the buffer holds, which stays where there is nothing to add."""
        kind = self.buffer.type.element_type
        memref.store(memref.load(self.buffer, self.indices), self.pair[0], self.at)
        memref.store(build.constant(kind, 0.0), self.pair[1], self.at)
        memref.store(build.constant(kind, -0.0), self.buffer, self.indices)

    def keep(self, first: ir.Value | None = None, last: ir.Value | None = None) -> None:
        """Add the sum of a chunk, and start the next one. With conditions for the first and the last chunk, the pair
        starts from nothing, and its sum is what is left."""
        kind = self.buffer.type.element_type
        zero, nothing = build.constant(kind, 0.0), build.constant(kind, -0.0)
        high, low = (memref.load(part, self.at) for part in self.pair)
        if first is not None:
            high, low = (arith.select(first, zero, part) for part in (high, low))
        added = add_to_pair(high, low, memref.load(self.buffer, self.indices))
        for value, part in zip(added, self.pair, strict=True):
            memref.store(value, part, self.at)
        left = nothing if last is None else arith.select(last, added[0], nothing)
        memref.store(left, self.buffer, self.indices)

    def finish(self) -> None:
        """The sum of all chunks."""
        memref.store(memref.load(self.pair[0], self.at), self.buffer, self.indices)


def _chunks(loop: ir.Operation, size: int, around: ir.Operation) -> ir.Operation:
    """Let a loop run in chunks, each of which is done by all of `around`; the loop over chunks."""
    low, high = list(loop.operands)[:2]
    with ir.InsertionPoint(around):
        outer = scf.ForOp(low, high, build.value(size))
        keep_rolled(outer.operation)
    with ir.InsertionPoint(outer.body):
        end = arith.minsi(arith.addi(outer.induction_variable, build.value(size)), high)
        last = scf.YieldOp([])
    around.move_before(last.operation)
    loop.operands[0], loop.operands[1] = outer.induction_variable, end
    return outer.operation
