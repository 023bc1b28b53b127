"""Checking and converting the arguments of a compiled function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragged_dialect.errors import ArgumentError
from ragged_dialect.runtime.signature import Group, Part, Signature


def flatten(signature: Signature, arguments: Sequence[Any]) -> list[Any]:
    """Arguments as flat arrays and numbers, contiguous and of the right dtype.

    Raises ArgumentError for a wrong count, dtype, rank or static extent. Index vectors may be of
    any integer dtype and are widened to int64; other arrays must have the dtype."""
    groups = signature.arguments
    if len(arguments) != len(groups):
        raise ArgumentError(f"{signature.name}: expected {len(groups)} arguments, got {len(arguments)}")
    flat: list[Any] = []
    for number, (group, argument) in enumerate(zip(groups, arguments, strict=True)):
        _flatten_group(flat, f"{signature.name}: argument {number}", group, argument)
    return flat


def _flatten_group(flat: list[Any], where: str, group: Group, argument: Any) -> None:
    if not group.ragged:
        flat.append(_convert(where, group.parts[0], argument))
        return
    names = ", ".join(part.name for part in group.parts)
    if not isinstance(argument, (tuple, list)):
        raise ArgumentError(f"{where}: expected a tuple ({names}), got {type(argument).__name__}")
    if len(argument) != len(group.parts):
        raise ArgumentError(f"{where}: expected a tuple of {len(group.parts)} ({names}), got {len(argument)}")
    for part, value in zip(group.parts, argument, strict=True):
        flat.append(_convert(f"{where}, {part.name}", part, value))


def _convert(where: str, part: Part, value: Any) -> Any:
    return _scalar(where, part, value) if part.shape is None else _array(where, part, value)


def _scalar(where: str, part: Part, value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    kind = part.dtype.kind
    if kind == "b" and isinstance(value, (bool, np.bool_)):
        return bool(value)
    if kind == "i" and isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        info = np.iinfo(part.dtype)
        if not info.min <= value <= info.max:
            raise ArgumentError(f"{where}: expected a number in [{info.min}, {info.max}], got {value}")
        if part.extent and value < 0:
            raise ArgumentError(f"{where}: expected an extent of at least 0, got {value}")
        return int(value)
    if kind not in "bi" and isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool):
        return float(value)
    if kind not in "bi" and getattr(value, "dtype", None) == part.dtype:
        return float(value)
    raise ArgumentError(f"{where}: expected a number of type {part.dtype}, got {type(value).__name__}")


def _array(where: str, part: Part, value: Any) -> np.ndarray:
    if not isinstance(value, np.ndarray):
        raise ArgumentError(f"{where}: expected a NumPy array, got {type(value).__name__}")
    shape = part.shape
    assert shape is not None
    if value.ndim != len(shape):
        raise ArgumentError(f"{where}: expected rank {len(shape)}, got rank {value.ndim}")
    if value.dtype != part.dtype:
        value = _widened(where, part, value)
    for axis, (want, got) in enumerate(zip(shape, value.shape, strict=True)):
        if want is not None and want != got:
            raise ArgumentError(f"{where}: expected extent {want} on axis {axis}, got {got}")
    return value if value.flags.c_contiguous and value.flags.aligned else np.ascontiguousarray(value).copy()


def _widened(where: str, part: Part, value: np.ndarray) -> np.ndarray:
    if part.vector and value.dtype.kind in "iu" and value.dtype.isnative:
        if value.dtype == np.uint64 and value.size and value.max() > np.iinfo(np.int64).max:
            raise ArgumentError(f"{where}: expected entries below 2**63, got {value.max()}")
        return value.astype(np.int64)
    if value.dtype.newbyteorder("=") == part.dtype:
        return value.astype(part.dtype)
    raise ArgumentError(f"{where}: expected dtype {part.dtype}, got {value.dtype}")
