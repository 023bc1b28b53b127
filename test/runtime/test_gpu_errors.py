"""Errors of a GPU, on the fake CuPy: the device, its memory, a driver that does not take the PTX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.gpu_programs import (
    BOUND,
    HEADER,
    INDEX,
    LOADS,
    SCALE,
    VECTOR,
    bound,
    failed,
    function,
    on_device,
    with_python_kernels,
)
from support.host_programs import device
from support.host_texts import CHECKED, KERNELS, LAUNCH, MEMORY

from ragged_dialect import DeviceError, EmulatorError, RuntimeCheckError
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.runtime.gpu_driver import cuda_of_ptx, device_arch
from ragged_dialect.runtime.signature import Signature

F32 = np.float32


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake, as the module cupy."""
    return with_python_kernels(monkeypatch)


def test_another_device(cupy: StandIn) -> None:
    f = function(cupy, CHECKED, BOUND)
    cupy.device = 1
    with pytest.raises(DeviceError) as error:
        f(1)
    assert str(error.value) == "f: expected the current device to be 0, for which it was compiled, got 1"


def test_out_of_memory(cupy: StandIn) -> None:
    f = function(cupy, LAUNCH, SCALE)
    x = on_device(cupy, np.zeros((100, 2), F32))
    cupy.free_bytes = 100
    for given in (x, np.zeros((100, 2), F32)):
        with pytest.raises(DeviceError) as error:
            f(given, 1.0, False)
        assert str(error.value) == (
            "f: expected enough free memory on the device, got: Out of memory allocating 800 bytes; "
            "free arrays, or call cupy.get_default_memory_pool().free_all_blocks()"
        )


SIZED = """
module attributes {gpu.container_module, ragged.checks = [["index", "ragged.select", 0]]} {
  func.func @f(%i: index, %status: memref<5xi64>) -> memref<?xi64> {
    %c1 = arith.constant 1 : index
    %p = memref.reinterpret_cast %status to offset: [0], sizes: [], strides: [] : memref<5xi64> to memref<i64>
    gpu.launch_func @kernels::@check blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%i : index, %p : memref<i64>)
    %0 = memref.alloc(%i) : memref<?xi64>
    return %0 : memref<?xi64>
  }
  gpu.module @kernels { gpu.func @check(%i: index, %s: memref<i64>) kernel { gpu.return } }
}"""


def test_a_failed_check_explains_a_size(cupy: StandIn) -> None:
    """Of a buffer that there is no memory for; a negative one is no size."""
    signature = Signature("f", (INDEX,), (VECTOR,))
    f = function(cupy, SIZED, signature)
    _, emulated = device(SIZED, {"check": bound})
    for run in (f, emulated):
        with pytest.raises(RuntimeCheckError) as error:
            run(2**60)
        assert str(error.value) == failed(2**60)
    assert f(-1).shape == emulated(-1)[0].shape == (0,)
    cupy.free_bytes = 39
    with pytest.raises(DeviceError, match="f: expected enough free memory on the device, got: "):
        function(cupy, SIZED, signature)(1)


@pytest.mark.parametrize("index", [3, -1])
def test_an_index_out_of_bounds(cupy: StandIn, index: int) -> None:
    f = function(cupy, MEMORY, LOADS)
    with pytest.raises(DeviceError) as error:
        f(on_device(cupy, [3, 1, 2]), index)
    assert str(error.value) == f"f: expected an index in a buffer of shape (3,), got ({index},)"
    _, emulated = device(MEMORY)
    with pytest.raises(EmulatorError) as fault:
        emulated(np.array([3, 1, 2]), index)
    assert str(fault.value) == str(error.value)


def test_a_fault_on_the_device(cupy: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    f = function(cupy, CHECKED, BOUND, sync=True)

    def fault() -> None:
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setattr(cupy.cuda.current, "run", fault)
    with pytest.raises(DeviceError) as error:
        f(1)
    assert str(error.value) == (
        "f: expected the device to run, got cudaErrorIllegalAddress; after a memory error the process must start "
        "again; compile with check=True to find invalid data"
    )


def test_a_grid_that_is_too_large(cupy: StandIn) -> None:
    text = "module attributes {gpu.container_module} { func.func @f(%n: index) { %c1 = arith.constant 1 : index " + (
        "gpu.launch_func @kernels::@one blocks in (%c1, %n, %c1) threads in (%c1, %c1, %c1) args(%n : index) return }"
    )
    f = function(cupy, text + KERNELS, Signature("f", (INDEX,), ()))
    with pytest.raises(DeviceError) as error:
        f(2**16)
    assert str(error.value) == ("f: expected a grid of at most (2147483647, 65535, 65535) blocks, got (1, 65536, 1)")


PTX = [
    (
        ".version 7.0\n.target sm_100\n",
        {},
        "f: expected code for sm_90, got code for sm_100; compile with another arch",
    ),
    (
        ".version 8.0\n.target sm_90a\n",
        {"capability": "100"},
        "f: expected code for sm_100, got code for sm_90a; compile with another arch",
    ),
    (
        ".version 8.6\n.target sm_90\n",
        {"driver": 12060},
        "f: expected a driver for CUDA 12.7 or newer, which PTX 8.6 needs, got one for CUDA 12.6; "
        "update the driver or compile for an older arch",
    ),
    (
        HEADER,
        {"refused": 222},
        "f: expected a driver for CUDA 11.8 or newer, which PTX 7.8 needs, got one for CUDA 13.0; "
        "update the driver or compile for an older arch",
    ),
    (HEADER, {"refused": 218}, "f: expected PTX that the driver takes, got CUDA_ERROR_218"),
    ("no PTX", {}, "expected PTX with .version and .target, got other text"),
]  # fmt: skip


@pytest.mark.parametrize(("ptx", "machine", "message"), PTX)
def test_code_refused(cupy: StandIn, ptx: str, machine: dict[str, Any], message: str) -> None:
    for name, value in machine.items():
        setattr(cupy, name, value)
    with pytest.raises(DeviceError) as error:
        function(cupy, CHECKED, BOUND, ptx=ptx)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("ptx", "cuda"),
    [("7.0", 11000), ("7.8", 11080), ("8.0", 12000), ("8.5", 12050), ("8.6", 12070), ("8.8", 12090), ("9.0", 13000)],
)
def test_cuda_of_ptx(ptx: str, cuda: int) -> None:
    """From the release notes of the PTX manual."""
    assert cuda_of_ptx(ptx) == cuda


def test_arch_of_a_device(cupy: StandIn) -> None:
    known = ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_120"]
    for capability, arch in [("80", "sm_80"), ("89", "sm_86"), ("90", "sm_90"), ("103", "sm_100"), ("121", "sm_120")]:
        cupy.capability = capability
        assert device_arch(cupy, known) == arch
    cupy.capability = "75"
    with pytest.raises(DeviceError) as error:
        device_arch(cupy, known)
    assert str(error.value) == "expected a GPU of compute capability 8.0 or newer, got one of 7.5"
