"""A module that stands for CuPy 13 and 14: arrays in host memory, and streams that run later.

What a real GPU does in its own time waits in the queue of a stream here, until somebody waits for
the stream: code that reads a result too early reads poison. Kernels are run by `launcher`.
"""

from __future__ import annotations

import ctypes
import math
import types
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, Literal
from weakref import WeakSet

import numpy as np
import numpy.typing as npt

from ragged_dialect.emulator.written import Block, written_from
from ragged_dialect.narrowing import is_array, is_tuple

Launcher = Callable[[str, Any, Any, Any], None]
POISON = 0xA5
ALIGNMENT = 512
"""Bytes that CuPy's pool aligns memory to."""
REACH = 4096
"""Bytes around every array that no other one has: what reaches beyond an array does not reach another."""


class CUDARuntimeError(RuntimeError):
    """As CuPy's."""


class CUDADriverError(RuntimeError):
    """As CuPy's, with the driver's number."""

    def __init__(self, status: int) -> None:
        super().__init__(f"CUDA_ERROR_{status}")
        self.status = status


class OutOfMemoryError(MemoryError):
    """As CuPy's."""


class UnownedMemory:
    """Memory that someone else owns."""


class PooledMemory(Block):
    """Memory of the pool: so many bytes from an address."""


class PinnedMemory(bytearray):
    """Memory of the host that copies need not stage."""

    @property
    def ptr(self) -> int:
        """The address."""
        return np.frombuffer(self, np.uint8).ctypes.data


class Graph:
    """Captured work."""

    def __init__(self, work: list[Callable[[], None]]) -> None:
        self.work = work

    def launch(self, stream: Stream) -> None:
        """Queue it."""
        for part in self.work:
            stream.add(part)


class _Interface:
    """Memory as NumPy asks for it."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


class Stream:
    """A queue of work."""

    def __init__(self, cupy: StandIn, ptr: int) -> None:
        self.cupy, self.ptr = cupy, ptr
        self.queue: list[Callable[[], None]] = []
        self.capturing = False
        self.waits = 0

    def begin_capture(self) -> None:
        """Keep work for a graph from now on."""
        assert self.ptr > 2, "the default stream cannot be captured"
        assert not self.queue, "expected a stream that has come to its end"
        self.capturing = True

    def end_capture(self) -> Graph:
        """What was kept."""
        self.capturing = False
        graph, self.queue = Graph(self.queue), []
        return graph

    def record(self) -> Event:
        """An event behind what is queued."""
        event = Event()
        event.record(self)
        return event

    def wait_event(self, event: Event) -> None:
        """What is queued from now on comes behind an event."""
        self.add(lambda: None if event.done or event.stream is None else event.stream.run())

    def add(self, work: Callable[[], None]) -> None:
        """Queue work."""
        self.queue.append(work)

    def run(self) -> None:
        """Let the device get to the end of the queue."""
        while self.queue:
            self.queue.pop(0)()

    def synchronize(self) -> None:
        """Wait."""
        assert not self.capturing, "waited for a stream that is captured"
        self.waits += 1
        self.run()

    def is_capturing(self) -> bool:
        """Whether work goes to a graph."""
        return self.capturing

    def __enter__(self) -> Stream:
        self.before = self.cupy.cuda.current
        self.cupy.cuda.current = self
        return self

    def __exit__(self, *_: object) -> None:
        self.cupy.cuda.current = self.before


class Event:
    """Done when the stream has come to it."""

    def __init__(self, **_: Any) -> None:
        self.done = True
        self.stream: Stream | None = None

    def record(self, stream: Stream) -> None:
        """Put the event behind what is queued."""
        self.done = False
        self.stream = stream

        def reach() -> None:
            self.done = True

        stream.add(reach)


class Pointer:
    """The memory of an array."""

    def __init__(self, cupy: StandIn, host: np.ndarray, device_id: int, mem: Any) -> None:
        self.cupy, self.host, self.device_id, self.mem = cupy, host, device_id, mem

    @property
    def ptr(self) -> int:
        """The address."""
        return self.host.ctypes.data

    def memset_async(self, value: int, size: int, stream: Stream) -> None:
        """Set bytes."""
        at = self._bytes()
        stream.add(lambda: at.__setitem__(slice(size), value))
        stream.add(lambda: self._mark(size))

    def copy_from_device_async(self, source: Pointer, size: int) -> None:
        """Copy bytes."""
        target, given = self._bytes(), source._bytes()
        self.cupy.cuda.current.add(lambda: target.__setitem__(slice(size), given[:size]))
        self.cupy.cuda.current.add(lambda: self._mark(size))

    def _bytes(self) -> np.ndarray:
        return self.host.reshape(-1).view(np.uint8)

    def _mark(self, size: int) -> None:
        found = written_from(self.ptr)
        if found is not None:
            found[:size] = 0xFF


class Array:
    """An array: `host` holds the elements, which are valid once the stream got there."""

    def __init__(self, cupy: StandIn, host: np.ndarray, device_id: int = 0, mem: Any = None) -> None:
        self.cupy, self.host = cupy, host
        self.data = Pointer(cupy, host, device_id, mem)
        self.shape, self.ndim, self.size = host.shape, host.ndim, host.size
        self.dtype, self.nbytes, self.flags = host.dtype, host.nbytes, host.flags

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"data": (self.data.ptr, False), "shape": self.shape, "typestr": self.dtype.str, "version": 3}

    @property
    def device(self) -> Device:
        """Where it is."""
        return Device(self.cupy, self.data.device_id)

    def __getitem__(self, index: Any) -> Array:
        parts = index if is_tuple(index) else (index,)
        return self._view(
            self.host[parts if any(p is ... for p in parts) else (*parts, ...)]
        )  # a view, of one element too

    def _view(self, host: np.ndarray) -> Array:
        return type(self)(self.cupy, host, self.data.device_id, self.data.mem)

    def get(self, out: np.ndarray | None = None, blocking: bool = True) -> np.ndarray:
        """To the host."""
        stream = self.cupy.cuda.current
        if stream.capturing:
            raise RuntimeError("the current stream is capturing, so D2H transfers are disallowed")
        if out is None:
            out = np.empty(self.shape, self.dtype)
        stream.add(lambda: out.__setitem__(..., self.host))
        if blocking:
            stream.synchronize()
        return out

    def __setitem__(self, index: Any, value: npt.ArrayLike) -> None:
        source = value.host if isinstance(value, Array) else value
        self.cupy.cuda.current.add(lambda: self.store(index, source))

    def set(self, value: np.ndarray) -> None:
        """From the host. ValueError or TypeError for another shape or dtype."""
        if value.dtype != self.dtype:
            raise TypeError(f"{value.dtype} array cannot be set to {self.dtype} array")
        if value.shape != self.shape:
            raise ValueError(f"shape mismatch: {value.shape} to {self.shape}")
        taken = value.copy()
        self.cupy.cuda.current.add(lambda: self.store(..., taken))

    def store(self, index: Any, value: npt.ArrayLike) -> None:
        """Store, when the stream has got there."""
        self.host[index] = value
        found, item = written_from(self.data.ptr) if self.size else None, self.dtype.itemsize
        if found is not None:
            written = np.ndarray(self.shape, f"V{item}", found, 0, self.host.strides)
            written[index] = np.void(b"\xff" * item)

    def reshape(self, shape: tuple[int, ...]) -> Array:
        """Another view of a contiguous array."""
        return self._view(self.host.reshape(shape))

    def copy(self, order: Literal["C", "F"] = "C") -> Array:
        """A copy."""
        return self._later(lambda: np.array(self.host, order=order))

    def astype(self, dtype: npt.DTypeLike) -> Array:
        """Converted."""
        return self._later(lambda: self.host.astype(dtype), dtype)

    def view(self, kind: type[Array] | None = None) -> Array:
        """The same memory."""
        return (kind or type(self))(self.cupy, self.host, self.data.device_id, self.data.mem)

    def __sub__(self, other: Array) -> Array:
        """Differences of equal shapes."""
        return self._later(lambda: self.host - other.host)

    def _later(self, make: Callable[[], Any], dtype: npt.DTypeLike | None = None) -> Array:
        made = self.cupy.empty(self.shape, dtype or self.dtype)
        self.cupy.cuda.current.add(lambda: made.store(..., make()))
        return made


class Device:
    """A device by its number, current in a `with`."""

    def __init__(self, cupy: StandIn, number: int) -> None:
        self.cupy, self.id = cupy, number
        self.compute_capability = cupy.capability

    def __enter__(self) -> Device:
        if not 0 <= self.id < self.cupy.devices:
            raise CUDARuntimeError("cudaErrorInvalidDevice: invalid device ordinal")
        self.before, self.cupy.device = self.cupy.device, self.id
        return self

    def __exit__(self, *_: object) -> None:
        self.cupy.device = self.before


class Module:
    """A module of kernels."""

    def __init__(self, cupy: StandIn) -> None:
        self.cupy = cupy

    def load(self, ptx: bytes) -> None:
        """Take PTX."""
        if self.cupy.refused is not None:
            raise CUDADriverError(self.cupy.refused)
        self.cupy.loaded.append(ptx)
        self.launcher = self.cupy.loader(ptx.decode())

    def get_function(self, name: str) -> Callable[..., None]:
        """A kernel."""

        def launch(grid: Any, block: Any, args: Any) -> None:
            self.cupy.launches.append((name, grid, block, args))
            plain = [a.host if isinstance(a, Array) else a for a in args]
            self.cupy.cuda.current.add(lambda: self.launcher(name, grid, block, plain))

        return launch


class StandIn(types.ModuleType):
    """The module. `loader` makes of PTX what runs its kernels; `capability` is the device's."""

    def __init__(self, loader: Callable[[str], Launcher], capability: str = "90") -> None:
        super().__init__("cupy")
        self.__version__ = "14.1.0"
        self.loader = loader
        self.loaded: list[bytes] = []
        self.launches: list[Any] = []
        self.refused: int | None = None
        self.devices, self.device, self.capability, self.driver = 1, 0, capability, 13000
        self.free_bytes = 1 << 30
        self.pointers: dict[int, int] = {}
        self._blocks: WeakSet[PooledMemory] = WeakSet()
        self._streams = count(1)
        self.ndarray: type[Array] = Array
        self.cuda = self._cuda()

    def _cuda(self) -> Any:
        runtime = types.SimpleNamespace(
            getDeviceCount=self._count,
            getDevice=lambda: self.device,
            driverGetVersion=lambda: self.driver,
            memcpyDeviceToHost=2,
            memcpyAsync=self._copy_to_host,
            pointerGetAttributes=self._attributes,
            CUDARuntimeError=CUDARuntimeError,
        )
        cuda = types.SimpleNamespace(
            runtime=runtime,
            driver=types.SimpleNamespace(CUDADriverError=CUDADriverError),
            memory=types.SimpleNamespace(OutOfMemoryError=OutOfMemoryError, UnownedMemory=UnownedMemory),
            function=types.SimpleNamespace(Module=lambda: Module(self)),
            Device=self._device,
            Event=Event,
            alloc_pinned_memory=PinnedMemory,
            Stream=self._new_stream,
            current=Stream(self, 0),
        )
        cuda.get_current_stream = lambda: cuda.current
        return cuda

    def _copy_to_host(self, target: int, source: int, size: int, kind: int, stream: int) -> None:
        """Copy bytes by address. Here all memory is the host's."""
        assert kind == self.cuda.runtime.memcpyDeviceToHost
        assert stream == self.cuda.current.ptr
        self.cuda.current.add(lambda: ctypes.memmove(target, source, size))

    def _count(self) -> int:
        if self.devices < 0:
            raise CUDARuntimeError("cudaErrorNoDevice: no CUDA-capable device is detected")
        return self.devices

    def _attributes(self, ptr: int) -> types.SimpleNamespace:
        """The type of memory: 0 where the driver does not know it, 2 on the device; or what `pointers` says."""
        inside = any(block.holds(ptr) for block in self._blocks)
        return types.SimpleNamespace(type=self.pointers.get(ptr, 2 if inside else 0))

    def _device(self, number: int | None = None) -> Device:
        return Device(self, self.device if number is None else number)

    def _new_stream(self, **_: object) -> Stream:
        return self.stream(16 * next(self._streams))

    def stream(self, ptr: int) -> Stream:
        """A new stream."""
        return Stream(self, ptr)

    def empty(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> Array:
        """A new array full of poison."""
        size = math.prod(np.atleast_1d(shape).tolist()) * np.dtype(dtype).itemsize
        if size > self.free_bytes:
            raise OutOfMemoryError(f"Out of memory allocating {size} bytes")
        raw = np.full(size + 2 * REACH, POISON, np.uint8)
        start = REACH + -(raw.ctypes.data + REACH) % ALIGNMENT
        memory = PooledMemory(raw.ctypes.data + start, size)
        self._blocks.add(memory)
        return self.ndarray(self, raw[start : start + size].view(dtype).reshape(shape), self.device, memory)

    def zeros(self, shape: int | Sequence[int], dtype: npt.DTypeLike) -> Array:
        """A new array of zeros."""
        made = self.empty(shape, dtype)
        made.data.memset_async(0, made.nbytes, self.cuda.current)
        return made

    def asarray(self, value: Any, blocking: bool = False) -> Array:
        """An array of NumPy, or of something with an interface."""
        if is_array(value):
            made = self.empty(value.shape, value.dtype)
            self.cuda.current.add(lambda: made.store(..., value))
            if blocking:
                self.cuda.current.synchronize()
            return made
        if type(value) is self.ndarray:
            return value
        host = value.host if hasattr(value, "host") else np.asarray(_Interface(value.__cuda_array_interface__))
        return self.ndarray(self, host, 0, UnownedMemory())

    def from_dlpack(self, value: Any) -> Array:
        """An array of something that speaks DLPack."""
        return self.ndarray(self, value.__dlpack__())
