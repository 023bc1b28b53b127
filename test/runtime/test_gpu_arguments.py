"""Arguments and results of programs on a GPU, on the fake CuPy: what is copied, what is not, what is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.gpu_programs import INDEX, LOADS, MATRIX, SCALE, function, on_device, one, with_python_kernels
from support.host_texts import LAUNCH, MEMORY, VIEWS

from ragged_dialect import ArgumentError
from ragged_dialect.emulator.cupy_stand_in import Array, StandIn, UnownedMemory
from ragged_dialect.layout import Layout
from ragged_dialect.runtime.signature import Group, Part, Signature
from ragged_dialect.shape import RaggedShape

F32, I64 = np.float32, np.int64


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


@pytest.fixture
def cupy(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The fake, as the module cupy."""
    return with_python_kernels(monkeypatch)


def test_numpy_arguments_are_copied(cupy: StandIn) -> None:
    f = function(cupy, LAUNCH, SCALE)
    x = np.asfortranarray(np.arange(6, dtype=F32).reshape(3, 2))
    y = f(x, 2, False)
    assert isinstance(y, Array)
    x[...] = 0
    assert y.get().tolist() == [[0, 4], [8, 12], [16, 20]]


def test_arrays_of_other_libraries_are_not_copied(cupy: StandIn) -> None:
    f = function(cupy, LAUNCH, SCALE)
    x = on_device(cupy, np.ones((2, 2), F32))

    class Subclass(Array):
        pass

    for given in (Tensor(x), Tensor(x, kind=13), Foreign(x.host), x.view(Subclass)):
        f(given, 1.0, False)
        assert cupy.launches[-2][3][0].data.ptr == x.data.ptr
        assert type(cupy.launches[-2][3][0]) is Array


def test_layouts_in_memory(cupy: StandIn) -> None:
    """What is not contiguous, or not aligned as kernels expect, is copied on the device."""
    f = function(cupy, LAUNCH, SCALE)
    wide = on_device(cupy, np.arange(12, dtype=F32).reshape(3, 4))
    shifted = on_device(cupy, np.arange(7, dtype=F32))[1:].reshape((3, 2))
    for given in (wide[:, ::2], shifted):
        y = f(given, 1.0, False)
        assert cupy.launches[-2][3][0].data.ptr % 16 == 0
        assert y.get().tolist() == given.host.tolist()


def test_results_share_no_memory(cupy: StandIn) -> None:
    text = """func.func @f(%x: memref<?x2xf32>) -> (memref<?x2xf32>, memref<?x2xf32>) {
      return %x, %x : memref<?x2xf32>, memref<?x2xf32>
    }"""
    f = function(cupy, text, Signature("f", (MATRIX,), (MATRIX, MATRIX)))
    x = on_device(cupy, np.ones((2, 2), F32))
    a, b = f(x)
    assert len({x.data.ptr, a.data.ptr, b.data.ptr}) == 3
    assert a.get().tolist() == b.get().tolist() == x.host.tolist()


def test_views_of_arguments_are_copied(cupy: StandIn) -> None:
    views = (MATRIX, one(F32, (None,)), one(F32, (None, 1, 2)))
    f = function(cupy, VIEWS, Signature("f", (MATRIX, INDEX, INDEX), views))
    x = on_device(cupy, np.arange(4, dtype=F32).reshape(2, 2))
    results = f(x, 0, 2)
    assert [r.get().tolist() for r in results] == [[[1, 1], [3, 3]], [0, 1, 2, 3], [[[0, 1]], [[2, 3]]]]
    assert len({id(r.data.mem) for r in (x, *results)}) == 4


def test_memory_on_the_device(cupy: StandIn) -> None:
    """Loads wait; constants stay the program's."""
    f = function(cupy, MEMORY, LOADS)
    for _ in range(2):
        number, array, constant, flag, fraction, splat = f(on_device(cupy, [3, 1, 2]), 1)
        assert (number, flag, fraction) == (1, True, float(F32(0.1)))
        assert (array.get().tolist(), splat.get().tolist()) == ([3, 9, 2], [7, 7, 7])
        assert constant.get().tolist() == [1.5, -2.0]
        splat[...] = 0
        cupy.cuda.current.run()


def test_bfloat16_by_value(cupy: StandIn) -> None:
    """CuPy passes no bfloat16, so its bits go."""
    text = """module attributes {gpu.container_module} {
      func.func @f(%a: bf16) {
        %c1 = arith.constant 1 : index
        gpu.launch_func @kernels::@k blocks in (%c1, %c1, %c1) threads in (%c1, %c1, %c1) args(%a : bf16)
        return
      }
      gpu.module @kernels { gpu.func @k(%a: bf16) kernel { gpu.return } }
    }"""
    signature = Signature("f", (one(ml_dtypes.bfloat16),), ())
    assert function(cupy, text, signature)(1.5) is None
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
def test_arrays_refused(cupy: StandIn, make: Any, message: str) -> None:
    """7 is memory of the host, 8 was freed."""
    cupy.pointers.update({7: 1, 8: 0})
    f = function(cupy, LAUNCH, SCALE)
    with pytest.raises(ArgumentError) as error:
        f(make(cupy), 1.0, False)
    assert str(error.value) == f"f: argument 0: {message}"


def test_an_array_over_freed_memory(cupy: StandIn) -> None:
    f = function(cupy, LAUNCH, SCALE)
    owner = cupy.empty((1, 2), F32)
    x = Array(cupy, owner.host, 0, UnownedMemory())
    f(x, 1.0, False)
    cupy.pointers[x.data.ptr] = 0
    with pytest.raises(ArgumentError, match="got a host pointer or one that was freed"):
        f(x, 1.0, False)
    f(Foreign(np.zeros((0, 2), F32), 0), 1.0, False)  # nothing is nowhere


def test_bfloat16_needs_a_new_cupy(cupy: StandIn) -> None:
    f = function(cupy, LAUNCH, SCALE)
    cupy.__version__ = "13.6.0"
    with pytest.raises(ArgumentError) as error:
        f(Tensor(Array(cupy, np.zeros((1, 2), ml_dtypes.bfloat16))), 1.0, False)
    assert str(error.value) == "f: argument 0: expected CuPy 14 or newer for bfloat16, got CuPy 13.6.0"


def test_index_vectors_are_widened(cupy: StandIn) -> None:
    shape = RaggedShape(Layout.parse("dr"), (None, None))
    parts = (Part("values", np.dtype(F32), (None,)), Part("offsets1", np.dtype(I64), (None,), vector=True))
    text = """func.func @f(%v: memref<?xf32>, %o: memref<?xi64>) -> (memref<?xf32>, memref<?xi64>) {
      return %v, %o : memref<?xf32>, memref<?xi64>
    }"""
    group = Group(parts, shape)
    f = function(cupy, text, Signature("f", (group,), (group,)))
    for dtype in (np.int32, np.uint8, I64):
        values, offsets = f((on_device(cupy, np.ones(2, F32)), on_device(cupy, np.array([0, 2], dtype))))
        assert (offsets.dtype, offsets.get().tolist(), values.get().tolist()) == (np.dtype(I64), [0, 2], [1, 1])
