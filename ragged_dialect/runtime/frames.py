"""The memory of a call: packed arguments in, results out.

The interface is MLIR's C interface: one pointer per argument to a memref descriptor (allocated,
aligned, offset, sizes, strides) or to a scalar; results in one struct that the first pointer gives,
except a scalar alone, which goes where the last pointer tells. A packed call passes an array of
pointers to all of those.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ragged_dialect.errors import AllocationError
from ragged_dialect.runtime import memory
from ragged_dialect.runtime.signature import Part, Signature, scalar_format
from ragged_dialect.runtime.status import STATUS_ENTRIES

Array = np.ndarray[Any, np.dtype[Any]]

_WORD = 8
_free = memory.free


class Frame(NamedTuple):
    """The memory of one call at a time: the function's address, slots, what they point to if that is a
    pointer, descriptors and scalars of the arguments, the struct of the results."""

    words: Any
    address: int


class FrameLayout:
    """What is where in the frames of a function; the same for every call."""

    def __init__(self, signature: Signature, entry: int) -> None:
        self._entry = entry
        self._arguments = [part for group in signature.arguments for part in group.parts]
        self._results = [part for group in signature.results for part in group.parts]
        self._status = STATUS_ENTRIES if signature.status else 0
        self._direct = not self._status and len(self._results) == 1 and self._results[0].shape is None
        formats = [_argument_format(part) for part in self._arguments]
        self._input = struct.Struct("=" + "".join(formats))
        self._output = struct.Struct(_result_format(self._results, self._status))
        slots = len(self._arguments) + bool(self._output.size)
        start = (1 + 2 * slots) * _WORD
        sizes = [struct.calcsize("=" + text) for text in formats]
        self._starts = [start + sum(sizes[:k]) for k in range(len(sizes) + 1)]
        self._words = max(1, -(-(self._starts[-1] + self._output.size) // _WORD))

    @property
    def input(self) -> slice:
        """Bytes of a frame that hold the packed arguments, in their order."""
        return slice(self._starts[0], self._starts[-1])

    @property
    def output(self) -> tuple[int, struct.Struct]:
        """Where a frame holds the struct of the results, and its fields: the status, where there is
        one, and the results in their order, an array by the fields of its descriptor."""
        return self._starts[-1], self._output

    def make(self) -> Frame:
        """A frame with its pointers in place."""
        words = (ctypes.c_int64 * self._words)()
        base = ctypes.addressof(words)
        *starts, output = self._starts
        targets = [(at, part.shape is not None) for at, part in zip(starts, self._arguments, strict=True)]
        if self._output.size:
            targets.insert(len(targets) if self._direct else 0, (output, not self._direct))
        words[0] = self._entry
        for slot, (at, indirect) in enumerate(targets, 1):
            pointer = len(targets) + slot
            words[pointer] = base + at
            words[slot] = base + (pointer * _WORD if indirect else at)
        return Frame(words, base)

    def write(self, frame: Frame, flat: Sequence[Any]) -> None:
        """Write the arguments of a call; arrays must stay alive until it returns."""
        fields: list[Any] = []
        for part, value in zip(self._arguments, flat, strict=True):
            if part.shape is not None:
                fields += _descriptor(value)
            else:
                fields.append(value if part.dtype.kind != "V" else np.array(value, part.dtype).tobytes())
        self._input.pack_into(frame.words, self._starts[0], *fields)

    def read(self, frame: Frame) -> tuple[tuple[int, ...], list[Any]]:
        """The status of a call, empty where the function has none, and its flat results: numbers,
        and arrays that own what the call allocated for them. MemoryError with none of them."""
        fields = self._output.unpack_from(frame.words, self._starts[-1])
        at, results, owned = self._status, [], set[int]()
        try:
            for part in self._results:
                if part.shape is None:
                    results.append(_scalar(part, fields[at]))
                    at += 1
                else:
                    results.append(_array(part, fields[at : at + 3 + len(part.shape)], owned))
                    at += 3 + 2 * len(part.shape)
        except MemoryError:
            self._drop(fields, owned)
            raise
        return fields[: self._status], results

    def _drop(self, fields: Sequence[Any], owned: set[int]) -> None:
        """Free what a call allocated for results and no array owns."""
        at = self._status
        for part in self._results:
            if part.shape is not None and fields[at] not in owned:
                owned.add(fields[at])
                _free(fields[at])
            at += 1 if part.shape is None else 3 + 2 * len(part.shape)


def _argument_format(part: Part) -> str:
    if part.shape is not None:
        return f"{3 + 2 * len(part.shape)}q"
    text = scalar_format(part.dtype)
    return f"{text}{_WORD - part.dtype.itemsize}x"


def _result_format(parts: Sequence[Part], status: int) -> str:
    """The struct as C lays it out."""
    text, at = f"={status}q", status * _WORD
    for part in parts:
        size = part.dtype.itemsize if part.shape is None else _WORD * (3 + 2 * len(part.shape))
        gap = -at % (part.dtype.itemsize if part.shape is None else _WORD)
        text += f"{gap}x" + (scalar_format(part.dtype) if part.shape is None else f"{size // _WORD}q")
        at += gap + size
    return text


def _descriptor(array: Array) -> list[int]:
    """A memref descriptor of a contiguous array. NumPy's own strides are not used: those of extents
    0 and 1 can be anything."""
    address = _address(array)
    shape = array.shape
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return [address, address, 0, *shape, *strides]


def _address(array: Any) -> int:
    """`array.ctypes.data` takes several times as long, but works for every array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a type buffers do not know
        return array.ctypes.data


def descriptor(array: Array) -> bytes:
    """The memref descriptor of a contiguous array, as arguments are packed."""
    return pack_descriptor(_descriptor(array))


def number(value: int) -> bytes:
    """An integer as arguments are packed."""
    return value.to_bytes(_WORD, "little", signed=True)


def free(address: int) -> None:
    """Free a buffer that a compiled program allocated."""
    _free(address)


def pack_descriptor(fields: Sequence[int]) -> bytes:
    """The fields of a descriptor as arguments are packed."""
    return struct.pack(f"={len(fields)}q", *fields)


class Allocation:
    """A buffer that a compiled program allocated; freed with the last reference."""

    __slots__ = ("address",)

    def __init__(self, address: int) -> None:
        self.address = address

    def __del__(self) -> None:
        _free(self.address)


def descriptor_array(owner: Any, fields: Sequence[int], dtype: np.dtype[Any], writeable: bool = False) -> Array:
    """The array of a descriptor's fields; `owner` lives as long as it does."""
    shape = tuple(fields[3 : 3 + (len(fields) - 3) // 2])
    size = dtype.itemsize
    start = fields[1] + fields[2] * size
    for extent in shape:
        size *= extent
    memory: Any = (ctypes.c_char * size).from_address(start)
    memory.owner = owner
    try:
        array = np.ndarray(shape, dtype, memory)
    except ValueError as error:
        raise _too_big(shape, error) from None
    if not writeable:
        array.flags.writeable = False
    return array


def _too_big(shape: Sequence[int], error: ValueError) -> AllocationError:
    """NumPy counts the bytes of an array as if no extent were 0."""
    return AllocationError(f"expected a result that NumPy can hold, got one of shape {tuple(shape)} ({error})")


def _scalar(part: Part, value: Any) -> Any:
    return value if part.dtype.kind != "V" else float(np.frombuffer(value, part.dtype)[0])


class _Memory:
    """Memory of the compiled program, as NumPy asks for it."""

    __slots__ = ("__array_interface__",)

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


class _Owner(_Memory):
    """A buffer that the compiled program allocated; freed with the last array on it."""

    __slots__ = ("allocated",)

    def __init__(self, allocated: int, interface: dict[str, Any]) -> None:
        super().__init__(interface)
        self.allocated = allocated

    def __del__(self) -> None:
        _free(self.allocated)


def _array(part: Part, fields: Sequence[int], owned: set[int]) -> Array:
    """The array of a descriptor. `owned` are the buffers that arrays of this call own already: a
    program may return one buffer several times, results do not share it."""
    allocated, aligned, offset, *shape = fields
    data = aligned + offset * part.dtype.itemsize
    interface = {"data": (data, False), "shape": tuple(shape), "typestr": part.dtype.str, "version": 3}
    try:
        if allocated in owned:
            array = np.array(_Memory(interface))
        else:
            owned.add(allocated)
            array = np.asarray(_Owner(allocated, interface))
    except ValueError as error:
        raise _too_big(shape, error) from None
    return array if array.dtype == part.dtype else array.view(part.dtype)
