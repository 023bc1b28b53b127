"""The emulator computes what the kernels say."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.emulator_kernels import (
    FLOAT_VIEWS,
    FLOATS,
    SHARED,
    VECTOR,
    block_sum,
    by_hand,
    lowered,
    view,
)

from ragged_dialect.emulator import Emulator
from ragged_dialect.errors import EmulatorError

ORDERS = ("forward", "reverse", "random")
Array = np.ndarray[Any, np.dtype[Any]]


def numbers(count: int, dtype: Any = np.float32) -> Array:
    """Reproducible numbers."""
    return np.random.default_rng(1).standard_normal(count).astype(dtype)


def doubled(kind: str) -> str:
    """y[i] = x[i] + x[i] over all threads of all blocks."""
    add = "arith.addf" if kind[0] in "fb" else "arith.addi"
    body = view("%x", "%p", kind) + view("%y", "%o", kind)
    body += f"""
  %size = gpu.block_dim x
  %b0 = arith.muli %b, %size : index
  %i = arith.addi %b0, %t : index
  %inside = arith.cmpi slt, %i, %n : index
  scf.if %inside {{
    %v = memref.load %x[%i] : memref<?x{kind}>
    %r = {add} %v, %v : {kind}
    memref.store %r, %y[%i] : memref<?x{kind}>
  }}"""
    return lowered(f"%p: memref<{kind}>, %o: memref<{kind}>, %n: index", body)


DTYPES = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
}


@pytest.mark.parametrize("kind", DTYPES)
def test_loads_and_stores_of_every_type(kind: str) -> None:
    x = (40 * numbers(1000)).astype(DTYPES[kind])
    y = np.zeros_like(x)
    Emulator(doubled(kind)).launch("k", (8, 1, 1), (128, 1, 1), [x, y, 1000])
    np.testing.assert_array_equal(y, x + x)


@pytest.mark.parametrize("threads", [1, 31, 32, 33, 1024])
@pytest.mark.parametrize("order", ORDERS)
def test_blocks_of_all_sizes(threads: int, order: str) -> None:
    x = numbers(2000)
    y = np.zeros_like(x)
    Emulator(doubled("f32"), order=order).launch("k", (-(-2000 // threads), 1, 1), (threads, 1, 1), [x, y, 2000])
    np.testing.assert_array_equal(y, x + x)


def test_no_blocks() -> None:
    y = np.ones(4, np.float32)
    with pytest.raises(EmulatorError, match="kernel k: expected a grid of 1 block or more, got"):
        Emulator(doubled("f32")).launch("k", (0, 1, 1), (128, 1, 1), [y, np.zeros(4, np.float32), 4])
    assert y.tolist() == [1] * 4


@pytest.mark.parametrize("order", ORDERS)
def test_buffers_of_no_elements(order: str) -> None:
    x, y = np.zeros(0, np.float32), np.zeros((0, 5), np.float32)
    Emulator(doubled("f32"), order=order).launch("k", (2, 1, 1), (128, 1, 1), [x, y, 0])


def test_one_array_for_two_arguments() -> None:
    x = numbers(128)
    expected = x + x
    Emulator(doubled("f32")).launch("k", (1, 1, 1), (128, 1, 1), [x, x, 128])
    np.testing.assert_array_equal(x, expected)


@pytest.mark.parametrize("check", [True, False])
def test_block_sum_is_the_same_in_every_order(check: bool) -> None:
    x = numbers(10_003)
    results = list[Array]()
    for order in ORDERS:
        for seed in range(3):
            y = np.zeros(16, np.float32)
            emulator = Emulator(lowered(FLOATS, block_sum(), SHARED), check=check, order=order, seed=seed)
            emulator.launch("k", (16, 1, 1), (128, 1, 1), [x, y, x.size])
            results.append(y)
    assert all(y.tobytes() == results[0].tobytes() for y in results)
    assert abs(results[0].sum() - x.sum(dtype=np.float64)) < 1e-3


def test_random_orders_differ_and_follow_the_seed() -> None:
    """Threads note when they ran: an atomic counter."""
    body = view("%x", "%p", "i32") + view("%y", "%o", "i32")
    body += """  %one = arith.constant 1 : i32
  %v = memref.atomic_rmw addi %one, %x[%c0] : (i32, memref<?xi32>) -> i32
  memref.store %v, %y[%t] : memref<?xi32>"""
    text = lowered("%p: memref<i32>, %o: memref<i32>, %n: index", body)

    def ran(order: str, seed: int) -> list[int]:
        counter, y = np.zeros(1, np.int32), np.full(64, -1, np.int32)
        Emulator(text, order=order, seed=seed).launch("k", (1, 1, 1), (64, 1, 1), [counter, y, 64])
        return y.tolist()

    assert ran("forward", 0) == list(range(64))
    assert ran("reverse", 0) == list(range(63, -1, -1))
    assert sorted(ran("random", 0)) == list(range(64))
    assert ran("random", 0) == ran("random", 0) != ran("random", 1)


@pytest.mark.parametrize("order", ORDERS)
def test_integer_atomics_over_blocks(order: str) -> None:
    body = view("%x", "%p", "i32") + view("%y", "%o", "i32")
    body += """  %v = memref.load %x[%t] : memref<?xi32>
  %at = arith.index_cast %v : i32 to index
  %one = arith.constant 1 : i32
  %u = memref.atomic_rmw addi %one, %y[%at] : (i32, memref<?xi32>) -> i32
  %w = memref.atomic_rmw maxs %v, %y[%c4] : (i32, memref<?xi32>) -> i32"""
    x, y = (np.arange(128, dtype=np.int32) % 4), np.zeros(5, np.int32)
    text = lowered("%p: memref<i32>, %o: memref<i32>, %n: index", body)
    Emulator(text, order=order).launch("k", (10, 1, 1), (128, 1, 1), [x, y, 128])
    assert y.tolist() == [320] * 4 + [3]


def test_compare_and_swap_loop() -> None:
    """What has no atomic instruction becomes a loop around a compare-and-swap."""
    body = view("%y", "%o", "i32")
    body += """  %w = memref.generic_atomic_rmw %y[%c0] : memref<?xi32> {
  ^bb0(%old: i32):
    %three = arith.constant 3 : i32
    %mul = arith.muli %old, %three : i32
    memref.atomic_yield %mul : i32
  }"""
    y = np.ones(1, np.int32)
    text = lowered("%o: memref<i32>, %n: index", body)
    Emulator(text).launch("k", (2, 1, 1), (5, 1, 1), [y, 1])
    assert y[0] == 3**10


def test_vectors_of_four_floats() -> None:
    body = f"""{FLOAT_VIEWS}  %i = arith.muli %t, %c4 : index
  %v = vector.load %x[%i] {VECTOR}
  %w = arith.addf %v, %v : vector<4xf32>
  vector.store %w, %y[%i] {VECTOR}"""
    x, y = numbers(512), np.zeros(512, np.float32)
    Emulator(lowered(FLOATS, body)).launch("k", (1, 1, 1), (128, 1, 1), [x, y, 512])
    np.testing.assert_array_equal(y, x + x)


def test_binary_search_in_a_while_loop() -> None:
    body = view("%x", "%p", "i64") + view("%y", "%o", "i64", "%c128")
    body += """  %key = arith.index_cast %t : index to i64
  %lo, %hi = scf.while (%l = %c0, %h = %n) : (index, index) -> (index, index) {
    %more = arith.cmpi slt, %l, %h : index
    scf.condition(%more) %l, %h : index, index
  } do {
  ^bb0(%l: index, %h: index):
    %sum = arith.addi %l, %h : index
    %m = arith.shrui %sum, %c1 : index
    %v = memref.load %x[%m] : memref<?xi64>
    %left = arith.cmpi sle, %v, %key : i64
    %m1 = arith.addi %m, %c1 : index
    %nl = arith.select %left, %m1, %l : index
    %nh = arith.select %left, %h, %m : index
    scf.yield %nl, %nh : index, index
  }
  %r = arith.index_cast %lo : index to i64
  memref.store %r, %y[%t] : memref<?xi64>"""
    x, y = np.array([0, 5, 5, 60, 100, 128]), np.zeros(128, np.int64)
    text = lowered("%p: memref<i64>, %o: memref<i64>, %n: index", body)
    Emulator(text).launch("k", (1, 1, 1), (128, 1, 1), [x, y, 6])
    np.testing.assert_array_equal(y, np.searchsorted(x, np.arange(128), side="right"))


def test_three_dimensions() -> None:
    names = [f"{what}_{axis}" for what in ("thread_id", "block_id", "block_dim", "grid_dim") for axis in "xyz"]
    body = "".join(f"  %{name} = gpu.{name[:-2]} {name[-1]}\n" for name in names)
    body += view("%y", "%o", "i64")
    linear = "%zero = arith.constant 0 : index\n"
    last = "%zero"
    for what, size in (("block_id", "grid_dim"), ("thread_id", "block_dim")):
        for axis in "zyx":
            linear += f"%s_{what}{axis} = arith.muli {last}, %{size}_{axis} : index\n"
            last = f"%l_{what}{axis}"
            linear += f"{last} = arith.addi %s_{what}{axis}, %{what}_{axis} : index\n"
    body += f"{linear}  %r = arith.index_cast {last} : index to i64\n  memref.store %r, %y[{last}] : memref<?xi64>"
    y = np.zeros(2 * 3 * 4 * 5 * 6 * 7, np.int64)
    Emulator(lowered("%o: memref<i64>, %n: index", body)).launch("k", (2, 3, 4), (5, 6, 7), [y, y.size])
    np.testing.assert_array_equal(y, np.arange(y.size))


def test_local_arrays_and_constants() -> None:
    before = "@table = private constant [4 x i32] [i32 7, i32 5, i32 3, i32 1]"
    body = """  %local = alloca i32, i64 4, align 4
  %i = and i64 %t, 3
  %p = getelementptr i32, ptr @table, i64 %i
  %v = load i32, ptr %p, align 4
  %q = getelementptr i32, ptr %local, i64 %i
  store i32 %v, ptr %q, align 4
  %w = load i32, ptr %q, align 4
  %r = getelementptr i32, ptr %0, i64 %t
  store i32 %w, ptr %r, align 4"""
    y = np.zeros(8, np.int32)
    Emulator(by_hand("ptr %0", body, before=before)).launch("k", (1, 1, 1), (8, 1, 1), [y])
    assert y.tolist() == [7, 5, 3, 1] * 2


def test_memory_intrinsics_and_functions() -> None:
    """A function of the module, and copies of a size known at run time."""
    before = """define internal void @helper(ptr %to, ptr %from, i64 %size) {
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %to, ptr align 4 %from, i64 %size, i1 false)
  ret void
}"""
    body = """  call void @llvm.memset.p0.i64(ptr %1, i8 1, i64 4, i1 false)
  %to = getelementptr i8, ptr %1, i64 4
  call void @helper(ptr %to, ptr %0, i64 %2)"""
    declarations = [
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    ]
    x, y = np.array([5, 6], np.int32), np.zeros(3, np.int32)
    Emulator(by_hand("ptr %0, ptr %1, i64 %2", body, declarations, before)).launch("k", (1, 1, 1), (1, 1, 1), [x, y, 8])
    assert y.tolist() == [0x01010101, 5, 6]


def test_scalar_arguments_of_every_type() -> None:
    body = "".join(
        f"  %p{k} = getelementptr i8, ptr %0, i64 {8 * k}\n  store {kind} %{k + 1}, ptr %p{k}\n"
        for k, kind in enumerate(("i8", "i64", "half", "bfloat", "float", "double"))
    )
    text = by_hand("ptr %0, i8 %1, i64 %2, half %3, bfloat %4, float %5, double %6", body)
    y = np.zeros(6, np.int64)
    Emulator(text).launch("k", (1, 1, 1), (1, 1, 1), [y, -1, -2, 1.5, 1.5, np.float32(0.1), 0.1])
    bits = [np.array(v).view(u).item() for v, u in ((np.float16(1.5), "u2"), (np.float32(0.1), "u4"), (0.1, "u8"))]
    assert y.tolist() == [255, -2, bits[0], 0x3FC0, bits[1], bits[2]]


def test_switch_instructions() -> None:
    body = """  switch i64 %t, label %other [
    i64 1, label %one
    i64 2, label %two
  ]

one:
  br label %end

two:
  br label %end

other:
  br label %end

end:
  %v = phi i64 [ 10, %one ], [ 20, %two ], [ 30, %other ]
  %p = getelementptr i64, ptr %0, i64 %t
  store i64 %v, ptr %p"""
    y = np.zeros(4, np.int64)
    Emulator(by_hand("ptr %0", body)).launch("k", (1, 1, 1), (4, 1, 1), [y])
    assert y.tolist() == [30, 10, 20, 30]


def test_many_emulators_and_launches_share_the_machine() -> None:
    emulators = [Emulator(doubled("f32")), Emulator(lowered(FLOATS, block_sum(), SHARED))]
    x = numbers(128)
    for threads in (128, 64, 128):
        y = np.zeros(128, np.float32)
        emulators[0].launch("k", (128 // threads, 1, 1), (threads, 1, 1), [x, y, 128])
        np.testing.assert_array_equal(y, x + x)
        emulators[1].launch("k", (1, 1, 1), (128, 1, 1), [x, y, 128])
        assert abs(y[0] - x.sum(dtype=np.float64)) < 1e-4


def test_launches_from_several_threads() -> None:
    emulator = Emulator(doubled("f32"))

    def launch(seed: int) -> bool:
        x = numbers(1000) + seed
        y = np.zeros_like(x)
        emulator.launch("k", (8, 1, 1), (128, 1, 1), [x, y, 1000])
        return bool((y == x + x).all())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(launch, range(40)))


def test_example_of_the_document(root: Path) -> None:
    text = (root / "docs" / "emulator.md").read_text()
    [example] = re.findall(r"```python\n(.*?)```", text, re.S)
    names: dict[str, Any] = {}
    exec(example, names)
    assert names["y"].tolist() == [2.0 * i for i in range(8)]
    [message] = re.findall(r"EmulatorError: (.*?)```", text, re.S)
    with pytest.raises(EmulatorError, match=re.escape(message.strip().replace("\n", " "))):
        Emulator(names["LLVM_IR"], order="forward").launch("twice", (1, 1, 1), (9, 1, 1), [names["x"], names["y"]])
