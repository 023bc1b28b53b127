"""Shared memory through which threads pass values to each other."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import VALUE_BYTES, shared_size
from ragged_dialect.lowering.gpu.kernel.shuffle import bits_of, of_bits


class Slots:
    """Buffers with a place for every thread, made when they are first needed. Room for one that holds
    any value is left until there is one: then there always is a slot for one value at least."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.buffers: list[ir.Value] = []

    def of(self, types: Sequence[ir.Type]) -> list[ir.Value]:
        """A slot for each of some values; fewer, at least one, where there is no room for all."""
        found: list[ir.Value] = []
        for type_ in types:
            slot = self._free(type_, found)
            if slot is None:
                break
            found.append(slot)
        return found

    def totals(self, type_: ir.Type) -> ir.Value:
        """A buffer with a place for every warp, at least."""
        made = self._make(type_, self.kernel.threads // DEVICE.warp)
        found = self._free(type_, []) if made is None else made
        assert found is not None
        return found

    def _free(self, type_: ir.Type, taken: list[ir.Value]) -> ir.Value | None:
        """A slot that is not taken: of a type, or else one that holds any value; None when all are taken
        and there is no room."""
        element = build.i64() if isinstance(type_, ir.IndexType) else type_
        free = [buffer for buffer in self.buffers if buffer not in taken]
        alike = [buffer for buffer in free if buffer.type.element_type == element]
        if alike:
            return alike[0]
        made = self._slot(element)
        if made is not None:
            return made
        return next(filter(_is_wide, free), None) or self._slot(build.i64())

    def _slot(self, element: ir.Type) -> ir.Value | None:
        made = self._make(element, self.kernel.threads)
        if made is not None:
            self.buffers.append(made)
        return made

    def _make(self, element: ir.Type, count: int) -> ir.Value | None:
        """A new buffer, None when there is no room."""
        type_ = ir.MemRefType.get([count], element)
        any_value = count == self.kernel.threads and byte_size(element) == VALUE_BYTES
        kept = 0 if any_value or any(map(_is_wide, self.buffers)) else self.kernel.threads * VALUE_BYTES
        return self.kernel.workgroup(type_) if shared_size(type_) + kept <= self.kernel.shared_left else None


def _is_wide(buffer: ir.Value) -> bool:
    return byte_size(buffer.type.element_type) == VALUE_BYTES


def keep(value: ir.Value, buffer: ir.Value, at: ir.Value) -> None:
    """Store a value at a place of a slot."""
    memref.store(_with_type(value, buffer.type.element_type), buffer, [at])


def load(buffer: ir.Value, at: ir.Value, type_: ir.Type) -> ir.Value:
    """The value of a type at a place of a slot."""
    return _with_type(memref.load(buffer, [at]), type_)


def _with_type(value: ir.Value, type_: ir.Type) -> ir.Value:
    """A value as one of another type from which it can be had back."""
    if value.type == type_:
        return value
    bits = bits_of(value)
    return of_bits(bits if bits.type == build.i64() else arith.extui(build.i64(), bits), type_)
