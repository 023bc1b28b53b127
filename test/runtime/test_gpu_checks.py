"""Launches on a GPU, on the fake CuPy: queues, failed checks that are raised later, streams and graphs."""

from __future__ import annotations

import gc
import sys
import time
from typing import Any

import numpy as np
import pytest
from support.gpu_programs import BOUND, INDEX, SCALE, VECTOR, failed, function, on_device, with_python_kernels
from support.host_texts import CHECKED, KERNELS, LAUNCH

import ragged_dialect
from ragged_dialect import DeviceError, RangeError
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.runtime.signature import Signature

F32 = np.float32


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake, as the module cupy."""
    return with_python_kernels(monkeypatch)


def test_launches_are_queued(cupy: StandIn) -> None:
    """No wait, no allocation but buffers; arguments as kernels take them."""
    f = function(cupy, LAUNCH, SCALE)
    x = on_device(cupy, np.arange(600, dtype=F32).reshape(300, 2))
    waits = cupy.cuda.current.waits
    y = f(x, 3.0, True)
    assert cupy.cuda.current.waits == waits
    assert np.isnan(y.host).any() or (y.host != 9 * x.host).any()
    cupy.cuda.current.run()
    assert y.host.tolist() == (9 * x.host).tolist()
    (name, grid, block, args), _ = cupy.launches
    assert (name, grid, block) == ("twice", (2, 1, 1), (256, 1, 1))
    assert args[0] is x
    assert [type(a) for a in args[2:]] == [int, F32, np.bool_]


def test_a_failed_check_is_raised_by_a_later_call(cupy: StandIn) -> None:
    """Once the device is known to have come to it; then all is good again."""
    f = function(cupy, CHECKED, BOUND)
    assert [f(5), f(1), f(7)] == [5, 1, 7]
    assert cupy.cuda.current.waits == 0
    cupy.cuda.current.run()
    with pytest.raises(RangeError) as error:
        f(1)
    assert str(error.value) == failed(5)
    f(1)
    cupy.cuda.current.run()
    assert f(0) == 0
    assert cupy.cuda.current.waits == 0


def test_another_function_raises_it(cupy: StandIn) -> None:
    f, g = function(cupy, CHECKED, BOUND), function(cupy, LAUNCH, SCALE)
    f(5)
    cupy.cuda.current.run()
    with pytest.raises(RangeError) as error:
        g(on_device(cupy, np.zeros((1, 2), F32)), 1.0, False)
    assert str(error.value) == failed(5)


def test_synchronize(cupy: StandIn) -> None:
    f = function(cupy, CHECKED, BOUND)
    f(1)
    ragged_dialect.synchronize()
    f(5)
    with pytest.raises(RangeError) as error:
        ragged_dialect.synchronize()
    assert str(error.value) == failed(5)
    ragged_dialect.synchronize()
    assert f(1) == 1


def test_synchronize_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    ragged_dialect.synchronize()
    assert "cupy" not in sys.modules


def test_checks_at_once(cupy: StandIn) -> None:
    f = function(cupy, CHECKED, BOUND, sync=True)
    with pytest.raises(RangeError) as error:
        f(5)
    assert str(error.value) == failed(5)
    assert f(1) == 1


def test_streams_have_their_own_status(cupy: StandIn) -> None:
    f = function(cupy, CHECKED, BOUND)
    one, two = cupy.stream(16), cupy.stream(32)
    for stream, index in ((one, 5), (two, 1)):
        with stream:
            f(index)
        stream.run()
    with two:
        f(1)
    with one, pytest.raises(RangeError) as error:
        f(1)
    assert str(error.value) == failed(5)


READS = """
module attributes {gpu.container_module, ragged.checks = [["index", "ragged.select", 0]]} {
  func.func @f(%x: memref<?xi64>, %i: index, %status: memref<5xi64>) -> i64 {
    %c1 = arith.constant 1 : index
    %p = memref.reinterpret_cast %status to offset: [0], sizes: [], strides: [] : memref<5xi64> to memref<i64>
    gpu.launch_func @kernels::@check blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1)
      args(%i : index, %p : memref<i64>)
    %0 = memref.load %x[%c1] : memref<?xi64>
    return %0 : i64
  }
  gpu.module @kernels { gpu.func @check(%i: index, %s: memref<i64>) kernel { gpu.return } }
}"""


def test_a_load_raises_a_failure_before_it(cupy: StandIn) -> None:
    f = function(cupy, READS, Signature("f", (VECTOR, INDEX), (INDEX,)))
    x = on_device(cupy, [7, 8])
    assert f(x, 1) == 8
    with pytest.raises(RangeError) as error:
        f(x, 2)
    assert str(error.value) == failed(2)


def test_graphs(cupy: StandIn) -> None:
    """Nothing waits for or asks a stream that is captured; `synchronize` sees what the graph did."""
    f = function(cupy, CHECKED, BOUND)
    stream = cupy.stream(16)
    with stream:
        stream.capturing = True
        with pytest.raises(DeviceError) as error:
            f(1)
        assert str(error.value) == "f: expected a call on the stream before it is captured, got none"
        stream.capturing = False
        f(1)
        stream.run()
        stream.capturing = True
        f(5)
        f(1)
        stream.capturing = False
        f(1)
        with pytest.raises(RangeError) as failure:
            ragged_dialect.synchronize()
    assert str(failure.value) == failed(5)


def test_overhead_of_a_launch(cupy: StandIn) -> None:
    """What the runtime adds to a launch, without CuPy: far below the 15 us that are allowed."""
    launches = 20
    lines = "\n".join(
        "gpu.launch_func @kernels::@one blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index)"
        for _ in range(launches)
    )
    head = "module attributes {gpu.container_module} { func.func @f(%n: index) { %c1 = arith.constant 1 : index "
    text = f"{head}{lines} return }}"
    f = function(cupy, text + KERNELS, Signature("f", (INDEX,), ()))
    best = min(_seconds(f, cupy) for _ in range(20))
    assert best / launches < 15e-6


def _seconds(f: Any, cupy: StandIn) -> float:
    gc.disable()
    start = time.perf_counter()
    f(3)
    end = time.perf_counter()
    gc.enable()
    cupy.cuda.current.queue.clear()
    cupy.launches.clear()
    return end - start
