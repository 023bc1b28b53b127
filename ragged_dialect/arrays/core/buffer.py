"""The values of an array: an array of NumPy or CuPy, or memory that a program allocated."""

from __future__ import annotations

from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.runtime.frames import Owner, descriptor, descriptor_array, pack_descriptor
from ragged_dialect.runtime.signature import Array


class Buffer:
    """One contiguous array. `packed`, its descriptor as programs on the CPU take it, is made once."""

    __slots__ = ("_array", "_packed", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        self._array = array
        self._packed: bytes | None = None
        self.shape: tuple[int, ...] = array.shape
        self.dtype: DType = array.dtype

    @property
    def packed(self) -> bytes:
        """The memref descriptor."""
        found = self._packed
        if found is None:
            found = self._packed = descriptor(self._array)
        return found

    @property
    def array(self) -> Array:
        """The array, of NumPy or CuPy; read-only when it is a program's."""
        return self._array


class AllocatedBuffer(Owner, Buffer):
    """Memory of a program on the CPU, which nobody looks at between operations: the array is made when
    somebody does, and the memory freed with the last reference."""

    __slots__ = ("fields",)

    def __init__(self, fields: tuple[int, ...], rank: int, dtype: DType) -> None:
        self._array = None
        self._packed = None
        self.fields = fields
        self.shape = fields[3 : 3 + rank]
        self.dtype = dtype

    @property
    def packed(self) -> bytes:
        """The memref descriptor."""
        found = self._packed
        if found is None:
            found = self._packed = pack_descriptor(self.fields)
        return found

    @property
    def array(self) -> Array:
        """The array, read-only."""
        return descriptor_array(self, self.fields, self.dtype)
