"""`compile` for a GPU, on the fake CuPy with kernels that the emulator runs: targets, options, what is refused."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from support.gpu_programs import install, python_loader, with_emulator
from support.twice import BAD, GOOD, MESSAGE, TWICE, ZEROS

import ragged_dialect
from ragged_dialect import CompileError, DeviceError, RuntimeCheckError, compile
from ragged_dialect.emulator.cupy_stand_in import StandIn


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake, with kernels that the emulator runs."""
    return with_emulator(monkeypatch)


@pytest.mark.parametrize("target", ["gpu", "auto"])
def test_compile(gpu: StandIn, target: str) -> None:
    f = compile(TWICE, target=target)
    assert f.target == "gpu"
    values, offsets = f(GOOD)
    assert (values.get().tolist(), offsets.get().tolist()) == ([2, 4, 6], GOOD[1].tolist())
    f(BAD)
    with pytest.raises(RuntimeCheckError) as error:
        ragged_dialect.synchronize()
    assert str(error.value) == MESSAGE


def test_compile_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError) as error:
        compile(TWICE, target="gpu")
    assert str(error.value).startswith("expected CuPy to run on a GPU, got: ")
    assert str(error.value).endswith("; pip install cupy-cuda12x or cupy-cuda13x")
    assert compile(TWICE, target="auto", arch="sm_90").target == "cpu"
    cupy = install(monkeypatch, StandIn(python_loader({})))
    for devices, reason in ((0, "no device"), (-1, "cudaErrorNoDevice: no CUDA-capable device is detected")):
        cupy.devices = devices
        with pytest.raises(DeviceError) as error:
            compile(TWICE, target="gpu")
        assert str(error.value) == f"expected a GPU, got none ({reason})"


OPTIONS = [
    ({"target": "gpu", "arch": "sm_1"}, "expected an arch among sm_80"),
    ({"target": "gpu", "arch": ""}, "expected an arch among sm_80"),
    ({"target": "ptx-emulator", "arch": ""}, "expected an arch among sm_80"),
    ({"target": ""}, "expected a target among cpu, gpu, emulator, ptx-emulator, auto, got ''"),
    ({"entry": ""}, "expected an entry among"),
    ({"target": "cpu", "arch": "sm_90"}, "expected no arch for target 'cpu', got 'sm_90'"),
    ({"target": "emulator", "arch": "sm_90"}, "expected no arch for target 'emulator', got 'sm_90'"),
    ({"target": "cpu", "schedule": "segment"}, "expected no schedule for target 'cpu', got 'segment'"),
    ({"target": "cpu", "fast_math": True}, "expected no fast_math for target 'cpu', got 'True'"),
    ({"target": "cpu", "index_bits": 64}, "expected no index_bits for target 'cpu', got '64'"),
    ({"check": "later"}, "expected True, False or 'sync' for check, got 'later'"),
    ({"sync": "maybe"}, "expected 'allow' or 'forbid' for sync, got 'maybe'"),
    ({"target": np.array([0, 1])}, "expected a target among cpu, gpu, emulator, ptx-emulator, auto, got '[0 1]'"),
    ({"check": np.array([0, 1])}, "expected True, False or 'sync' for check, got array"),
    ({"sync": np.array([0, 1])}, "expected 'allow' or 'forbid' for sync, got array"),
    ({"fast_math": np.array([0, 1])}, "expected True or False for fast_math, got array"),
    ({"index_bits": np.array([32, 64])}, "expected 32 or 64 index bits, got [32 64]"),
    ({"target": "tpu"}, "expected a target among cpu, gpu, emulator, ptx-emulator, auto, got 'tpu'"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError) as error:
        compile(TWICE, **options)
    assert str(error.value).startswith(message)


def test_programs_that_wait_can_be_refused() -> None:
    text = """func.func @f(%x: tensor<?xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %0 = tensor.extract %x[%c0] : tensor<?xf32>
      return %0 : f32
    }"""
    assert compile(text, target="emulator")(np.array([2.5], np.float32)) == 2.5
    assert compile(TWICE, target="emulator", sync="forbid")(GOOD)[0].tolist() == [2, 4, 6]
    with pytest.raises(CompileError) as error:
        compile(text, target="emulator", sync="forbid")
    assert str(error.value) == (
        "f: expected a program that never waits for the device, got one with memref.load on the host"
    )


@pytest.mark.parametrize("target", ["gpu", "emulator"])
def test_a_division_by_zero(gpu: StandIn, target: str) -> None:
    """In a program without kernels: 0, as in kernels."""
    text = "func.func @f(%a: i64, %b: i64) -> i64 {\n %0 = arith.divsi %a, %b : i64\n return %0 : i64\n}"
    f = compile(text, target=target)
    assert f(7, -2) == -3
    assert f(1, 0) == 0


def test_memory_of_the_emulator() -> None:
    f = compile(ZEROS, target="emulator")
    assert f(2).tolist() == [0, 0]
    for size in (2**50, 2**62):
        with pytest.raises(DeviceError, match="f: expected enough memory, got: "):
            f(size)
