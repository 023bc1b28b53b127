"""Kernels as PTX text, run on the CPU and checked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from ragged_dialect.emulator.emulator import Emulator, Size
from ragged_dialect.emulator.jit import promoted
from ragged_dialect.emulator.ptx.arguments import unpacked
from ragged_dialect.emulator.ptx.syntax import Kernel, parse
from ragged_dialect.emulator.ptx.translation import Translation, translate_kernel
from ragged_dialect.errors import EmulatorError
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
