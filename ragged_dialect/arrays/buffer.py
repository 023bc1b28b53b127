"""The values of an array: an array of NumPy or CuPy, or memory that a program allocated."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.arrays.spec import DType
from ragged_dialect.runtime.frames import descriptor, descriptor_array


class Buffer:
    """One contiguous array. Between operations nobody looks at it, so that what a program returns is
    wrapped as an array on demand, and what is passed on has its descriptor ready."""

    __slots__ = ("_array", "_memory", "_packed", "dtype", "shape")

    def __init__(self, array: Any) -> None:
        self._array = array
        self._packed: bytes | None = None
        self._memory: Any = None
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = array.dtype

    @staticmethod
    def allocated(memory: Any, packed: bytes, shape: tuple[int, ...], dtype: DType) -> Buffer:
        """Memory of a program, given by its descriptor; `memory` frees it."""
        made = Buffer.__new__(Buffer)
        made._array = None
        made._memory = memory
        made._packed = packed
        made.shape = shape
        made.dtype = dtype
        return made

    @property
    def packed(self) -> bytes:
        """The memref descriptor, for programs on the CPU."""
        found = self._packed
        if found is None:
            found = self._packed = descriptor(self._array)
        return found

    @property
    def array(self) -> Any:
        """The array, of NumPy or CuPy; read-only when it is a program's."""
        found = self._array
        if found is None:
            assert self._packed is not None
            found = self._array = descriptor_array(self._memory, self._packed, self.shape, self.dtype)
        return found

    @property
    def writeable(self) -> Any:
        """The array of memory that nobody else has; not read-only."""
        if self._array is not None:
            return self._array
        assert self._packed is not None
        return descriptor_array(self._memory, self._packed, self.shape, self.dtype, writeable=True)

    @property
    def on_host(self) -> bool:
        """Whether the memory is the CPU's."""
        return self._array is None or isinstance(self._array, np.ndarray)
