"""Calling a compiled CPU function: memory descriptors in and out, status to exception.

The interface is MLIR's C interface: one pointer per argument to a memref descriptor (allocated,
aligned, offset, sizes, strides) or a scalar by value in a register, results in one struct that the
first pointer gives. Packed calls pass an array of pointers to all of those.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ragged_dialect.checks import Check
from ragged_dialect.errors import RuntimeCheckError
from ragged_dialect.runtime.arguments import flatten
from ragged_dialect.runtime.signature import Part, Signature

STATUS_ENTRIES = 5

_free = ctypes.CDLL(None).free
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


class _Owner:
    """A buffer that the compiled program allocated; freed with the last array on it."""

    __slots__ = ("__array_interface__", "allocated")

    def __init__(self, allocated: int, aligned: int, shape: tuple[int, ...], dtype: np.dtype) -> None:
        self.allocated = allocated
        raw = np.dtype(np.uint8)
        self.__array_interface__ = {
            "data": (aligned, False),
            "shape": (int(np.prod(shape)) * dtype.itemsize,),
            "typestr": raw.str,
            "version": 3,
        }

    def __del__(self) -> None:
        _free(self.allocated)


class CpuFunction:
    """A compiled function on NumPy arrays.

    A ragged argument or result is the tuple of its parts (values, index vectors, extents), a
    scalar a Python number. Results never share memory with arguments; arguments are not written.
    """

    def __init__(self, signature: Signature, entry: int, checks: Sequence[Check], keep: Any) -> None:
        self.signature = signature
        self._call: Callable[[Any], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)
        self._checks = tuple(checks)
        self._keep = keep
        self._parts = [part for group in signature.results for part in group.parts]
        self._layout, self._size = _result_layout(self._parts, signature.status)

    def __call__(self, *arguments: Any) -> Any:
        """Run. ArgumentError for arguments that do not fit, RuntimeCheckError for invalid data."""
        flat = flatten(self.signature, arguments)
        pointers, keep = _pointers(self.signature, flat)
        result = (ctypes.c_int64 * max(1, -(-self._size // 8)))()
        if self._size:
            pointers.insert(0, ctypes.addressof(result))
        slots = (ctypes.c_void_p * len(pointers))(*pointers)
        if self._size:
            first = ctypes.c_void_p(ctypes.addressof(result))
            slots[0] = ctypes.addressof(first)
            keep.append(first)
        self._call(ctypes.addressof(slots))
        del keep
        return self._results(result)

    def _results(self, raw: Any) -> Any:
        failure = self._failure(raw) if self.signature.status else None
        parts = [_read(raw, offset, part) for part, offset in zip(self._parts, self._layout, strict=True)]
        if failure is not None:
            raise failure
        at = 0
        out: list[Any] = []
        for group in self.signature.results:
            piece = parts[at : at + len(group.parts)]
            at += len(group.parts)
            out.append(tuple(piece) if group.ragged else piece[0])
        if not out:
            return None
        return out[0] if len(out) == 1 else tuple(out)

    def _failure(self, raw: Any) -> RuntimeCheckError | None:
        number, case, component, a, b = raw[:STATUS_ENTRIES]
        if number == 0:
            return None
        return RuntimeCheckError(self._checks[number - 1].message(case, component, a, b))


def _pointers(signature: Signature, flat: list[Any]) -> tuple[list[int], list[Any]]:
    """Addresses of the packed arguments, and what must stay alive for the call."""
    keep: list[Any] = list(flat)
    pointers: list[int] = []
    parts = [part for group in signature.arguments for part in group.parts]
    for part, value in zip(parts, flat, strict=True):
        holder = _scalar_holder(part, value) if part.shape is None else _descriptor(value)
        keep.append(holder)
        if part.shape is None:
            pointers.append(ctypes.addressof(holder))
        else:
            pointer = ctypes.c_void_p(ctypes.addressof(holder))
            keep.append(pointer)
            pointers.append(ctypes.addressof(pointer))
    return pointers, keep


def _descriptor(array: np.ndarray) -> Any:
    rank = array.ndim
    made = (ctypes.c_int64 * (3 + 2 * rank))()
    made[0] = made[1] = array.ctypes.data
    stride = 1
    for axis in range(rank - 1, -1, -1):
        made[3 + axis] = array.shape[axis]
        made[3 + rank + axis] = stride
        stride *= array.shape[axis]
    return made


def _scalar_holder(part: Part, value: Any) -> Any:
    raw = np.array(value, dtype=part.dtype).tobytes()
    return ctypes.create_string_buffer(raw.ljust(8, b"\0"), 8)


def _result_layout(parts: Sequence[Part], status: bool) -> tuple[list[int], int]:
    """Byte offset of every result in the struct, and its size."""
    at = STATUS_ENTRIES * 8 if status else 0
    offsets: list[int] = []
    for part in parts:
        size = part.dtype.itemsize if part.shape is None else 8 * (3 + 2 * len(part.shape))
        align = part.dtype.itemsize if part.shape is None else 8
        at = -(-at // align) * align
        offsets.append(at)
        at += size
    return offsets, at


def _read(raw: Any, offset: int, part: Part) -> Any:
    if part.shape is None:
        data = ctypes.string_at(ctypes.addressof(raw) + offset, part.dtype.itemsize)
        value = np.frombuffer(data, part.dtype)[0]
        return bool(value) if part.dtype.kind == "b" else (int(value) if part.dtype.kind == "i" else float(value))
    rank = len(part.shape)
    first = offset // 8
    allocated, aligned, start = raw[first : first + 3]
    shape = tuple(raw[first + 3 : first + 3 + rank])
    owner = _Owner(allocated, aligned + start * part.dtype.itemsize, shape, part.dtype)
    return np.asarray(owner).view(part.dtype).reshape(shape)


