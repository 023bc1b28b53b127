"""Allocators for the programs of this process, in place of the C library's: one that fails when told to,
and one that puts every buffer next to an inaccessible page.

They are installed once, before the first program is compiled.
"""

from __future__ import annotations

import ctypes
import mmap
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime import memory

_c: Any = ctypes.CDLL(None, use_errno=True)
_c.malloc.restype = _c.mmap.restype = ctypes.c_void_p
_c.malloc.argtypes = [ctypes.c_size_t]
_c.free.restype = None
_c.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
_c.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_c.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_NONE = 0
_POISON = 0xFF
"""Bytes of new memory: NaN, or -1, so that what a program does not write shows."""


class Allocator(Protocol):
    """Takes memory and gives it back, from any thread."""

    def allocate(self, size: int) -> int:
        """The address of new memory, 0 for none."""
        ...

    def free(self, address: int | None) -> None:
        """Give memory back."""
        ...


def install(allocator: Allocator) -> None:
    """Let programs and their results use an allocator."""
    allocate = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(allocator.allocate)
    memory.hooks.choose(allocate, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(allocator.free))


class FailingAllocator:
    """The C library's, which counts: the allocation of number `fail_at` since `start` fails."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.live: set[int] = set()
        self.count = 0
        self.fail_at = 0

    def start(self, fail_at: int = 0) -> None:
        """Count from 0; none fails without a number."""
        self.count, self.fail_at = 0, fail_at

    def allocate(self, size: int) -> int:
        """Memory of `malloc`, or none."""
        with self._lock:
            self.count += 1
            if self.count == self.fail_at:
                return 0
            address = int(_c.malloc(size) or 0)
            self.live.add(address)
        return address

    def free(self, address: int | None) -> None:
        """Give memory back, once."""
        if address:
            with self._lock:
                self.live.remove(address)
            _c.free(ctypes.c_void_p(address))


class GuardedAllocator:
    """Every buffer has pages of its own between two that nobody may touch, and lies flush with the page
    `before` it or the page `after` it."""

    def __init__(self, side: str) -> None:
        assert side in ("before", "after")
        self._after = side == "after"
        self._places: dict[int, tuple[int, int]] = {}

    def allocate(self, size: int) -> int:
        """Poisoned memory."""
        page = mmap.PAGESIZE
        inner = -(-size // page) * page
        base = int(_c.mmap(None, inner + 2 * page, _NONE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0))
        if base in (0, 2**64 - 1):
            return 0
        _c.mprotect(base + page, inner, mmap.PROT_READ | mmap.PROT_WRITE)
        ctypes.memset(base + page, _POISON, inner)
        address = base + page + (inner - size if self._after else 0)
        self._places[address] = (base, inner + 2 * page)
        return address

    def free(self, address: int | None) -> None:
        """Unmap: a later access faults."""
        if address:
            _c.munmap(*self._places.pop(address))

    def placed(self, value: Any) -> Any:
        """Arguments of a program with copies of their arrays that nobody may write."""
        if isinstance(value, (tuple, list)):
            return type(value)(self.placed(part) for part in value)
        return self._array(value) if isinstance(value, np.ndarray) and value.ndim else value

    def _array(self, array: np.ndarray[Any, np.dtype[Any]]) -> np.ndarray[Any, np.dtype[Any]]:
        address = self.allocate(array.nbytes)
        base, size = self._places[address]
        interface = {"data": (address, False), "shape": array.shape, "typestr": array.dtype.str, "version": 3}
        if array.nbytes:
            ctypes.memmove(address, np.ascontiguousarray(array).ctypes.data, array.nbytes)
            _c.mprotect(base + mmap.PAGESIZE, size - 2 * mmap.PAGESIZE, mmap.PROT_READ)
        placed = np.asarray(_Placed(address, self.free, interface))
        return placed if placed.dtype == array.dtype else placed.view(array.dtype)


class _Placed:
    """Memory of an argument, given back with the last array on it."""

    def __init__(self, address: int, free: Callable[[int], None], interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface
        self._address, self._free = address, free

    def __del__(self) -> None:
        self._free(self._address)


def install_guards(side: str) -> GuardedAllocator:
    """Guard the buffers of programs. They ask for no alignment, which would leave room behind them."""
    allocator = GuardedAllocator(side)
    install(allocator)
    text = pipelines._BUFFER.text
    unaligned = text.replace("one-shot-bufferize{", "one-shot-bufferize{buffer-alignment=0 ")
    assert unaligned != text
    pipelines._BUFFER = replace(pipelines._BUFFER, text=unaligned)
    return allocator
