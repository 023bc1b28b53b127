"""The memory of a call: packed arguments in, results out.

The interface is MLIR's C interface: one pointer per argument to a memref descriptor (allocated,
aligned, offset, sizes, strides) or to a scalar; results in one struct that the first pointer gives,
except a scalar alone, which goes where the last pointer tells. A packed call passes an array of
pointers to all of those.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ragged_dialect.errors import AllocationError
from ragged_dialect.host_memory import Hooks, copied, hooks
from ragged_dialect.runtime.signature import Argument, Array, Part, Signature, scalar_format
from ragged_dialect.runtime.status import STATUS_ENTRIES

_WORD = 8
_SLOTS = 1 + STATUS_ENTRIES
"""The words of a frame before its slots."""

_RECORD = struct.Struct(f"={STATUS_ENTRIES}q")


class Frame(NamedTuple):
    """The memory of one call at a time: the function's address, the status record, slots, what they point to if that
    is a pointer, descriptors and scalars of the arguments, the struct of the results."""

    bytes: memoryview
    address: int

    @property
    def record(self) -> tuple[int, ...]:
        """The status record of a call that a check ended."""
        return _RECORD.unpack_from(self.bytes, _WORD)


class FrameLayout:
    """What is where in the frames of a function; the same for every call.

    `input` are the bytes of a frame that hold the packed arguments, in their order; `output` is where it holds the
    struct of the results, with `fields`: the results in their order, an array by the fields of its descriptor."""

    def __init__(self, signature: Signature, entry: int) -> None:
        self._entry = entry
        self._arguments = [part for group in signature.arguments for part in group.parts]
        self._results = [part for group in signature.results for part in group.parts]
        self._direct = len(self._results) == 1 and self._results[0].shape is None
        formats = [_argument_format(part) for part in self._arguments]
        self._packed = struct.Struct("=" + "".join(formats))
        self.fields = struct.Struct(_result_format(self._results))
        slots = len(self._arguments) + bool(self.fields.size)
        start = (_SLOTS + 2 * slots) * _WORD
        sizes = [struct.calcsize("=" + text) for text in formats]
        self._starts = [start + sum(sizes[:k]) for k in range(len(sizes))]
        self.output = start + self._packed.size
        self.input = slice(start, self.output)

    def make(self) -> Frame:
        """A frame with its pointers in place."""
        words = (ctypes.c_int64 * max(1, -(-(self.output + self.fields.size) // _WORD)))()
        base = ctypes.addressof(words)
        targets = [(at, part.shape is not None) for at, part in zip(self._starts, self._arguments, strict=True)]
        if self.fields.size:
            targets.insert(len(targets) if self._direct else 0, (self.output, not self._direct))
        words[0] = self._entry
        for slot, (at, indirect) in enumerate(targets, _SLOTS):
            pointer = len(targets) + slot
            words[pointer] = base + at
            words[slot] = base + (pointer * _WORD if indirect else at)
        return Frame(memoryview(words).cast("B"), base)

    def pack(self, flat: Sequence[Argument]) -> bytes:
        """The arguments of a call; arrays must stay alive until it returns."""
        fields: list[float | bytes] = []
        for part, value in zip(self._arguments, flat, strict=True):
            if part.shape is not None:
                fields += _descriptor(_address(value), value.shape)
            else:
                fields.append(value if part.dtype.kind != "V" else np.array(value, part.dtype).tobytes())
        return self._packed.pack(*fields)

    def results(self, fields: Sequence[int]) -> list[Argument]:
        """The flat results of a call: numbers, and arrays that own what it allocated for them. MemoryError with
        none of them."""
        results: list[Argument] = []
        owned = set[int]()
        try:
            for part, given in self._by_part(fields):
                results.append(_scalar(part, given[0]) if part.shape is None else _array(part, given, owned))
        except MemoryError:
            self.free(fields, owned)
            raise
        return results

    def free(self, fields: Sequence[int], owned: set[int]) -> None:
        """Free what a call allocated for results and no array owns."""
        for part, (allocated, *_) in self._by_part(fields):
            if part.shape is not None and allocated not in owned:
                owned.add(allocated)
                hooks.free(allocated)

    def _by_part(self, fields: Sequence[int]) -> Iterator[tuple[Part, Sequence[int]]]:
        """The results with their fields."""
        at = 0
        for part in self._results:
            end = at + (1 if part.shape is None else 3 + 2 * len(part.shape))
            yield part, fields[at:end]
            at = end


def _argument_format(part: Part) -> str:
    if part.shape is not None:
        return f"{3 + 2 * len(part.shape)}q"
    text = scalar_format(part.dtype)
    return f"{text}{_WORD - part.dtype.itemsize}x"


def _result_format(parts: Sequence[Part]) -> str:
    """The struct as C lays it out."""
    text, at = "=", 0
    for part in parts:
        size = part.dtype.itemsize if part.shape is None else _WORD * (3 + 2 * len(part.shape))
        gap = -at % (part.dtype.itemsize if part.shape is None else _WORD)
        text += f"{gap}x" + (scalar_format(part.dtype) if part.shape is None else f"{size // _WORD}q")
        at += gap + size
    return text


def _descriptor(address: int, shape: tuple[int, ...]) -> list[int]:
    """A memref descriptor of a contiguous array. NumPy's own strides are not used: those of extents
    0 and 1 can be anything."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 1, 0, -1):
        strides[axis - 1] = strides[axis] * shape[axis]
    return [address, address, 0, *shape, *strides]


def _address(array: Argument) -> int:
    """`array.ctypes.data` takes several times as long, but works for every array."""
    try:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    except (TypeError, ValueError, BufferError):  # read-only, empty, or of a type buffers do not know
        return array.ctypes.data


def descriptor(array: Array) -> bytes:
    """The memref descriptor of a contiguous array, as arguments are packed."""
    return descriptor_at(_address(array), array.shape)


def descriptor_at(address: int, shape: tuple[int, ...]) -> bytes:
    """The memref descriptor of contiguous elements at an address, as arguments are packed."""
    if len(shape) == 2:  # most are, or weights of one dim
        rows, row = shape
        return _MATRIX(address, address, 0, rows, row, row, 1)
    if len(shape) == 1:
        return _VECTOR(address, address, 0, shape[0], 1)
    return pack_descriptor(_descriptor(address, shape))


_MATRIX = struct.Struct("=7q").pack
_VECTOR = struct.Struct("=5q").pack


def number(value: int) -> bytes:
    """An integer as arguments are packed."""
    return value.to_bytes(_WORD, "little", signed=True)


def pack_descriptor(fields: Sequence[int]) -> bytes:
    """The fields of a descriptor as arguments are packed."""
    return _packers(len(fields))(*fields)


@cache
def _packers(count: int) -> Callable[..., bytes]:
    return struct.Struct(f"={count}q").pack


class Owner:
    """Whose memory a program on the CPU allocated, the first of the `fields` of a descriptor: it is freed with the
    last reference."""

    __slots__ = ()
    fields: Sequence[int]

    def __del__(self, hooks: Hooks = hooks) -> None:  # kept: when the interpreter exits, modules lose their names
        hooks.free(self.fields[0])


class Allocation(Owner):
    """A buffer that arrays keep."""

    __slots__ = ("fields",)

    def __init__(self, fields: Sequence[int]) -> None:
        self.fields = fields


@cache
def _bytes(bits: int) -> Any:
    """A type of ctypes for as many bytes as a number of so many bits may be. One for every size would be a class for
    each, which takes longer to make than most results."""
    return ctypes.c_char * (1 << bits)


def descriptor_array(owner: object, fields: Sequence[int], dtype: np.dtype, writeable: bool = False) -> Array:
    """The array of a descriptor's fields; `owner` lives as long as it does."""
    shape = tuple(fields[3 : 3 + (len(fields) - 3) // 2])
    size = dtype.itemsize
    start = fields[1] + fields[2] * size
    for extent in shape:
        size *= extent
    memory = _bytes(size.bit_length()).from_address(start)
    memory.owner = owner
    try:
        array = np.ndarray(shape, dtype, memory)
    except ValueError as error:
        # NumPy counts the bytes of an array as if no extent were 0.
        raise AllocationError(f"expected a result that NumPy can hold, got one of shape {shape} ({error})") from None
    if not writeable:
        array.flags.writeable = False
    return array


def _scalar(part: Part, value: Argument) -> Argument:
    return value if part.dtype.kind != "V" else float(np.frombuffer(value, part.dtype)[0])


def _array(part: Part, fields: Sequence[int], owned: set[int]) -> Array:
    """The array of a descriptor. `owned` are the buffers that arrays of this call own already: a
    program may return one buffer several times, results do not share it."""
    if fields[0] in owned:
        return copied(descriptor_array(None, fields, part.dtype))
    owned.add(fields[0])
    return descriptor_array(Allocation(fields), fields, part.dtype, writeable=True)
