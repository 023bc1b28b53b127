"""The values of an array: an array of NumPy or CuPy, or memory that a program allocated."""

from __future__ import annotations

from typing import Any, Protocol

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.frames import Owner, descriptor, descriptor_array, descriptor_at, pack_descriptor
from ragged_dialect.runtime.signature import Array


class HasBuffer(Protocol):
    """An array."""

    buffer: Buffer


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

    def of_torch(self) -> TensorBuffer:
        """The same memory as that of a tensor."""
        return TensorBuffer(self.given("torch"))


class TensorBuffer(Buffer):
    """Memory of a tensor of PyTorch, which finds out where it was changed in place."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Dense, taken: Array | None = None) -> None:
        """Of a tensor in C order that nobody else has, and its elements where they were `taken`."""
        array = storage.contiguous(storage.peek(tensor)) if taken is None else taken
        self._array = array  # which nobody else has
        self._packed = None
        self.shape = array.shape
        self.dtype = array.dtype
        self.tensor = tensor

    def given(self, library: str) -> Dense:
        """The tensor, or one of the same memory."""
        return self.tensor.detach()

    def of_torch(self) -> TensorBuffer:
        """Itself."""
        return self


class ReshapedBuffer(Buffer):
    """The memory of an array's buffer in another shape. Its tensor is a view of the one that the array then has, so
    that PyTorch counts changes of both as one."""

    __slots__ = ("_owner",)

    def __init__(self, owner: HasBuffer, shape: tuple[int, ...]) -> None:
        super().__init__(owner.buffer.array.reshape(shape))
        self._owner = owner

    def given(self, library: str) -> Dense:
        """The array as one of a library."""
        return self.of_torch().tensor if library == "torch" else super().given(library)

    def of_torch(self) -> TensorBuffer:
        """The same memory as that of a tensor."""
        self._owner.buffer = known = self._owner.buffer.of_torch()
        return TensorBuffer(known.tensor.detach().view(self.shape), self.array)


class PassingBuffer(TensorBuffer):
    """A tensor in C order for one call, whose memory nobody moves meanwhile."""

    __slots__ = ()

    def __init__(self, tensor: Dense, dtype: DType) -> None:
        self._array: Array | None = None
        self.tensor = tensor
        self.shape = tuple(tensor.shape)
        self.dtype = dtype

    @property
    def packed(self) -> bytes:
        """The memref descriptor."""
        at = storage.address(self.tensor)
        return descriptor_at(at, self.shape) if at else descriptor(self.array)

    @property
    def array(self) -> Array:
        """The array, of NumPy or CuPy: kept, as it may be a copy."""
        if self._array is None:
            self._array = storage.contiguous(storage.peek(self.tensor))
        return self._array


class RecordedBuffer(TensorBuffer):
    """A tensor that requires a gradient: what would lose it is refused."""

    __slots__ = ("_known", "_plain")

    def __init__(self, tensor: Dense, plain: TensorBuffer | None = None) -> None:
        """Of a tensor in C order, and a buffer of the same memory where there is one."""
        plain = TensorBuffer(tensor.detach()) if plain is None else plain
        self.shape = plain.shape
        self.dtype = plain.dtype
        self.tensor = tensor
        self._plain = plain
        self._known = whereabouts(tensor)

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
        """The same memory, wherever it is by now (`.data`). ArgumentError for a tensor of another kind (`t_`)."""
        now = whereabouts(self.tensor)
        if now == self._known:
            return self._plain
        tensor = self.tensor.detach()
        if now[:2] != self._known[:2]:
            known, got = (f"{dtype} of shape {tuple(shape)}" for dtype, shape, *_ in (self._known, now))
            raise ArgumentError(f"expected values as they were, {known}, got {got}")
        return TensorBuffer(tensor.contiguous())


def whereabouts(tensor: Dense) -> tuple[Any, ...]:
    """What the elements of a tensor are, and where."""
    return tensor.dtype, tensor.shape, tensor.data_ptr(), tensor.is_contiguous()


def buffer_of(values: Dense, taken: Array) -> Buffer:
    """The buffer of a contiguous array of any library, which was `taken`."""
    if storage.library(values) != "torch":
        return Buffer(taken)
    if storage.is_recorded(values):
        return RecordedBuffer(values, TensorBuffer(values.detach(), taken))
    # What others have is another one, which `unsqueeze_` and others do not reach.
    return TensorBuffer(values if values.requires_grad else values.detach(), taken)


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

    def given(self, library: str) -> Dense:
        """The array as one of a library: PyTorch has none that are read-only."""
        return self.own(library) if library == "torch" else storage.give(self.array, library)

    def own(self, library: str) -> Dense:
        """The array as one of a library that nobody else has: it may be written."""
        return storage.give(descriptor_array(self, self.fields, self.dtype, writeable=True), library)

    def of_torch(self) -> TensorBuffer:
        """The same memory as that of a tensor."""
        array = descriptor_array(self, self.fields, self.dtype, writeable=True)
        return TensorBuffer(storage.give(array, "torch"), array)
