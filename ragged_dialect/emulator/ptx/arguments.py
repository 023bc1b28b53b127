"""Launch arguments as CuPy packs them, against what a kernel declares."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragged_dialect.emulator.ptx.syntax import Kernel, Parameter
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError
from ragged_dialect.narrowing import is_scalar


def unpacked(kernel: Kernel, arguments: Sequence[Any]) -> list[Any]:
    """What the parameters hold when CuPy has copied `arguments` there.

    CuPy copies Python's integers and floats as 8 bytes, booleans as one, scalars of NumPy as they are, and
    of arrays the address. It looks at no declaration: a wrong size is found by nobody on a GPU.
    EmulatorError for a wrong count, kind or size.
    """
    if len(arguments) != len(kernel.parameters):
        raise EmulatorError(f"kernel {kernel.name}: expected {len(kernel.parameters)} arguments, got {len(arguments)}")
    return [
        _unpacked(f"kernel {kernel.name}, argument {number}", parameter, argument)
        for number, (parameter, argument) in enumerate(zip(kernel.parameters, arguments, strict=True))
    ]


def _unpacked(where: str, parameter: Parameter, argument: Any) -> Any:
    if parameter.pointer != isinstance(argument, np.ndarray):
        raise EmulatorError(f"{where}: expected {_described(parameter)}, got {type(argument).__name__}")
    if parameter.pointer:
        return argument
    data, kind = _bytes(where, argument), TYPES[parameter.type]
    if len(data) * 8 != kind.bits:
        raise EmulatorError(f"{where}: expected {_described(parameter)}, got {len(data)} bytes")
    if kind.float:
        return np.frombuffer(data, {32: np.float32, 64: np.float64}[kind.bits])[0]
    return int.from_bytes(data, "little", signed=True)


def _bytes(where: str, argument: Any) -> bytes:
    """As `_scalar.pyx` of CuPy has it."""
    if is_scalar(argument) and argument.dtype.kind in "biufc":
        return argument.tobytes()
    if isinstance(argument, bool):
        return bytes([argument])
    if isinstance(argument, int):
        return argument.to_bytes(8, "little", signed=True)
    if isinstance(argument, float):
        return np.float64(argument).tobytes()
    raise EmulatorError(f"{where}: expected an argument that CuPy can pass, got {type(argument).__name__}")


def _described(parameter: Parameter) -> str:
    return "an array" if parameter.pointer else f"{TYPES[parameter.type].bits // 8} bytes for .{parameter.type}"
