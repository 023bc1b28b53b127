"""How the threads of a block are spread over the features of rows: groups of lanes, a row at a time each."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.points import Point
from ragged_dialect.lowering.gpu.kernel.thread_shape import fast_loop
from ragged_dialect.lowering.gpu.kernel.vector_access import VectorAccess, access_of, vector_access, wide_access


@dataclass(frozen=True)
class Lanes:
    """`lanes` threads have the features of a row, or one of `chunks` parts of them when they are more
    than a block has threads; `groups` of them are in a block. `order` are the parallel loops, the
    contiguous one last. With `vector` a thread has some consecutive features, or some consecutive
    rows where rows have no features."""

    threads: int
    loop: int
    order: tuple[int, ...]
    extents: dict[int, Mixed]
    vector: VectorAccess | None

    @staticmethod
    def of(generic: GenericOp, loop: int, extents: dict[int, Mixed], threads: int, wide_rows: bool) -> Lanes:
        """Lanes for a generic in blocks of some threads. `loop` is the one over rows, `extents` are those of
        the others; `wide_rows` allows several rows at a time where they have no features."""
        fast = fast_loop(generic)
        order = sorted(extents, key=lambda d: (d == fast, d))
        vector = None
        if not order and wide_rows:
            vector = wide_access(generic, loop)
        elif order and fast == order[-1]:
            vector = vector_access(generic, fast)
        return Lanes(threads, loop, tuple(order), extents, vector)

    def along(self, generic: GenericOp, loops: dict[int, int]) -> VectorAccess | None:
        """What an op accesses at once in which a thread has the same features; `loops` has the loop here
        for each of its own."""
        if self.width == 1:
            return None
        return access_of(generic, next(d for d, of in loops.items() if of == self.order[-1]), self.width)

    @property
    def width(self) -> int:
        """Accumulators of a thread for an out."""
        return self.vector.width if self.vector is not None and self.order else 1

    @property
    def rows(self) -> int:
        """Rows of a thread at a time."""
        return self.vector.width if self.vector is not None and not self.order else 1

    def _steps(self, loop: int, extent: Mixed) -> Mixed:
        """Positions of lanes along a loop."""
        return build.divide(extent, self.width) if self.order and loop == self.order[-1] else extent

    def _static(self) -> int | None:
        """How many positions there are, when that is known."""
        steps = [self._steps(d, n) for d, n in self.extents.items() if isinstance(n, int)]
        sizes = [n for n in steps if isinstance(n, int)]
        return prod(sizes) if len(sizes) == len(self.extents) else None

    @property
    def lanes(self) -> int:
        """Threads of a group."""
        total = self._static()
        if total is None:
            return min(DEVICE.warp, self.threads)
        chunks = max(1, -(-total // self.threads))
        return max(1, -(-total // chunks))

    @property
    def groups(self) -> int:
        """Groups of a block."""
        return self.threads // self.lanes

    @property
    def elements(self) -> int:
        """What a block has of a row for each of its groups."""
        return self.lanes * self.width * self.groups

    def chunks(self, extents: dict[int, Mixed]) -> Mixed:
        """Parts of the features, at least one, given the extents of the parallel loops at the insertion
        point."""
        total = build.product(self._steps(d, n) for d, n in extents.items())
        return build.maximum(build.ceildiv(total, self.lanes), 1)

    def place(self, thread: ir.Value, chunk: Mixed) -> tuple[ir.Value, Point, list[ir.Value]]:
        """The group of a thread, its features as a point whose row is 0, and conditions for having any."""
        lanes = build.value(self.lanes)
        group = arith.divui(thread, lanes)
        point, conditions = self._features(arith.remui(thread, lanes), chunk)
        if self.lanes * self.groups < self.threads:
            conditions.append(build.below(group, self.groups))
        return group, point, conditions

    def _features(self, lane: ir.Value, chunk: Mixed) -> tuple[Point, list[ir.Value]]:
        point: Point = [0] * (len(self.order) + 1)
        if not self.order:
            return point, []
        at: ir.Value = build.value(build.add(build.mul(chunk, self.lanes), lane))
        total = build.product(self._steps(d, n) for d, n in self.extents.items())
        # Rows may have no features.
        steps = [1, *(build.maximum(self._steps(d, self.extents[d]), 1) for d in self.order[1:])]
        for d, i in zip(self.order, build.digits(at, steps), strict=True):
            point[d] = i
        point[self.order[-1]] = build.mul(point[self.order[-1]], self.width)
        exact = isinstance(total, int) and total > 0 and total % self.lanes == 0
        return point, [] if exact else [build.below(at, total)]
