"""The emulator as a device: NumPy buffers, kernels on the CPU, checks at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragged_dialect import locks
from ragged_dialect.checks import Check
from ragged_dialect.device_model import DEVICE
from ragged_dialect.errors import DeviceError, DeviceMemoryError, EmulatorError
from ragged_dialect.ranks.calls import exchange_rows
from ragged_dialect.runtime.arguments import Array, Converter, numpy_arrays
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.narrow import Launch
from ragged_dialect.runtime.program import Device, Run, checked
from ragged_dialect.runtime.signature import Argument, Part
from ragged_dialect.runtime.status import new_status, raise_failed

_POISON = 0xFF


class EmulatedDevice(Device):
    """Runs kernels with an `Emulator`, and those that buffers are too large for with what `wide` makes.

    Buffers are NumPy arrays, new ones full of 0xFF bytes: NaN, or -1, so that what a program does not
    write shows."""

    target = "emulator"
    errors: tuple[type[Exception], ...] = (MemoryError,)

    def __init__(self, emulator: Any, name: str, program: HostProgram, wide: Callable[[], object]) -> None:
        constants = {name: _aligned(data) for name, data in program.constants.items()}
        super().__init__(name, program, emulator, wide, constants)
        self._lock = locks.lock()
        self._checks: tuple[Check, ...] = program.checks
        self._status = new_status()

    def explained(self, error: Exception) -> DeviceError:
        """What one of `errors` means."""
        return DeviceMemoryError(f"{self._name}: expected enough memory, got: {error}")

    def arrays(self, part: Part) -> Converter:
        """NumPy arrays; one that is not aligned as kernels expect is copied."""
        return numpy_arrays(part, DEVICE.access_bytes)

    def call(self, run: Run, flat: Sequence[Argument]) -> tuple[Argument, ...]:
        """Run. RuntimeCheckError when a check failed. One call at a time: there is one emulator."""
        with self._lock:
            if not self._checks:
                return run(*flat)
            self._status = new_status()
            results = checked(run, flat, self._status, self._raise_failed)
            self._raise_failed()
            return results

    def _raise_failed(self) -> None:
        raise_failed(self._checks, self._status.tolist())

    def _launch(self, module: Any, name: str, block: tuple[int, int, int], kinds: str) -> Launch:
        def call(x: int, y: int, z: int, *arguments: Argument) -> None:
            module.launch(name, (x, y, z), block, arguments, status=self._status)

        return call

    def empty(self, shape: tuple[int, ...], dtype: np.dtype) -> Array:
        """A new buffer full of poison. MemoryError for one that is too large."""
        try:
            buffer = np.empty(shape, dtype)
        except ValueError as error:
            raise MemoryError(str(error)) from None
        buffer.reshape(-1).view(np.uint8)[...] = _POISON
        return buffer

    def load(self, buffer: Array, index: tuple[int, ...]) -> np.generic:
        """One element. RuntimeCheckError when a check failed before: what follows it did not run, and
        the element means nothing. EmulatorError out of bounds."""
        self._raise_failed()
        if not all(0 <= i < extent for i, extent in zip(index, buffer.shape, strict=True)):
            raise EmulatorError(f"{self._name}: expected an index in a buffer of shape {buffer.shape}, got {index}")
        return buffer[index]

    def copy(self, target: Array, source: Array) -> None:
        """Copy the elements of a buffer to another."""
        target[...] = source

    def clone(self, buffer: Array) -> Array:
        """A copy of a buffer."""
        return buffer.copy()

    def exchange(self, rows: Array, sent: Array, room: Array, received: Array, *numbers: int) -> int:
        """Rows to other ranks and from them. Ranks may be threads, which call meanwhile."""
        self._raise_failed()
        status = self._status
        self._lock.release()
        try:
            exchange_rows(rows, sent, room, received, *numbers)
        finally:
            self._lock.acquire()
            self._status = status
        return 0

    def memory(self, buffer: Array) -> object:
        """The array that owns the memory of a buffer."""
        return buffer if buffer.base is None else buffer.base


def _aligned(data: Array) -> Array:
    return data if data.ctypes.data % DEVICE.access_bytes == 0 else data.copy()
