"""A reduction whose work is shared by threads, which then combine their parts."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ragged_dialect._mlir import ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers
from ragged_dialect.lowering.gpu.kernel.combiner import Combiner, fold_values, sums_of
from ragged_dialect.lowering.gpu.kernel.exchange import Exchange, by_shuffles
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Payload, Point
from ragged_dialect.lowering.gpu.kernel.thread_loops import (
    ThreadLoops,
    conjunction,
    guarded,
    with_index,
)


@dataclass
class Reduction:
    """`combiners` by out; `others` are outs that are stored once per point; `inits` are scalars that
    take the place of an out's element."""

    generic: GenericOp
    loops: ThreadLoops
    combiners: dict[int, Combiner]
    others: list[int]
    exchange: Exchange
    barriers: Barriers
    unroll: int
    inits: dict[int, ir.Value]

    def __post_init__(self) -> None:
        skipped = [op for combiner in self.combiners.values() for op in combiner.ops]
        shape = self.loops.threads
        self.payload = Payload(self.generic, shape.vector, skipped)
        # Along a wide parallel loop every element of a thread is a result of its own.
        vector = shape.vector
        self.lanes = vector.width if vector is not None and self.generic.parallel[vector.loop] else 1
        self.shared = [d for d in shape.order if not self.generic.parallel[d] and shape.shape[d] > 1]
        self.groups = [(shape.stride[d], shape.shape[d]) for d in self.shared]
        self.through_memory = not all(map(by_shuffles, self.groups))
        self.looped = False

    def emit(self, before: list[Access], accesses: list[Access]) -> None:
        """Emit the work. `before` are accesses that were pending before the op's own `accesses`."""
        parallel = self.loops.parallel_order()
        point: Point = [0] * self.generic.rank
        if not self.groups:
            guarded(self.loops.active(), lambda: self._nest(parallel, point, []))
            return
        self._nest(parallel, point, self.loops.active())
        # A loop with barriers may run no times: then only what was pending before it still is. When it
        # runs, its last barrier leaves nothing of the op pending.
        if self.looped and self.through_memory:
            self.barriers.pending = before
        elif self.looped:
            self.barriers.pending = [*before, *accesses]
        else:
            self.barriers.pending += accesses

    def _nest(self, parallel: list[int], point: Point, conditions: list[ir.Value]) -> None:
        if not parallel:
            self._points([point], conditions)
            return
        loop, rest = parallel[0], parallel[1:]
        loops, count = self.loops, self.loops.step(parallel[0])
        if loops.fits(loop):
            more = [] if loops.exact(loop) else [build.below(build.value(loops.at[loop]), loops.extents[loop])]
            self._nest(rest, with_index(point, loop, loops.at[loop]), conditions + more)
        elif not self.groups:

            def alone(i: ir.Value, _: list[ir.Value]) -> None:
                self._nest(rest, with_index(point, loop, i), conditions)

            flow.strided(loops.at[loop], count, loops.extents[loop], [], alone)
        else:
            self._uniform(loop, count, rest, point, conditions)

    def _uniform(self, loop: int, count: int, rest: list[int], point: Point, conditions: list[ir.Value]) -> None:
        """A loop that all threads run equally often, because they combine inside."""
        batch = self._batch(loop, count, rest)
        if batch > 1:
            self._in_batches(loop, count, batch, point, conditions)
            return
        self.looped = True

        def body(base: ir.Value, _: list[ir.Value]) -> None:
            i = build.add(base, self.loops.at[loop])
            below = build.below(i, self.loops.extents[loop])
            self._nest(rest, with_index(point, loop, i), [*conditions, below])
            if self.through_memory:
                self.barriers.wait()

        flow.strided(0, count, self.loops.extents[loop], [], body)

    def _batch(self, loop: int, count: int, rest: list[int]) -> int:
        """Results of a thread whose elements are loaded before any of them is combined: where a warp
        combines alone, and the extent says that all threads have as many."""
        extent = self.loops.extents[loop]
        if rest or self.through_memory or not isinstance(extent, int) or extent % count:
            return 1
        return gcd(extent // count, self.unroll)

    def _in_batches(self, loop: int, count: int, batch: int, point: Point, conditions: list[ir.Value]) -> None:
        def body(base: Mixed, _: list[ir.Value]) -> None:
            first = build.add(base, self.loops.at[loop])
            self._points([with_index(point, loop, build.add(first, k * count)) for k in range(batch)], conditions)

        extent = self.loops.extents[loop]
        if extent == count * batch:
            body(0, [])
        else:
            self.looped = True
            flow.strided(0, count * batch, extent, [], body)

    def _points(self, points: list[Point], conditions: list[ir.Value]) -> None:
        """Combine and store the results of some points, whose parts are all made first."""

        def finish(parts: list[list[ir.Value]]) -> None:
            for point, own in zip(points, parts, strict=True):
                self._finish(point, own)

        if not self.groups:
            guarded(conditions, lambda: finish([self._parts(point) for point in points]))
            return
        parts = [self._guarded_parts(point, conditions) for point in points]
        apply = [c.apply for c in self._owners()]
        whole = self.exchange.combine([v for own in parts for v in own], apply * len(points), self.groups)
        first = [build.equal(self.loops.at[d], 0) for d in self.shared]
        guarded(
            [*conditions, *first],
            lambda: finish([whole[k * len(apply) : (k + 1) * len(apply)] for k in range(len(points))]),
        )

    def _guarded_parts(self, point: Point, conditions: list[ir.Value]) -> list[ir.Value]:
        """This thread's parts; neutral elements where it has no point."""
        if not conditions:
            return self._parts(point)
        types = [c.result.type for c in self._owners()]
        return flow.choose(
            conjunction(conditions), lambda: self._parts(point), lambda: [c.identity() for c in self._owners()], types
        )

    def _owners(self) -> list[Combiner]:
        """The combiner of every accumulator: per combiner one for each lane."""
        return [c for c in self.combiners.values() for _ in range(self.lanes)]

    def _parts(self, point: Point) -> list[ir.Value]:
        order = [d for d in self.generic.reductions if d not in self.shared]
        order += sorted(self.shared, key=lambda d: not isinstance(self.loops.extents[d], int))
        inits = [c.identity() for c in self._owners()]
        return self._reduce(order, point, inits)

    def _reduce(self, order: list[int], point: Point, carried: list[ir.Value]) -> list[ir.Value]:
        loop, rest = order[0], order[1:]
        owners = self._owners()
        if not rest:
            return self.loops.batched(loop, self.unroll, point, carried, self._accumulate, sums_of(owners))

        def body(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            neutral = [c.identity() for c in owners]
            parts = self._reduce(rest, with_index(point, loop, i), neutral)
            return [c.apply(part, total) for c, part, total in zip(owners, parts, carried, strict=True)]

        return self.loops.summed(loop, 1, self.loops.extents[loop], carried, body, sums_of(owners))

    def _accumulate(self, points: list[Point], carried: list[ir.Value]) -> list[ir.Value]:
        """Fold some points into the accumulators, as a tree."""
        return fold_values(self._owners(), self.lanes, self.payload.at(points, self.others), carried)

    def _finish(self, point: Point, parts: list[ir.Value]) -> None:
        for number, (out, combiner) in enumerate(self.combiners.items()):
            mine = parts[number * self.lanes : (number + 1) * self.lanes]
            init = self.inits.get(out)
            inits = [init] * self.lanes if init is not None else self.payload.load(self.generic.n_inputs + out, point)
            results = [combiner.apply(part, start) for part, start in zip(mine, inits, strict=True)]
            self.payload.store(out, point, results)
