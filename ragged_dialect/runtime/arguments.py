"""Checking and converting the arguments of a compiled function."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ragged_dialect.errors import MASKED, ArgumentError
from ragged_dialect.narrowing import is_array, is_boolean, is_integer, is_list
from ragged_dialect.runtime.signature import Argument, Array, Group, Part, Signature, scalar_format

Converter: TypeAlias = "Callable[[object], Argument]"


class MisfitError(Exception):
    """An argument that does not fit; the place is added where it is known."""


def numpy_arrays(part: Part, alignment: int = 1) -> Converter:
    """Takes NumPy arrays: contiguous, aligned to their dtype and to `alignment` bytes, or copied.

    Index vectors may be of any integer dtype and are widened to int64, other arrays must have the
    dtype. MisfitError for a wrong dtype, rank or static extent."""
    dtype, rank, static = part.dtype, len(part.shape or ()), static_extents(part)

    def convert(value: object) -> Array:
        if not is_array(value):
            raise MisfitError(f"expected a NumPy array, got {type(value).__name__}")
        if type(value) is not np.ndarray and isinstance(value, np.ma.MaskedArray):
            raise MisfitError(MASKED)
        if value.ndim != rank:
            raise wrong_rank(part, value)
        if value.dtype != dtype:
            value = _widened(part, value)
        for axis, extent in static:
            if value.shape[axis] != extent:
                raise wrong_extent(axis, extent, value)
        flags = value.flags
        if flags.c_contiguous and flags.aligned and (alignment == 1 or value.ctypes.data % alignment == 0):
            return value
        return np.array(value, order="C")

    return convert


def static_extents(part: Part) -> list[tuple[int, int]]:
    """Axes of an array whose extent is fixed, with it."""
    return [(axis, extent) for axis, extent in enumerate(part.shape or ()) if extent is not None]


def wrong_rank(part: Part, value: Array) -> MisfitError:
    """The error for an array of another rank."""
    return MisfitError(f"expected rank {len(part.shape or ())}, got rank {value.ndim}")


def wrong_extent(axis: int, extent: int, value: Array) -> MisfitError:
    """The error for an array with another extent on an axis."""
    return MisfitError(f"expected extent {extent} on axis {axis}, got {value.shape[axis]}")


class Flattener:
    """Turns the arguments of a call into flat arrays and numbers, contiguous and of the right dtype.

    `arrays` makes the converter of a part that is an array, here of NumPy arrays."""

    def __init__(self, signature: Signature, arrays: Callable[[Part], Converter] = numpy_arrays) -> None:
        self._signature = signature
        self._converters = [[_converter(part, arrays) for part in group.parts] for group in signature.arguments]

    def __call__(self, arguments: Sequence[Argument]) -> list[Any]:
        """ArgumentError for a wrong count, dtype, rank or static extent."""
        groups = self._signature.arguments
        if len(arguments) != len(groups):
            raise ArgumentError(f"{self._signature.name}: expected {len(groups)} arguments, got {len(arguments)}")
        flat: list[Any] = []
        converter: Converter | None = None
        try:
            for group, converters, argument in zip(groups, self._converters, arguments, strict=True):
                converter = None
                given = _parts(group, argument) if group.ragged else (argument,)
                for converter, value in zip(converters, given, strict=True):
                    flat.append(converter(value))
        except MisfitError as error:
            raise ArgumentError(f"{self._place(len(flat), converter is not None)}: {error}") from None
        return flat

    def _place(self, at: int, in_part: bool) -> str:
        """Names the argument of the flat value `at`, and the part where it is ragged."""
        for number, group in enumerate(self._signature.arguments):
            if at < len(group.parts):
                part = f", {group.parts[at].name}" if group.ragged and in_part else ""
                return f"{self._signature.name}: argument {number}{part}"
            at -= len(group.parts)
        raise AssertionError("unreachable")


def _parts(group: Group, argument: object) -> Sequence[object]:
    names = ", ".join(part.name for part in group.parts)
    if not is_list(argument):
        raise MisfitError(f"expected a tuple ({names}), got {type(argument).__name__}")
    if len(argument) != len(group.parts):
        raise MisfitError(f"expected a tuple of {len(group.parts)} ({names}), got {len(argument)}")
    return argument


def _converter(part: Part, arrays: Callable[[Part], Converter]) -> Converter:
    if part.shape is not None:
        return arrays(part)
    if part.dtype.kind == "b":
        return _bool
    return _integer_converter(part) if part.dtype.kind == "i" else _float_converter(part.dtype)


def _widened(part: Part, value: Array) -> Array:
    if part.vector and value.dtype.kind in "iu":
        if value.dtype.kind == "u" and value.size and value.max() > np.iinfo(np.int64).max:
            raise MisfitError(f"expected entries below 2**63, got {value.max()}")
        return value.astype(np.int64)
    if value.dtype.newbyteorder("=") == part.dtype:
        return value.astype(part.dtype)
    raise MisfitError(f"expected dtype {part.dtype}, got {value.dtype}")


def _number(value: object) -> Any:
    """A 0-d array as its element."""
    return value[()] if is_array(value) and value.ndim == 0 else value


def _bool(value: object) -> bool:
    value = _number(value)
    if not is_boolean(value):
        raise MisfitError(f"expected True or False, got {type(value).__name__}")
    return bool(value)


def _integer_converter(part: Part) -> Converter:
    low, high = int(np.iinfo(part.dtype).min), int(np.iinfo(part.dtype).max)

    def convert(value: object) -> int:
        value = _number(value)
        if isinstance(value, bool) or not is_integer(value):
            raise MisfitError(f"expected a number of type {part.dtype}, got {type(value).__name__}")
        if not low <= value <= high:
            raise MisfitError(f"expected a number in [{low}, {high}], got {value}")
        if part.extent and value < 0:
            raise MisfitError(f"expected an extent of at least 0, got {value}")
        return int(value)

    return convert


def _float_converter(dtype: np.dtype) -> Converter:
    """Numbers out of the dtype's range are infinite, as a conversion in the program would make them."""
    pack = struct.Struct("=" + scalar_format(dtype)).pack if dtype.kind == "f" else None

    def convert(value: Argument) -> float:
        value = _number(value)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating, dtype.type)):
            raise MisfitError(f"expected a number of type {dtype}, got {type(value).__name__}")
        try:
            number = float(value)
            if pack is not None:
                pack(number)
            return number
        except OverflowError:
            return math.inf if value > 0 else -math.inf

    return convert


def by_position(function: str, named: Mapping[str, object]) -> ArgumentError:
    """The error of arguments that a compiled function gets by name: IR has no names for them."""
    return ArgumentError(f"{function}: expected arguments by position, got one named '{next(iter(named))}'")
