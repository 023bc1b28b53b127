"""The values of an array: an array of NumPy or CuPy, or memory that a program allocated."""

from __future__ import annotations

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.frames import Owner, descriptor, descriptor_array, pack_descriptor
from ragged_dialect.runtime.signature import Array


class Buffer:
    """One contiguous array. `packed`, its descriptor as programs on the CPU take it, is made once. What others have of
    it are views: the dtype and the shape of an array of NumPy can be set, of a read-only one too."""

    __slots__ = ("_array", "_packed", "dtype", "shape")

    def __init__(self, array: Array) -> None:
        self._array = array.view()
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

    def given(self, library: str) -> Dense:
        """The array as one of a library, with the gradients that are recorded of it."""
        return storage.give(self.array.view(), library)

    def detached(self) -> Buffer:
        """The same memory, of which no gradients are recorded."""
        return self


class TensorBuffer(Buffer):
    """Memory of a tensor of PyTorch, which finds out where it was changed in place."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Dense) -> None:
        super().__init__(storage.peek(tensor))
        self.tensor = tensor if tensor.requires_grad else tensor.detach()  # which `unsqueeze_` and others do not reach

    def given(self, library: str) -> Dense:
        """The tensor, or one of the same memory."""
        return self.tensor.detach()


class RecordedBuffer(TensorBuffer):
    """A tensor that requires a gradient: what would lose it is refused."""

    __slots__ = ()

    @property
    def array(self) -> Array:
        """ArgumentError."""
        raise ArgumentError(storage.GRADIENT)

    @property
    def packed(self) -> bytes:
        """ArgumentError."""
        raise ArgumentError(storage.GRADIENT)

    def given(self, library: str) -> Dense:
        """The tensor."""
        return self.tensor

    def detached(self) -> Buffer:
        """The same memory."""
        return TensorBuffer(self.tensor.detach())


def buffer_of(values: Dense, taken: Array) -> Buffer:
    """The buffer of a contiguous array of any library, which was `taken`."""
    if storage.library(values) != "torch":
        return Buffer(taken)
    return (RecordedBuffer if storage.is_recorded(values) else TensorBuffer)(values)


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
