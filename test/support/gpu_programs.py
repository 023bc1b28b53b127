"""Programs for the GPU on the fake CuPy, with kernels run by Python functions or by the emulator."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.host_programs import host_program

from ragged_dialect.emulator.cupy_stand_in import Array, Launcher, StandIn
from ragged_dialect.runtime import gpu_status
from ragged_dialect.runtime.gpu import CupyDevice
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import DeviceFunction
from ragged_dialect.runtime.signature import Group, Part, Signature

HEADER = ".version 7.8\n.target sm_90\n"


def one(dtype: Any, shape: tuple[int | None, ...] | None = None) -> Group:
    """An argument or result of one part: a scalar, or an array."""
    return Group((Part("value", np.dtype(dtype), shape),))


MATRIX, VECTOR, INDEX = one(np.float32, (None, 2)), one(np.int64, (None,)), one(np.int64)
SCALE = Signature("f", (MATRIX, one(np.float32), one(bool)), (MATRIX,))
"""Of a program that launches `scale`."""
BOUND = Signature("f", (INDEX,), (INDEX,))
"""Of a program that launches `bound`."""
LOADS = Signature(
    "f",
    (VECTOR, INDEX),
    (INDEX, VECTOR, one(ml_dtypes.bfloat16, (2,)), one(bool), one(np.float32), one(np.int64, (3,))),
)
"""Of a program that reads memory of the device."""


def scale(x: Any, y: Any, n: Any, s: Any, flag: Any) -> None:
    """A kernel: multiplies by a number."""
    y[...] = x * s


def bound(i: int, status: Any) -> None:
    """A kernel with a check: indices are below 2. Does nothing after a failure."""
    if i >= 2 and not status[0]:
        status[...] = [1, 0, -1, i, 2]


def failed(index: int) -> str:
    """The text of the check of `bound`."""
    return f"ragged.select: level 0: expected index in [0, 2), got {index}"


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


def install(monkeypatch: pytest.MonkeyPatch, cupy: StandIn) -> StandIn:
    """Make a fake the module cupy, with no failure left that a later call would raise."""
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(gpu_status, "_pending", {})
    return cupy


def with_python_kernels(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake as the module cupy, with `scale` as the kernel `twice` and `bound` as `check`."""
    return install(monkeypatch, StandIn(python_loader({"twice": scale, "check": bound})))


def with_emulator(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake as the module cupy, with kernels that the emulator runs: `compile` puts LLVM IR where PTX goes."""
    monkeypatch.setattr("ragged_dialect.ptx.emit", lambda text, arch, fast_math: HEADER + text)
    return install(monkeypatch, StandIn(emulator_loader))


def on_device(cupy: StandIn, data: Any) -> Array:
    """An array of the fake."""
    return cupy.asarray(np.asarray(data), blocking=True)


def function(cupy: StandIn, text: str, signature: Signature, sync: bool = False, ptx: str = HEADER) -> DeviceFunction:
    """The host program of a module's text as a function on the fake GPU."""
    program = host_program(text)
    device = CupyDevice(cupy, signature.name, ptx, program, sync, lambda: ptx)
    return DeviceFunction(signature, load_host_program(program.source), device)
