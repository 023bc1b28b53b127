"""Host programs from text, run on NumPy buffers with kernels that are Python functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.host.program import host_source
from ragged_dialect.runtime.emulated import EmulatedDevice
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.host_program import HostProgram

Kernel = Callable[..., None]


class PythonKernels:
    """Stands for an emulator: kernels are functions of their arguments, run once per launch."""

    def __init__(self, kernels: Mapping[str, Kernel]) -> None:
        self.kernels = kernels
        self.launches: list[tuple[str, tuple[int, int, int], tuple[int, int, int]]] = []

    def launch(self, kernel: str, grid: Any, block: Any, args: Sequence[Any], *, status: Any = None) -> None:
        """Note the launch and run the kernel."""
        self.launches.append((kernel, grid, block))
        self.kernels[kernel](*args)


def host_program(text: str) -> HostProgram:
    """The host program of a module's text."""
    made = context()
    made.allow_unregistered_dialects = True
    with made, ir.Location.unknown():
        return host_source(ir.Module.parse(text))


def device(text: str, kernels: Mapping[str, Kernel] | None = None) -> tuple[PythonKernels, Callable[..., Any]]:
    """The launches of a program, and the program as a function of flat arguments."""
    program = host_program(text)
    emulator = PythonKernels(kernels or {})
    made = EmulatedDevice(emulator, "f", program, lambda: emulator)
    run = load_host_program(program.source)(made)
    return emulator, lambda *arguments: made.call(run, arguments)
