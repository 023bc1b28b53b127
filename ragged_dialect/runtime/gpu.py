"""A GPU through CuPy: buffers from its memory pool, launches on its current stream, no waiting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from types import ModuleType
from typing import Any

import numpy as np

from ragged_dialect.errors import DeviceError
from ragged_dialect.narrowing import is_array
from ragged_dialect.runtime.arguments import Converter
from ragged_dialect.runtime.gpu_arrays import DeviceArrays
from ragged_dialect.runtime.gpu_driver import device_errors, explained, load_module
from ragged_dialect.runtime.gpu_status import CheckedStreams, StreamKey, is_capturing, raise_arrived
from ragged_dialect.runtime.host_program import HostProgram
from ragged_dialect.runtime.narrow import Launch
from ragged_dialect.runtime.program import Device, Run, checked
from ragged_dialect.runtime.signature import Argument, Part

_MOST_BLOCKS = (2**31 - 1, 2**16 - 1, 2**16 - 1)


class CupyDevice(Device):
    """The GPU that was current when the program was compiled.

    Calls are queued on CuPy's current stream. A failed check is raised by a later call on that
    stream, or by `synchronize()`; with `sync` by the call itself, which then waits. `ptx` is empty
    for a program without kernels; `wide` gives PTX of the kernels that take buffers of any size, and is
    called when a launch first needs them; `exchange` is what goes to other ranks, where there may be any.
    """

    target = "gpu"

    def __init__(
        self,
        cupy: ModuleType,
        name: str,
        ptx: str,
        program: HostProgram,
        sync: bool,
        wide: Callable[[], str],
        exchange: Callable[..., None] | None = None,
    ) -> None:
        module = load_module(cupy, name, ptx) if ptx else None
        constants = {n: cupy.asarray(data, blocking=True) for n, data in program.constants.items()}
        super().__init__(name, program, module, self._load_wide, constants)
        self._cupy = cupy
        self._exchange = exchange
        self._wide_ptx = wide
        self._arrays = DeviceArrays(cupy)
        self.errors = device_errors(cupy)
        self._streams = CheckedStreams(cupy, name, program.checks, sync) if program.checks else None
        self.empty = cupy.empty

    def arrays(self, part: Part) -> Converter:
        """Arrays on the device without a copy; NumPy arrays are copied to it."""
        return self._arrays.converter(part)

    def explained(self, error: Exception) -> DeviceError:
        """What one of `errors` means."""
        return explained(self._cupy, self._name, error)

    def call(self, run: Run, flat: Sequence[Argument]) -> tuple[Argument, ...]:
        """Queue a call. RuntimeCheckError when an earlier one on the stream is known to have failed,
        DeviceError on another device."""
        key, stream = self._place()
        raise_arrived(key)
        if self._streams is None:
            return run(*flat)
        status = self._streams.status(key, stream)
        results = checked(run, flat, status.buffer, status.raise_now)
        self._streams.end(key, stream, status)
        return results

    def _place(self) -> tuple[StreamKey, Any]:
        """Device and stream that are current."""
        device = self._cupy.cuda.runtime.getDevice()
        if device != self._arrays.device:
            raise DeviceError(
                f"{self._name}: expected the current device to be {self._arrays.device}, for which it was compiled, "
                f"got {device}"
            )
        stream = self._cupy.cuda.get_current_stream()
        return (device, stream.ptr), stream

    def _load_wide(self) -> ModuleType:
        """Loading a module may end a capture."""
        if is_capturing(*self._place()):
            raise DeviceError(f"{self._name}: expected a call with buffers as large before one is captured, got none")
        return load_module(self._cupy, self._name, self._wide_ptx())

    def _launch(self, module: Any, name: str, block: tuple[int, int, int], kinds: str) -> Launch:
        assert module is not None
        function = module.get_function(name)
        brief = [k for k, kind in enumerate(kinds.split()) if kind == "bf16"]

        def launch(x: int, y: int, z: int, *arguments: Argument) -> None:
            if x > _MOST_BLOCKS[0] or y > _MOST_BLOCKS[1] or z > _MOST_BLOCKS[2]:
                raise DeviceError(f"{self._name}: expected a grid of at most {_MOST_BLOCKS} blocks, got {(x, y, z)}")
            function((x, y, z), block, arguments)

        def launch_bits(x: int, y: int, z: int, *arguments: Argument) -> None:
            """CuPy passes no bfloat16 by value, but its bits."""
            launch(x, y, z, *[a.view(np.uint16) if k in brief else a for k, a in enumerate(arguments)])

        return launch_bits if brief else launch

    def load(self, buffer: Argument, index: tuple[int, ...]) -> np.generic:
        """One element, after everything queued. RuntimeCheckError when a check failed before: what
        follows it did not run, and the element means nothing. DeviceError out of bounds."""
        if self._streams is not None:
            self._streams.status(*self._place()).raise_now()
        if not all(0 <= i < extent for i, extent in zip(index, buffer.shape, strict=True)):
            raise DeviceError(f"{self._name}: expected an index in a buffer of shape {buffer.shape}, got {index}")
        return buffer[index].get()[()]

    def exchange(self, rows: Argument, sent: Argument, room: Argument, received: Argument, *numbers: int) -> int:
        """Rows to other ranks and from them (`gpu_exchange`), after everything queued."""
        assert self._exchange is not None
        if self._streams is not None:
            self._streams.status(*self._place()).raise_now()
        self._exchange(rows, sent, room, received, *numbers)
        return 0

    def copy(self, target: Argument, source: Argument) -> None:
        """Copy the elements of a buffer to another; either may be a part of a larger one."""
        if target.flags.c_contiguous and source.flags.c_contiguous:
            target.data.copy_from_device_async(source.data, source.nbytes)
        else:
            target[...] = source

    def clone(self, buffer: Argument) -> Argument:
        """A copy of a buffer."""
        made = self.empty(buffer.shape, buffer.dtype)
        self.copy(made, buffer)
        return made

    def memory(self, buffer: Argument) -> object:
        """CuPy's object for the allocation of a buffer."""
        return buffer.data.mem


class HostedDevice(CupyDevice):
    """A device of a stand-in for CuPy, whose arrays are in host memory: results are NumPy arrays, and a call
    waits for them."""

    target = "ptx-emulator"

    _lock = Lock()
    """Of all of them: they share the memory that the executor watches."""

    def call(self, run: Run, flat: Sequence[Argument]) -> tuple[Argument, ...]:
        """Run. RuntimeCheckError when a check failed. One call at a time: the stand-in has one host."""
        with self._lock:
            return tuple(value.get() if hasattr(value, "get") else value for value in super().call(run, flat))

    def memory(self, buffer: Argument) -> object:
        """Results are copies."""
        return buffer

    def clone(self, buffer: Argument) -> Argument:
        """A copy of a buffer of the device, or of a result."""
        return buffer.copy() if is_array(buffer) else super().clone(buffer)
