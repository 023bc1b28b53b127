"""Kernels as PTX text, run on the CPU and checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ragged_dialect.emulator.emulator import Emulator, Size
from ragged_dialect.emulator.jit import promoted
from ragged_dialect.emulator.ptx.syntax import Kernel, Parameter, parse
from ragged_dialect.emulator.ptx.translation import Translation, translate_kernel
from ragged_dialect.emulator.ptx.types import TYPES
from ragged_dialect.errors import EmulatorError
from ragged_dialect.narrowing import is_scalar
from ragged_dialect.ptx.backend import LOCK


class _Text:
    """A PTX text, read, and its kernels, translated once: both placements of shared variables have that in common."""

    def __init__(self, ptx: str) -> None:
        self._module = parse(ptx)
        self.kernels = {kernel.name: kernel for kernel in self._module.kernels}
        self.translation = cache(self._translation)

    def _translation(self, name: str) -> Translation:
        text, variables = translate_kernel(self._module, self.kernels[name])
        with LOCK:
            return Translation(promoted(text), variables)


_text = lru_cache(maxsize=16)(_Text)


class _Loaded(NamedTuple):
    emulator: Emulator
    constants: list[Any]


class PtxExecutor:
    """The kernels of a PTX text. A kernel is translated when it is launched first.

    Shared variables are placed as ptxas places them, in the order of declaration, or (`strict`) so that
    none is better aligned than it is declared. `order` and `seed` are the emulator's. Raises
    EmulatorError for text that it does not know.
    """

    def __init__(self, ptx: str, *, strict: bool = False, order: str = "random", seed: int = 0) -> None:
        self._text = _text(ptx)
        self._options = (order, seed, not strict)
        self._load = cache(self._loaded)

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels."""
        return tuple(self._text.kernels)

    def kernel(self, name: str) -> Kernel:
        """The declaration of a kernel."""
        if name not in self._text.kernels:
            raise EmulatorError(f"expected one of the kernels {', '.join(self.kernels) or '(none)'}, got {name}")
        return self._text.kernels[name]

    def launch(self, kernel: str, grid: Size, block: Size, args: Sequence[Any], *, status: Any = None) -> None:
        """Run a kernel to its end. `args` are what CuPy would be given: C-contiguous arrays for pointers, and
        numbers, of NumPy where their size matters. `status` is the array through which threads tell each
        other to stop. EmulatorError for what does not fit, and for the first fault found."""
        values = unpacked(self.kernel(kernel), args)
        emulator, constants = self._load(kernel)
        emulator.launch(kernel, grid, block, [*values, *constants], status=status)

    def _loaded(self, name: str) -> _Loaded:
        text, variables = self._text.translation(name)
        constants = [np.frombuffer(v.initial or bytes(v.size), np.uint8) for v in variables]
        order, seed, packed = self._options
        return _Loaded(Emulator(text, order=order, seed=seed, packed=packed and "addrspace(3)" in text), constants)


def unpacked(kernel: Kernel, arguments: Sequence[Any]) -> list[Any]:
    """What the parameters of a launch hold when CuPy has copied `arguments` there, against what a kernel declares.

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
