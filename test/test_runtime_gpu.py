"""The GPU's runtime on a CuPy that only looks like it: arguments, launches, streams, checks, errors."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.fake_cupy import Array, FakeCupy, UnownedMemory
from support.gpu_programs import HEADER, emulator_loader, function, install, python_loader
from support.host_programs import device
from test_host_program import CHECKED, KERNELS, LAUNCH, MEMORY, VIEWS

import ragged_dialect
from ragged_dialect import ArgumentError, CompileError, DeviceError, EmulatorError, RuntimeCheckError, compile
from ragged_dialect.layout import Layout
from ragged_dialect.runtime import gpu_status
from ragged_dialect.runtime.gpu_driver import cuda_of_ptx, device_arch
from ragged_dialect.runtime.signature import Group, Part, Signature
from ragged_dialect.shape import RaggedShape

F32, I64 = np.float32, np.int64
MATRIX = Group((Part("value", np.dtype(F32), (None, 2)),))
VECTOR = Group((Part("value", np.dtype(I64), (None,)),))
INDEX = Group((Part("value", np.dtype(I64), None),))
FLOAT = Group((Part("value", np.dtype(F32), None),))
BOOL = Group((Part("value", np.dtype(bool), None),))
TWICE = Signature("f", (MATRIX, FLOAT, BOOL), (MATRIX,), False)
CHECK = Signature("f", (INDEX,), (INDEX,), False)
RESULTS = tuple(Group((Part("value", np.dtype(t), s),)) for t, s in [
    (I64, None), (I64, (None,)), (ml_dtypes.bfloat16, (2,)), (bool, None), (F32, None), (I64, (3,)),
])  # fmt: skip
MEMORY_SIGNATURE = Signature("f", (VECTOR, INDEX), RESULTS, False)


def scale(x: Any, y: Any, n: Any, s: Any, flag: Any) -> None:
    """The kernel of LAUNCH."""
    y[...] = x * s


def bound(i: int, status: Any) -> None:
    """The kernel of CHECKED: indices are below 2. Does nothing after a failure."""
    if i >= 2 and not status[0]:
        status[...] = [1, 0, -1, i, 2]


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    """The fake, as the module cupy."""
    yield install(monkeypatch, FakeCupy(python_loader({"twice": scale, "check": bound})))
    gpu_status._pending.clear()


def on_device(cupy: FakeCupy, data: Any) -> Array:
    """An array of the fake."""
    return cupy.asarray(np.asarray(data), blocking=True)


def test_launches_are_queued(cupy: FakeCupy) -> None:
    """No wait, no allocation but buffers; arguments as kernels take them."""
    f = function(cupy, LAUNCH, TWICE)
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


def test_numpy_arguments_are_copied(cupy: FakeCupy) -> None:
    f = function(cupy, LAUNCH, TWICE)
    x = np.asfortranarray(np.arange(6, dtype=F32).reshape(3, 2))
    y = f(x, 2, False)
    assert isinstance(y, Array)
    x[...] = 0
    assert y.get().tolist() == [[0, 4], [8, 12], [16, 20]]


class Tensor:
    """An array of another library, by DLPack."""

    def __init__(self, array: Array, kind: int = 2, device: int = 0, error: Exception | None = None) -> None:
        self.array, self.place, self.error, self.dtype = array, (kind, device), error, array.dtype

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.place

    def __dlpack__(self) -> Any:
        if self.error is not None:
            raise self.error
        return self.array.host


class Foreign:
    """An array of another library, by its interface."""

    def __init__(self, host: Any, pointer: int | None = None) -> None:
        self.host = host
        self.__cuda_array_interface__ = {"data": (host.ctypes.data if pointer is None else pointer, False),
                                         "shape": host.shape, "typestr": "<f4", "version": 3}  # fmt: skip


def test_arrays_of_other_libraries_are_not_copied(cupy: FakeCupy) -> None:
    f = function(cupy, LAUNCH, TWICE)
    x = on_device(cupy, np.ones((2, 2), F32))

    class Subclass(Array):
        pass

    for given in (Tensor(x), Tensor(x, kind=13), Foreign(x.host), x.view(Subclass)):
        f(given, 1.0, False)
        assert cupy.launches[-2][3][0].data.ptr == x.data.ptr
        assert type(cupy.launches[-2][3][0]) is Array


def test_layouts_in_memory(cupy: FakeCupy) -> None:
    """What is not contiguous, or not aligned as kernels expect, is copied on the device."""
    f = function(cupy, LAUNCH, TWICE)
    wide = on_device(cupy, np.arange(12, dtype=F32).reshape(3, 4))
    shifted = on_device(cupy, np.arange(7, dtype=F32))
    shifted = shifted._view(shifted.host[1:].reshape(3, 2))
    for given in (wide[:, ::2], shifted):
        y = f(given, 1.0, False)
        assert cupy.launches[-2][3][0].data.ptr % 16 == 0
        assert y.get().tolist() == given.host.tolist()


def test_results_share_no_memory(cupy: FakeCupy) -> None:
    text = """func.func @f(%x: memref<?x2xf32>) -> (memref<?x2xf32>, memref<?x2xf32>) {
      return %x, %x : memref<?x2xf32>, memref<?x2xf32>
    }"""
    f = function(cupy, text, Signature("f", (MATRIX,), (MATRIX, MATRIX), False))
    x = on_device(cupy, np.ones((2, 2), F32))
    a, b = f(x)
    assert len({x.data.ptr, a.data.ptr, b.data.ptr}) == 3
    assert a.get().tolist() == b.get().tolist() == x.host.tolist()


def test_views_of_arguments_are_copied(cupy: FakeCupy) -> None:
    flat, split = (Group((Part("value", np.dtype(F32), shape),)) for shape in ((None,), (None, 1, 2)))
    f = function(cupy, VIEWS, Signature("f", (MATRIX, INDEX, INDEX), (MATRIX, flat, split), False))
    x = on_device(cupy, np.arange(4, dtype=F32).reshape(2, 2))
    results = f(x, 0, 2)
    assert [r.get().tolist() for r in results] == [[[1, 1], [3, 3]], [0, 1, 2, 3], [[[0, 1]], [[2, 3]]]]
    assert len({id(r.data.mem) for r in (x, *results)}) == 4


def test_memory_on_the_device(cupy: FakeCupy) -> None:
    """Loads wait; constants stay the program's."""
    f = function(cupy, MEMORY, MEMORY_SIGNATURE)
    for _ in range(2):
        number, array, constant, flag, fraction, splat = f(on_device(cupy, [3, 1, 2]), 1)
        assert (number, flag, fraction) == (1, True, float(F32(0.1)))
        assert (array.get().tolist(), splat.get().tolist()) == ([3, 9, 2], [7, 7, 7])
        assert constant.get().tolist() == [1.5, -2.0]
        splat[...] = 0
        cupy.cuda.current.run()


def test_bfloat16_by_value(cupy: FakeCupy) -> None:
    """CuPy passes no bfloat16, so its bits go."""
    text = """module attributes {gpu.container_module} {
      func.func @f(%a: bf16) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : bf16)
        return
      }
      gpu.module @kernels { gpu.func @k(%a: bf16) kernel { gpu.return } }
    }"""
    group = Group((Part("value", np.dtype(ml_dtypes.bfloat16), None),))
    assert function(cupy, text, Signature("f", (group,), (), False))(1.5) is None
    assert cupy.launches[0][3] == (np.uint16(0x3FC0),)


FREED = "expected memory on the device, got a host pointer or one that was freed"
BAD_ARRAYS = [
    (lambda c: [[1.0, 2.0]], "expected an array on the device or a NumPy array, got list"),
    (lambda c: None, "expected an array on the device or a NumPy array, got NoneType"),
    (lambda c: np.zeros((1, 2)), "expected dtype float32, got float64"),
    (lambda c: np.zeros(2, F32), "expected rank 2, got rank 1"),
    (lambda c: np.zeros((1, 3), F32), "expected extent 2 on axis 1, got 3"),
    (lambda c: on_device(c, np.zeros((1, 2))), "expected dtype float32, got float64"),
    (lambda c: on_device(c, np.zeros(2, F32)), "expected rank 2, got rank 1"),
    (lambda c: on_device(c, np.zeros((1, 3), F32)), "expected extent 2 on axis 1, got 3"),
    (lambda c: Array(c, np.zeros((1, 2), F32), 1), "expected an array on device 0, got one on device 1"),
    (
        lambda c: Tensor(Array(c, np.zeros((1, 2), F32)), 1),
        "expected an array on the device, got Tensor in host memory",
    ),
    (lambda c: Tensor(Array(c, np.zeros((1, 2), F32)), 2, 3), "expected an array on device 0, got one on device 3"),
    (
        lambda c: Tensor(Array(c, np.zeros((1, 2), F32)), error=BufferError("no grad")),
        "expected an array that DLPack can pass on, got: no grad",
    ),
    (lambda c: Foreign(np.zeros((1, 2), F32), 0), "expected memory on the device, got a null pointer"),
    (lambda c: Foreign(np.zeros((1, 2), F32), 7), FREED),
    (lambda c: Foreign(np.zeros((1, 2), F32), 8), FREED),
]  # fmt: skip


@pytest.mark.parametrize(("make", "message"), BAD_ARRAYS)
def test_arrays_refused(cupy: FakeCupy, make: Any, message: str) -> None:
    """7 is memory of the host, 8 was freed."""
    cupy.pointers.update({7: 1, 8: 0})
    f = function(cupy, LAUNCH, TWICE)
    with pytest.raises(ArgumentError) as error:
        f(make(cupy), 1.0, False)
    assert str(error.value) == f"f: argument 0: {message}"


def test_an_array_over_freed_memory(cupy: FakeCupy) -> None:
    f = function(cupy, LAUNCH, TWICE)
    x = Array(cupy, np.zeros((1, 2), F32), 0, UnownedMemory())
    f(x, 1.0, False)
    cupy.pointers[x.data.ptr] = 0
    with pytest.raises(ArgumentError, match="got a host pointer or one that was freed"):
        f(x, 1.0, False)
    f(Foreign(np.zeros((0, 2), F32), 0), 1.0, False)  # nothing is nowhere


def test_bfloat16_needs_a_new_cupy(cupy: FakeCupy) -> None:
    f = function(cupy, LAUNCH, TWICE)
    cupy.__version__ = "13.6.0"
    with pytest.raises(ArgumentError) as error:
        f(Tensor(Array(cupy, np.zeros((1, 2), ml_dtypes.bfloat16))), 1.0, False)
    assert str(error.value) == "f: argument 0: expected CuPy 14 or newer for bfloat16, got CuPy 13.6.0"


def test_index_vectors_are_widened(cupy: FakeCupy) -> None:
    shape = RaggedShape(Layout.parse("dr"), (None, None))
    parts = (Part("values", np.dtype(F32), (None,)), Part("offsets1", np.dtype(I64), (None,), vector=True))
    text = """func.func @f(%v: memref<?xf32>, %o: memref<?xi64>) -> (memref<?xf32>, memref<?xi64>) {
      return %v, %o : memref<?xf32>, memref<?xi64>
    }"""
    group = Group(parts, shape)
    f = function(cupy, text, Signature("f", (group,), (group,), False))
    for dtype in (np.int32, np.uint8, I64):
        values, offsets = f((on_device(cupy, np.ones(2, F32)), on_device(cupy, np.array([0, 2], dtype))))
        assert (offsets.dtype, offsets.get().tolist(), values.get().tolist()) == (np.dtype(I64), [0, 2], [1, 1])


def failed(index: int) -> str:
    """The text of a failed check of CHECKED."""
    return f"ragged.select: level 0: expected index in [0, 2), got {index}"


def test_a_failed_check_is_raised_by_a_later_call(cupy: FakeCupy) -> None:
    """Once the device is known to have come to it; then all is good again."""
    f = function(cupy, CHECKED, CHECK)
    assert [f(5), f(1), f(7)] == [5, 1, 7]
    assert cupy.cuda.current.waits == 0
    cupy.cuda.current.run()
    with pytest.raises(RuntimeCheckError) as error:
        f(1)
    assert str(error.value) == failed(5)
    f(1)
    cupy.cuda.current.run()
    assert f(0) == 0
    assert cupy.cuda.current.waits == 0


def test_another_function_raises_it(cupy: FakeCupy) -> None:
    f, g = function(cupy, CHECKED, CHECK), function(cupy, LAUNCH, TWICE)
    f(5)
    cupy.cuda.current.run()
    with pytest.raises(RuntimeCheckError) as error:
        g(on_device(cupy, np.zeros((1, 2), F32)), 1.0, False)
    assert str(error.value) == failed(5)


def test_synchronize(cupy: FakeCupy) -> None:
    f = function(cupy, CHECKED, CHECK)
    f(1)
    ragged_dialect.synchronize()
    f(5)
    with pytest.raises(RuntimeCheckError) as error:
        ragged_dialect.synchronize()
    assert str(error.value) == failed(5)
    ragged_dialect.synchronize()
    assert f(1) == 1


def test_synchronize_without_cupy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "cupy", raising=False)
    ragged_dialect.synchronize()
    assert "cupy" not in sys.modules


def test_checks_at_once(cupy: FakeCupy) -> None:
    f = function(cupy, CHECKED, CHECK, sync=True)
    with pytest.raises(RuntimeCheckError) as error:
        f(5)
    assert str(error.value) == failed(5)
    assert f(1) == 1


def test_streams_have_their_own_status(cupy: FakeCupy) -> None:
    f = function(cupy, CHECKED, CHECK)
    one, two = cupy.stream(16), cupy.stream(32)
    for stream, index in ((one, 5), (two, 1)):
        with stream:
            f(index)
        stream.run()
    with two:
        f(1)
    with one, pytest.raises(RuntimeCheckError) as error:
        f(1)
    assert str(error.value) == failed(5)


LOADS = """
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


def test_a_load_raises_a_failure_before_it(cupy: FakeCupy) -> None:
    f = function(cupy, LOADS, Signature("f", (VECTOR, INDEX), (INDEX,), False))
    x = on_device(cupy, [7, 8])
    assert f(x, 1) == 8
    with pytest.raises(RuntimeCheckError) as error:
        f(x, 2)
    assert str(error.value) == failed(2)


def test_graphs(cupy: FakeCupy) -> None:
    """Nothing waits for or asks a stream that is captured; `synchronize` sees what the graph did."""
    f = function(cupy, CHECKED, CHECK)
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
        with pytest.raises(RuntimeCheckError) as failure:
            ragged_dialect.synchronize()
    assert str(failure.value) == failed(5)


def test_another_device(cupy: FakeCupy) -> None:
    f = function(cupy, CHECKED, CHECK)
    cupy.device = 1
    with pytest.raises(DeviceError) as error:
        f(1)
    assert str(error.value) == "f: expected the current device to be 0, for which it was compiled, got 1"


def test_out_of_memory(cupy: FakeCupy) -> None:
    f = function(cupy, LAUNCH, TWICE)
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


def test_a_failed_check_explains_a_size(cupy: FakeCupy) -> None:
    """Of a buffer that there is no memory for; a negative one is no size."""
    signature = Signature("f", (INDEX,), (VECTOR,), False)
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
def test_an_index_out_of_bounds(cupy: FakeCupy, index: int) -> None:
    f = function(cupy, MEMORY, MEMORY_SIGNATURE)
    with pytest.raises(DeviceError) as error:
        f(on_device(cupy, [3, 1, 2]), index)
    assert str(error.value) == f"f: expected an index in a buffer of shape (3,), got ({index},)"
    _, emulated = device(MEMORY)
    with pytest.raises(EmulatorError) as fault:
        emulated(np.array([3, 1, 2]), index)
    assert str(fault.value) == str(error.value)


def test_a_fault_on_the_device(cupy: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    f = function(cupy, CHECKED, CHECK, sync=True)

    def fault() -> None:
        raise cupy.cuda.runtime.CUDARuntimeError("cudaErrorIllegalAddress")

    monkeypatch.setattr(cupy.cuda.current, "run", fault)
    with pytest.raises(DeviceError) as error:
        f(1)
    assert str(error.value) == (
        "f: expected the device to run, got cudaErrorIllegalAddress; after a memory error the process must start "
        "again; compile with check=True to find invalid data"
    )


def test_a_grid_that_is_too_large(cupy: FakeCupy) -> None:
    text = "module attributes {gpu.container_module} { func.func @f(%n: index) { %c1 = arith.constant 1 : index " + (
        "gpu.launch_func @kernels::@one blocks in (%c1, %n, %c1) threads in (%c1, %c1, %c1) args(%n : index) return }"
    )
    f = function(cupy, text + KERNELS, Signature("f", (INDEX,), (), False))
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
def test_code_refused(cupy: FakeCupy, ptx: str, machine: dict[str, Any], message: str) -> None:
    for name, value in machine.items():
        setattr(cupy, name, value)
    with pytest.raises(DeviceError) as error:
        function(cupy, CHECKED, CHECK, ptx=ptx)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("ptx", "cuda"),
    [("7.0", 11000), ("7.8", 11080), ("8.0", 12000), ("8.5", 12050), ("8.6", 12070), ("8.8", 12090), ("9.0", 13000)],
)
def test_cuda_of_ptx(ptx: str, cuda: int) -> None:
    """From the release notes of the PTX manual."""
    assert cuda_of_ptx(ptx) == cuda


def test_arch_of_a_device(cupy: FakeCupy) -> None:
    known = ["sm_80", "sm_86", "sm_90", "sm_90a", "sm_100", "sm_120"]
    for capability, arch in [("80", "sm_80"), ("89", "sm_86"), ("90", "sm_90"), ("103", "sm_100"), ("121", "sm_120")]:
        cupy.capability = capability
        assert device_arch(cupy, known) == arch
    cupy.capability = "75"
    with pytest.raises(DeviceError) as error:
        device_arch(cupy, known)
    assert str(error.value) == "expected a GPU of compute capability 8.0 or newer, got one of 7.5"


X = 'tensor<?x?xf32, #ragged.layout<"dr">>'
PROGRAM = f"func.func @twice(%x: {X}) -> {X} {{\n  %0 = arith.addf %x, %x : {X}\n  return %0 : {X}\n}}\n"
GOOD = (np.array([1, 2, 3], F32), np.array([0, 2, 2, 3]))


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeCupy]:
    """The fake with kernels that the emulator runs: `compile` puts LLVM IR where PTX goes."""
    monkeypatch.setattr("ragged_dialect.ptx.emit", lambda text, arch, fast_math: HEADER + text)
    yield install(monkeypatch, FakeCupy(emulator_loader))
    gpu_status._pending.clear()


@pytest.mark.parametrize("target", ["gpu", "auto"])
def test_compile(gpu: FakeCupy, target: str) -> None:
    f = compile(PROGRAM, target=target)
    assert f.target == "gpu"
    values, offsets = f(GOOD)
    assert (values.get().tolist(), offsets.get().tolist()) == ([2, 4, 6], GOOD[1].tolist())
    f((GOOD[0], np.array([1, 2, 2, 3])))
    with pytest.raises(RuntimeCheckError) as error:
        ragged_dialect.synchronize()
    assert str(error.value) == "argument 0: level 1, component 0: expected offsets[0] == 0, got 1"


def test_compile_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    with pytest.raises(DeviceError) as error:
        compile(PROGRAM, target="gpu")
    assert str(error.value).startswith("expected CuPy to run on a GPU, got: ")
    assert str(error.value).endswith("; pip install cupy-cuda12x or cupy-cuda13x")
    assert compile(PROGRAM, target="auto", arch="sm_90").target == "cpu"
    cupy = install(monkeypatch, FakeCupy(python_loader({})))
    for devices, reason in ((0, "no device"), (-1, "cudaErrorNoDevice: no CUDA-capable device is detected")):
        cupy.devices = devices
        with pytest.raises(DeviceError) as error:
            compile(PROGRAM, target="gpu")
        assert str(error.value) == f"expected a GPU, got none ({reason})"


OPTIONS = [
    ({"target": "gpu", "arch": "sm_1"}, "expected an arch among sm_80"),
    ({"target": "cpu", "arch": "sm_90"}, "expected no arch for target 'cpu', got 'sm_90'"),
    ({"target": "emulator", "arch": "sm_90"}, "expected no arch for target 'emulator', got 'sm_90'"),
    ({"check": "later"}, "expected True, False or 'sync' for check, got 'later'"),
    ({"sync": "maybe"}, "expected 'allow' or 'forbid' for sync, got 'maybe'"),
    ({"target": "tpu"}, "expected a target among cpu, gpu, emulator, auto, got 'tpu'"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(CompileError) as error:
        compile(PROGRAM, **options)
    assert str(error.value).startswith(message)


def test_programs_that_wait_can_be_refused() -> None:
    text = """func.func @f(%x: tensor<?xf32>) -> f32 {
      %c0 = arith.constant 0 : index
      %0 = tensor.extract %x[%c0] : tensor<?xf32>
      return %0 : f32
    }"""
    assert compile(text, target="emulator")(np.array([2.5], F32)) == 2.5
    assert compile(PROGRAM, target="emulator", sync="forbid")(GOOD)[0].tolist() == [2, 4, 6]
    with pytest.raises(CompileError) as error:
        compile(text, target="emulator", sync="forbid")
    assert str(error.value) == (
        "f: expected a program that never waits for the device, got one with memref.load on the host"
    )


@pytest.mark.parametrize("target", ["gpu", "emulator"])
def test_a_division_by_zero(gpu: FakeCupy, target: str) -> None:
    """In a program without kernels."""
    text = "func.func @f(%a: i64, %b: i64) -> i64 {\n %0 = arith.divsi %a, %b : i64\n return %0 : i64\n}"
    f = compile(text, target=target)
    assert f(7, -2) == -3
    with pytest.raises(RuntimeCheckError) as error:
        f(1, 0)
    assert str(error.value) == "f: expected a divisor other than 0, got 0"


def test_memory_of_the_emulator() -> None:
    text = """func.func @f(%n: index) -> tensor<?xf32> {
      %z = arith.constant 0.0 : f32
      %0 = tensor.empty(%n) : tensor<?xf32>
      %1 = linalg.fill ins(%z : f32) outs(%0 : tensor<?xf32>) -> tensor<?xf32>
      return %1 : tensor<?xf32>
    }"""
    f = compile(text, target="emulator")
    assert f(2).tolist() == [0, 0]
    for size in (2**50, 2**62):
        with pytest.raises(DeviceError, match="f: expected enough memory, got: "):
            f(size)


def test_overhead_of_a_launch(cupy: FakeCupy) -> None:
    """What the runtime adds to a launch, without CuPy: far below the 15 us that are allowed."""
    launches = 20
    lines = "\n".join(
        "gpu.launch_func @kernels::@one blocks in (%n, %c1, %c1) threads in (%c1, %c1, %c1) args(%n : index)"
        for _ in range(launches)
    )
    head = "module attributes {gpu.container_module} { func.func @f(%n: index) { %c1 = arith.constant 1 : index "
    text = f"{head}{lines} return }}"
    f = function(cupy, text + KERNELS, Signature("f", (INDEX,), (), False))
    best = min(_seconds(f, cupy) for _ in range(20))
    assert best / launches < 15e-6


def _seconds(f: Any, cupy: FakeCupy) -> float:
    gc.disable()
    start = time.perf_counter()
    f(3)
    end = time.perf_counter()
    gc.enable()
    cupy.cuda.current.queue.clear()
    cupy.launches.clear()
    return end - start
