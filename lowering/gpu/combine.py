"""Combining the parts that threads of a block have computed: shuffles inside a warp, one step through
shared memory across warps. The order is fixed, so results do not depend on timing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.gpu.barriers import Access, Barriers
from ragged_dialect.lowering.gpu.kernel import Kernel
from ragged_dialect.lowering.gpu.shuffle import WARP, shuffle_xor
from ragged_dialect.lowering.gpu.thread_loops import strided

Apply = Callable[[Any, Any], Any]
Group = tuple[int, int]
"""Distance and number of the threads that hold parts of one result."""

EXCHANGE_BYTES = 8 * 1024
"""Shared memory for parts."""

_NOT_UNROLLED = "#llvm.loop_annotation<unroll = <disable = true>>"
_UNROLLED = 8
"""Parts that are read without a loop: the warps of a block. Of more, the registers for all those that are
loaded ahead would not do."""


class Exchange:
    """Combines parts; keeps its shared buffers."""

    def __init__(self, kernel: Kernel, thread: Any, barriers: Barriers) -> None:
        self.kernel = kernel
        self.thread = thread
        self.barriers = barriers
        self.buffers: dict[Any, Any] = {}

    def combine(self, values: list[Any], apply: list[Apply], groups: list[Group]) -> list[Any]:
        """Each value over all groups by its own `apply`, in the threads that come first in every group.
        Groups that cover the whole block leave it in all threads. All threads must take part."""
        far: list[Group] = []
        for distance, count in groups:
            if _is_power(distance) and _is_power(count):
                while count > 1 and distance < WARP:
                    values = [f(v, shuffle_xor(v, distance)) for v, f in zip(values, apply, strict=True)]
                    distance, count = distance * 2, count // 2
            if count > 1:
                far.append((distance, count))
        return self._through_memory(values, apply, far) if far else values

    def _through_memory(self, values: list[Any], apply: list[Apply], far: list[Group]) -> list[Any]:
        """All values through shared memory, in as few steps as it has room for."""
        room = max(1, EXCHANGE_BYTES // (self.kernel.threads * 8))
        if len(values) > room:
            first = self._through_memory(values[:room], apply[:room], far)
            return [*first, *self._through_memory(values[room:], apply[room:], far)]
        slots = self.slots(values)
        self.barriers.before([Access.of(buffer, True) for buffer in slots])
        for value, buffer in zip(values, slots, strict=True):
            self.keep(value, buffer)
        self.barriers.wait()
        values = self._gather(values, apply, far, slots)
        self.barriers.pending += [Access.of(buffer, False) for buffer in slots]
        return values

    def _gather(self, values: list[Any], apply: list[Apply], far: list[Group], slots: list[Any]) -> list[Any]:
        """Each value with those in the slots of the other threads of its groups. Threads other than the
        first of a group read parts too, of no use to them, inside the buffer."""

        def step(offset: Any, values: list[Any]) -> list[Any]:
            at = arith.remui(arith.addi(self.thread, emit.value(offset)), emit.value(self.kernel.threads))
            return [f(v, self.load(slot, at, v.type)) for v, f, slot in zip(values, apply, slots, strict=True)]

        (distance, count), *others = far
        if not others and count > _UNROLLED:
            results = strided(distance, distance, distance * count, values, step)
            results[0].owner.attributes["llvm.loop_annotation"] = ir.Attribute.parse(_NOT_UNROLLED)
            return results
        offsets = [0]
        for distance, count in far:
            offsets = [o + k * distance for k in range(count) for o in offsets]
        for offset in sorted(offsets)[1:]:
            values = step(offset, values)
        return values

    def keep(self, value: Any, buffer: Any) -> None:
        """Store a value in the thread's place of a slot."""
        kept = emit.to_i64(value) if isinstance(value.type, ir.IndexType) else value
        memref.store(kept, buffer, [self.thread])

    @staticmethod
    def load(buffer: Any, at: Any, type_: Any) -> Any:
        """A value of a type from a slot."""
        value = memref.load(buffer, [at])
        return emit.to_index(value) if isinstance(type_, ir.IndexType) else value

    def slots(self, values: list[Any]) -> list[Any]:
        """A slot for each value."""
        return [self._slot(v.type, sum(w.type == v.type for w in values[:k])) for k, v in enumerate(values)]

    def _slot(self, type_: Any, number: int) -> Any:
        """Shared buffer of a type for the parts of one value at a time."""
        element = emit.i64() if isinstance(type_, ir.IndexType) else type_
        if (element, number) not in self.buffers:
            shared = ir.MemRefType.get([self.kernel.threads], element)
            self.buffers[element, number] = self.kernel.workgroup(shared)
        return self.buffers[element, number]


def _is_power(n: int) -> bool:
    return n & (n - 1) == 0
