"""Arguments of a launch: what a kernel's parameters accept, and the memory behind them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import ml_dtypes
import numpy as np

from ragged_dialect.emulator.program import Kernel, Parameter
from ragged_dialect.errors import EmulatorError
from ragged_dialect.narrowing import is_array, is_boolean, is_integer, is_scalar

Array = np.ndarray
Argument = Array | int | float

_FLOAT_FORMATS = {"half": "e", "float": "f", "double": "d"}


class Buffer(NamedTuple):
    """Memory behind a pointer argument: where, how much, and what for."""

    number: int
    address: int
    size: int
    read_only: bool


def argument_words(kernel: Kernel, arguments: Sequence[Argument]) -> list[int]:
    """Every argument as the 64-bit word that the kernel loads it from.

    Raises EmulatorError for a wrong number, type, range or alignment.
    """
    parameters = kernel.parameters
    if len(arguments) != len(parameters):
        raise EmulatorError(f"kernel {kernel.name}: expected {len(parameters)} arguments, got {len(arguments)}")
    words = list[int]()
    for number, (parameter, value) in enumerate(zip(parameters, arguments, strict=True)):
        try:
            words.append(_word(parameter, value))
        except _Mismatch as mismatch:
            raise EmulatorError(f"kernel {kernel.name}, argument {number}: {mismatch}") from None
    return words


def buffers(arguments: Sequence[Argument]) -> list[Buffer]:
    """The memory of the arrays among the arguments."""
    arrays = [(number, value) for number, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    return [Buffer(i, array.ctypes.data, array.nbytes, not array.flags.writeable) for i, array in arrays]


class _Mismatch(Exception):
    pass


def _word(parameter: Parameter, value: object) -> int:
    if parameter.type.startswith("ptr"):
        return _pointer(parameter, value)
    if not isinstance(value, int | float) and not is_scalar(value):
        raise _Mismatch(f"expected a number for {parameter.type}, got {_describe(value)}")
    if parameter.type.startswith("i"):
        return _integer(int(parameter.type[1:]), value)
    return _float(parameter.type, float(value))


def _pointer(parameter: Parameter, value: object) -> int:
    if not is_array(value):
        raise _Mismatch(f"expected an array, got {_describe(value)}")
    if not value.flags.c_contiguous:
        raise _Mismatch(f"expected a C-contiguous array, got strides {value.strides} for shape {value.shape}")
    address = value.ctypes.data
    off = address % parameter.alignment
    if off and value.nbytes:
        raise _Mismatch(f"expected an array aligned to {parameter.alignment} bytes, got one {off} bytes off")
    return address


def _integer(bits: int, value: int | float | np.generic) -> int:
    if not is_integer(value) and not is_boolean(value):
        raise _Mismatch(f"expected an integer for i{bits}, got {_describe(value)}")
    number = int(value)
    if not -(1 << bits - 1) <= number < 1 << bits:
        raise _Mismatch(f"expected a number of {bits} bits, got {number}")
    return number & (1 << bits) - 1


def _float(kind: str, value: float) -> int:
    if kind == "bfloat":
        return int(np.array(value, ml_dtypes.bfloat16).view(np.uint16))  # rounded to nearest even
    if kind not in _FLOAT_FORMATS:
        raise _Mismatch(f"expected a parameter of a scalar type, got {kind}")
    try:
        return int.from_bytes(struct.pack("<" + _FLOAT_FORMATS[kind], value), "little")
    except OverflowError:
        return int.from_bytes(struct.pack("<" + _FLOAT_FORMATS[kind], float("inf") * value), "little")


def _describe(value: object) -> str:
    if is_array(value):
        return f"an array of {value.dtype}"
    return f"{value!r} of type {type(value).__name__}"
