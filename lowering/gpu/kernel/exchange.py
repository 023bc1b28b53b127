"""Combining the parts that threads of a block have computed: shuffles inside a warp, one step through
shared memory across warps. The order is fixed, so results do not depend on timing."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.lowering.gpu.kernel.barriers import Access, Barriers
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import EXCHANGE_BYTES, VALUE_BYTES
from ragged_dialect.lowering.gpu.kernel.shuffle import shuffle_xor
from ragged_dialect.lowering.gpu.kernel.slots import Slots, keep, load
from ragged_dialect.lowering.loops.annotations import keep_rolled

Apply = Callable[[ir.Value, ir.Value], ir.Value]
Group = tuple[int, int]
"""Distance and number of the threads that hold parts of one result."""

_UNROLLED = DEVICE.threads // DEVICE.warp
"""Parts that are read without a loop: the warps of a block. Of more, the registers for all those that are
loaded ahead would not do."""


class Exchange:
    """Combines parts; keeps the shared memory for them."""

    def __init__(self, kernel: Kernel, thread: ir.Value, barriers: Barriers) -> None:
        self.kernel = kernel
        self.thread = thread
        self.barriers = barriers
        self.slots = Slots(kernel)

    def combine(self, values: list[ir.Value], apply: list[Apply], groups: list[Group]) -> list[ir.Value]:
        """Each value over all groups by its own `apply`, in the threads that come first in every group.
        Groups that cover the whole block leave it in all threads. All threads must take part."""
        far: list[Group] = []
        for distance, count in groups:
            if _is_power(distance) and _is_power(count):
                while count > 1 and distance < DEVICE.warp:
                    values = [f(v, shuffle_xor(v, distance)) for v, f in zip(values, apply, strict=True)]
                    distance, count = distance * 2, count // 2
            if count > 1:
                far.append((distance, count))
        return self._through_memory(values, apply, far) if far else values

    def _through_memory(self, values: list[ir.Value], apply: list[Apply], far: list[Group]) -> list[ir.Value]:
        """All values through shared memory, in as few steps as it has room for."""
        if not values:
            return []
        done = self._step(values, apply, far)
        return [*done, *self._through_memory(values[len(done) :], apply[len(done) :], far)]

    def _step(self, values: list[ir.Value], apply: list[Apply], far: list[Group]) -> list[ir.Value]:
        """The first of some values, as many as there is room for."""
        room = max(1, EXCHANGE_BYTES // (self.kernel.threads * VALUE_BYTES))
        slots = self.slots.of([value.type for value in values[:room]])
        values, apply = values[: len(slots)], apply[: len(slots)]
        self.barriers.before([Access.of(buffer, True) for buffer in slots])
        for value, buffer in zip(values, slots, strict=True):
            keep(value, buffer, self.thread)
        self.barriers.wait()
        values = self._gather(values, apply, far, slots)
        self.barriers.pending += [Access.of(buffer, False) for buffer in slots]
        return values

    def _gather(
        self, values: list[ir.Value], apply: list[Apply], far: list[Group], slots: list[ir.Value]
    ) -> list[ir.Value]:
        """Each value with those in the slots of the other threads of its groups. Threads other than the
        first of a group read parts too, of no use to them, inside the buffer."""

        def step(offset: Mixed, values: list[ir.Value]) -> list[ir.Value]:
            at = arith.remui(arith.addi(self.thread, build.value(offset)), build.value(self.kernel.threads))
            return [f(v, load(slot, at, v.type)) for v, f, slot in zip(values, apply, slots, strict=True)]

        (distance, count), *others = far
        if not others and count > _UNROLLED:
            results = flow.strided(distance, distance, distance * count, values, step)
            keep_rolled(definer(results[0]))
            return results
        offsets = [0]
        for distance, count in far:
            offsets = [o + k * distance for k in range(count) for o in offsets]
        for offset in sorted(offsets)[1:]:
            values = step(offset, values)
        return values


def by_shuffles(group: Group) -> bool:
    """Whether the parts of a result are combined without memory."""
    distance, count = group
    return _is_power(distance) and _is_power(count) and distance * count <= DEVICE.warp


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0
