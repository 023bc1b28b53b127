"""Where memory on the CPU comes from: that of programs, and arrays in it."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T", bound=np.generic)

_c = ctypes.CDLL(None)
_c.malloc.argtypes = [ctypes.c_size_t]
_c.malloc.restype = ctypes.c_void_p
_c.free.argtypes = [ctypes.c_void_p]
_c.free.restype = None


class Hooks:
    """Where programs take memory, and where it is given back, that of their results too: functions of C as `malloc` and
    `free`, for any thread. They are the C library's until the first program asks for a pool or a test for its own."""

    def __init__(self) -> None:
        self.both: tuple[Callable[..., int], Callable[..., None]] = _c.malloc, _c.free
        """Those that belong together: another thread may choose others between two looks."""
        self.chosen = False

    @property
    def allocate(self) -> Callable[..., int]:
        """Where memory is taken."""
        return self.both[0]

    @property
    def free(self) -> Callable[..., None]:
        """Where it is given back."""
        return self.both[1]

    def choose(self, allocate: Callable[..., int], free: Callable[..., None]) -> None:
        """Put others in their place, before the first program runs."""
        assert not self.chosen
        self.both, self.chosen = (allocate, free), True


hooks = Hooks()

_KEPT = 128 << 10
"""Bytes up to which the C library keeps memory for its next caller by itself: more than that is asked of the system and
given back to it, whose pages cost more than what is done with them (M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, mallopt(3))."""


class _Memory:
    """Bytes that are given back with the last reference, to where they came from: hooks may be chosen after that."""

    __slots__ = ("__array_interface__", "_free", "address")

    def __init__(self, size: int) -> None:
        allocate, self._free = hooks.both
        address = allocate(size) if size <= sys.maxsize else None  # ctypes leaves the upper bits of larger ones out
        if not address:
            raise MemoryError(f"expected memory for {size} bytes, got none")
        self.address = address
        self.__array_interface__ = {"shape": (size,), "typestr": "|u1", "data": (address, False), "version": 3}

    def __del__(self) -> None:
        if hasattr(self, "address"):
            self._free(self.address)


def room(shape: tuple[int, ...], dtype: np.dtype[T]) -> NDArray[T]:
    """`numpy.empty` in memory of programs, which is used again. MemoryError."""
    size = math.prod(shape) * dtype.itemsize
    if size <= _KEPT or dtype.hasobject:  # NumPy reads references before it writes others over them
        return np.ndarray(shape, dtype)  # `empty` makes texts of no bytes longer
    return np.ndarray(shape, dtype, np.asarray(_Memory(size)))


def copied(array: NDArray[T]) -> NDArray[T]:
    """A copy in C order, in memory of programs. MemoryError."""
    made = room(array.shape, array.dtype)
    np.copyto(made, array)
    return made
