"""Programs for the GPU on the fake CuPy, with kernels run by Python functions or by the emulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from support.fake_cupy import FakeCupy, Launcher
from support.host_programs import host_program

from ragged_dialect.runtime.gpu import CupyDevice
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import DeviceFunction
from ragged_dialect.runtime.signature import Signature

HEADER = ".version 7.8\n.target sm_90\n"


def python_loader(kernels: Mapping[str, Callable[..., None]]) -> Callable[[str], Launcher]:
    """Runs a kernel as a function of its arguments."""
    return lambda _: lambda name, grid, block, args: kernels[name](*args)


def emulator_loader(text: str) -> Launcher:
    """Runs kernels whose LLVM IR stands where PTX should, under a header of PTX."""
    from ragged_dialect.emulator import Emulator

    emulator = Emulator(text.removeprefix(HEADER))
    return lambda name, grid, block, args: emulator.launch(name, grid, block, [_plain(a) for a in args])


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") and not hasattr(value, "__array_interface__") else value


def install(monkeypatch: pytest.MonkeyPatch, cupy: FakeCupy) -> FakeCupy:
    """Make a fake the module cupy."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    return cupy


def function(cupy: FakeCupy, text: str, signature: Signature, sync: bool = False, ptx: str = HEADER) -> DeviceFunction:
    """The host program of a module's text as a function on the fake GPU."""
    program = host_program(text)
    device = CupyDevice(cupy, signature.name, ptx, program, sync)
    return DeviceFunction(signature, load_host_program(program.source), device)
