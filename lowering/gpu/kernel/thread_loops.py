"""The loops of one op as the threads of a block run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Point
from ragged_dialect.lowering.gpu.kernel.thread_shape import ThreadShape
from ragged_dialect.lowering.nests.exact_sums import SHORT, Body, loop_with_sums


def conjunction(conditions: list[ir.Value]) -> ir.Value:
    """All of some conditions, at least one."""
    return reduce(arith.andi, conditions)


def guarded(conditions: list[ir.Value], body: Callable[[], None]) -> None:
    """The body where all conditions hold."""
    if not conditions:
        body()
        return
    with flow.when(conjunction(conditions)):
        body()


class ThreadLoops:
    """Positions of a thread along the loops of an op, and the extents, at the insertion point."""

    def __init__(self, generic: GenericOp, shape: ThreadShape, thread: ir.Value, block: int) -> None:
        self.generic = generic
        self.threads = shape
        self.block = block
        self.thread = thread
        self.extents: list[Mixed] = [generic.extent(d) for d in range(generic.rank)]
        self.at: list[Mixed] = [self._position(d) for d in range(generic.rank)]

    def _position(self, loop: int) -> Mixed:
        """First iteration of a thread along a loop."""
        count, stride = self.threads.shape[loop], self.threads.stride[loop]
        if count == 1:
            return 0
        position = self.thread if stride == 1 else arith.divui(self.thread, build.value(stride))
        if stride * count != self.block:
            position = arith.remui(position, build.value(count))
        return build.mul(position, self.threads.width(loop))

    def step(self, loop: int) -> int:
        """Iterations of a loop that the threads along it have at a time."""
        return self.threads.shape[loop] * self.threads.width(loop)

    def active(self) -> list[ir.Value]:
        """Conditions for threads that take part: none when all do."""
        return [build.below(self.thread, self.threads.used)] if self.threads.used < self.block else []

    def fits(self, loop: int) -> bool:
        """Whether every iteration of a loop has a thread, at once."""
        extent = self.extents[loop]
        return isinstance(extent, int) and extent <= self.step(loop)

    def exact(self, loop: int) -> bool:
        """Whether every iteration has a thread and every thread an iteration."""
        extent = self.extents[loop]
        return isinstance(extent, int) and extent == self.step(loop)

    def parallel_order(self) -> list[int]:
        """The parallel loops, those without threads last."""
        order = [d for d in reversed(self.threads.order) if self.generic.parallel[d]]
        return order + [d for d in range(self.generic.rank) if self.generic.parallel[d] and d not in order]

    def parallel(self, leaf: Callable[[list[Point]], None], unroll: int) -> None:
        """Run the parallel loops, every thread its own points; `leaf` gets up to `unroll` at once."""
        guarded(self.active(), lambda: self._nest(self.parallel_order(), [0] * self.generic.rank, leaf, unroll))

    def _nest(self, order: list[int], point: Point, leaf: Callable[[list[Point]], None], unroll: int) -> None:
        if not order:
            leaf([point])
            return
        loop, rest = order[0], order[1:]
        if self.fits(loop):
            inner = with_index(point, loop, self.at[loop])
            conditions = [] if self.exact(loop) else [build.below(build.value(self.at[loop]), self.extents[loop])]
            guarded(conditions, lambda: self._nest(rest, inner, leaf, unroll))
        elif unroll > 1 and all(self.exact(d) for d in rest) and self._is_long(loop, unroll):
            for d in rest:
                point = with_index(point, d, self.at[d])
            self.batched(loop, unroll, point, [], lambda points, _: self._run(leaf, points))
        else:

            def body(i: ir.Value, _: list[ir.Value]) -> None:
                self._nest(rest, with_index(point, loop, i), leaf, unroll)

            flow.strided(self.at[loop], self.step(loop), self.extents[loop], [], body)

    @staticmethod
    def _run(leaf: Callable[[list[Point]], None], points: list[Point]) -> list[ir.Value]:
        leaf(points)
        return []

    def _is_long(self, loop: int, unroll: int) -> bool:
        extent = self.extents[loop]
        return not isinstance(extent, int) or extent >= unroll * self.step(loop)

    def batched(
        self,
        loop: int,
        unroll: int,
        point: Point,
        inits: list[ir.Value],
        body: Callable[[list[Point], list[ir.Value]], list[ir.Value]],
        sums: Sequence[int] = (),
    ) -> list[ir.Value]:
        """Run a loop with `unroll` points at once, then one by one what is left; `sums` are those of `summed`."""
        low, high, step = self.at[loop], self.extents[loop], self.step(loop)
        if unroll == 1 or not self._is_long(loop, unroll):
            return self.summed(loop, 1, high, inits, lambda i, c: body([with_index(point, loop, i)], c), sums)
        middle = batches_end(low, high, step, unroll)

        def several(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            return body([with_index(point, loop, build.add(i, u * step)) for u in range(unroll)], carried)

        carried = self.summed(loop, unroll, middle, inits, several, sums)
        return flow.strided(middle, step, high, carried, lambda i, c: body([with_index(point, loop, i)], c))

    def summed(
        self, loop: int, times: int, high: Mixed, inits: list[ir.Value], body: Body, sums: Sequence[int]
    ) -> list[ir.Value]:
        """This thread's iterations of a loop, `times` in one, up to `high`; what it carries by the numbers
        `sums` is the sum of many values."""
        low, step, extent = self.at[loop], times * self.step(loop), self.extents[loop]
        if not sums or (isinstance(extent, int) and extent <= SHORT * step):
            return flow.strided(low, step, high, inits, body)
        return loop_with_sums(low, step, high, inits, sums, body)


def batches_end(low: Mixed, high: Mixed, step: int, unroll: int) -> Mixed:
    """Where whole batches of a thread's iterations end."""
    left = build.maximum(build.add(build.sub(high, low), step - 1), 0)
    mine = arith.divui(build.value(left), build.value(step))
    batches = arith.divui(mine, build.value(unroll))
    return build.add(low, build.mul(batches, unroll * step))


def with_index(point: Point, loop: int, i: Mixed) -> Point:
    """A point with one index changed."""
    return [*point[:loop], i, *point[loop + 1 :]]
