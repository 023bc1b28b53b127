"""Seeded faults: the emulator finds each, says where, and goes on working."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.emulator_kernels import (
    FLOAT_VIEWS,
    FLOATS,
    IN_SHARED,
    SHARED,
    VECTOR,
    block_sum,
    by_hand,
    lowered,
    shuffle_sum,
)

from ragged_dialect.emulator import Emulator
from ragged_dialect.errors import EmulatorError

Array = np.ndarray[Any, np.dtype[Any]]
ORDERS = ("forward", "reverse", "random")


def floats(count: int) -> Array:
    """Reproducible numbers, aligned to 16 bytes."""
    memory = np.zeros(count + 4, np.float32)
    start = -memory.ctypes.data % 16 // 4
    memory[start : start + count] = np.random.default_rng(2).standard_normal(count)
    return memory[start : start + count]


def refused(text: str, expected: str, args: list[Any], grid: int = 1, block: int = 128, order: str = "random") -> None:
    """Launching fails with a text that has `expected` in it, and a correct kernel runs afterwards."""
    with pytest.raises(EmulatorError, match=expected) as caught:
        Emulator(text, order=order).launch("k", (grid, 1, 1), (block, 1, 1), args)
    assert re.match(r"kernel k, block \(\d+, 0, 0\), thread \(\d+, 0, 0\): expected ", str(caught.value))
    x, y = floats(500), floats(1)
    Emulator(lowered(FLOATS, block_sum(), SHARED)).launch("k", (1, 1, 1), (128, 1, 1), [x, y, 500])
    assert abs(y[0] - x.sum(dtype=np.float64)) < 1e-3


@pytest.mark.parametrize("order", ORDERS)
def test_removed_barrier(order: str) -> None:
    expected = r"(races with a (store|load) by thread|shared memory that the block has written, got a load)"
    refused(lowered(FLOATS, block_sum(barrier=""), SHARED), expected, [floats(500), floats(2), 500], 2, order=order)


@pytest.mark.parametrize("order", ORDERS)
def test_missing_barrier_after_global_scratch(order: str) -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>
  %m = arith.subi %c127, %t : index
  %w = memref.load %y[%m] : memref<?xf32>
  gpu.barrier
  memref.store %w, %y[%t] : memref<?xf32>"""
    expected = (
        r"a (load|store) of 4 bytes at byte \d+ of argument 1 of 512 bytes that races with a (store|load) by thread"
    )
    refused(lowered(FLOATS, body), expected, [floats(128), floats(128), 128], order=order)


def test_barrier_before_global_scratch_is_read() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>
  gpu.barrier
  %m = arith.subi %c127, %t : index
  %w = memref.load %y[%m] : memref<?xf32>
  gpu.barrier
  memref.store %w, %y[%t] : memref<?xf32>"""
    x, y = floats(128), floats(128)
    Emulator(lowered(FLOATS, body)).launch("k", (1, 1, 1), (128, 1, 1), [x, y, 128])
    np.testing.assert_array_equal(y, x[::-1])


@pytest.mark.parametrize("order", ORDERS)
def test_two_blocks_write_one_row(order: str) -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>"""
    expected = r"a store of 4 bytes at byte \d+ of argument 1 .* races with a store by block \(\d, 0, 0\), thread"
    refused(lowered(FLOATS, body), expected, [floats(128), floats(128), 128], 2, order=order)


@pytest.mark.parametrize("order", ORDERS)
def test_block_reads_what_another_writes(order: str) -> None:
    """Block b writes row b and reads row b + 1."""
    body = f"""{FLOAT_VIEWS}  %b1 = arith.addi %b, %c1 : index
  %v = memref.load %y[%b1] : memref<?xf32>
  memref.store %v, %y[%b] : memref<?xf32>"""
    refused(
        lowered(FLOATS, body), r"races with a (store|load) by (block|another)", [floats(4), floats(4), 4], 3, 1, order
    )


def test_reads_of_earlier_blocks_are_not_forgotten() -> None:
    """All blocks read an element, the last one reads it too and, after a barrier, writes it."""
    body = f"""{FLOAT_VIEWS}  %v = memref.load %y[%c0] : memref<?xf32>
  gpu.barrier
  %last = arith.cmpi eq, %b, %c3 : index
  scf.if %last {{
    memref.store %v, %y[%c0] : memref<?xf32>
  }}"""
    refused(lowered(FLOATS, body), "races with a load by another block", [floats(4), floats(4), 4], 4, 1, "forward")


def test_stores_of_equal_values_race_too() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%c0] : memref<?xf32>
  memref.store %v, %y[%c0] : memref<?xf32>"""
    refused(lowered(FLOATS, body), "races with a store by thread", [floats(1), floats(1), 1], 1, 2)


def test_plain_and_atomic_accesses_race() -> None:
    text = by_hand(
        "ptr %0",
        "  %a = atomicrmw add ptr %0, i32 1 monotonic, align 4\n  %b = load i32, ptr %0, align 4\n"
        "  %q = getelementptr i32, ptr %0, i64 1\n  %c = getelementptr i32, ptr %q, i64 %t\n"
        "  store i32 %b, ptr %c, align 4",
    )
    refused(text, r"races with an? (atomic access|load) by", [np.zeros(9, np.int32)], 1, 8)


def test_volatile_accesses_race_with_plain_stores_only() -> None:
    read = "  %v = load volatile i32, ptr %0, align 4\n  %w = load i32, ptr %0, align 4\n  fence acq_rel\n"
    Emulator(by_hand("ptr %0", read)).launch("k", (2, 1, 1), (8, 1, 1), [np.zeros(1, np.int32)])
    write = "  store volatile i32 1, ptr %0, align 4\n  %v = load volatile i32, ptr %0, align 4"
    Emulator(by_hand("ptr %0", write)).launch("k", (2, 1, 1), (8, 1, 1), [np.zeros(1, np.int32)])
    plain = write.replace("store volatile", "store")
    refused(by_hand("ptr %0", plain), "races with a store", [np.zeros(1, np.int32)], 2, 8)


@pytest.mark.parametrize(("load", "store"), [(1, 0), (0, 1)])
def test_off_by_one_bound(load: int, store: int) -> None:
    body = f"""{FLOAT_VIEWS}  %i = arith.addi %t, %c{load} : index
  %k = arith.addi %t, %c{store} : index
  %v = memref.load %x[%i] : memref<?xf32>
  memref.store %v, %y[%k] : memref<?xf32>"""
    what = "load of 4 bytes at byte 512" if load else "store of 4 bytes at byte 512"
    expected = rf"thread \(127, 0, 0\): expected an access within argument {store} of 512 bytes, got a {what}$"
    refused(lowered(FLOATS, body), expected, [floats(128), floats(128), 128])


def test_negative_index() -> None:
    body = f"""{FLOAT_VIEWS}  %i = arith.subi %t, %c1 : index
  %v = memref.load %x[%i] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>"""
    expected = "thread (0, 0, 0): expected an access within argument 0 of 512 bytes, got a load of 4 bytes at byte -4"
    refused(lowered(FLOATS, body), re.escape(expected), [floats(128), floats(128), 128])


def test_out_of_bounds_into_another_argument() -> None:
    """What lies beyond the end is another argument: still an error."""
    memory = floats(256)
    body = f"""{FLOAT_VIEWS}  %i = arith.addi %t, %c1 : index
  %v = memref.load %x[%i] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>"""
    text = lowered(FLOATS.replace(" {llvm.noalias}", ""), body)
    refused(text, "access within argument 0 of 512 bytes, got a load", [memory[:128], memory[128:], 128])


def test_empty_array_is_not_read() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  memref.store %v, %y[%t] : memref<?xf32>"""
    refused(lowered(FLOATS, body), "argument 0 of 0 bytes, got a load of 4 bytes at byte", [floats(0), floats(128), 0])


def test_out_of_bounds_in_shared_memory() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  %i = arith.addi %t, %c1 : index
  memref.store %v, %sm[%i] : {IN_SHARED}"""
    expected = r"access within shared buffer __wg_k_0 of 512 bytes, got a store of 4 bytes at byte 512"
    refused(lowered(FLOATS, body, SHARED), expected, [floats(128), floats(128), 128])


def test_out_of_bounds_in_a_local_array() -> None:
    body = """  %local = alloca i32, i64 4, align 4
  %p = getelementptr i32, ptr %local, i64 %t
  store i32 0, ptr %p, align 4"""
    expected = "within a local array or constant of 16 bytes, got a store of 4 bytes at byte 16"
    refused(by_hand("ptr %0", body), expected, [floats(1)], block=5)


def test_pointer_from_nowhere() -> None:
    body = "  %p = inttoptr i64 %1 to ptr\n  %v = load i32, ptr %p, align 4\n  store i32 %v, ptr %0, align 4"
    expected = "expected an access to an argument or to shared memory, got a load of 4 bytes at address 0x10"
    refused(by_hand("ptr %0, i64 %1", body), expected, [floats(1), 16], block=1)


def test_pointer_that_comes_from_memory_is_looked_up() -> None:
    body = "  %p = inttoptr i64 %1 to ptr\n  %v = load i32, ptr %p, align 4\n  store i32 %v, ptr %0, align 4"
    y = np.array([0, 7], np.int32)
    emulator = Emulator(by_hand("ptr %0, i64 %1", body))
    emulator.launch("k", (1, 1, 1), (1, 1, 1), [y, y.ctypes.data + 4])
    assert y.tolist() == [7, 7]


@pytest.mark.parametrize("what", ["load", "store"])
def test_misaligned_vector(what: str) -> None:
    places = ("%i", "%k") if what == "load" else ("%k", "%i")
    body = f"""{FLOAT_VIEWS}  %k = arith.muli %t, %c4 : index
  %i = arith.addi %k, %c1 : index
  %v = vector.load %x[{places[0]}] {VECTOR}
  vector.store %v, %y[{places[1]}] {VECTOR}"""
    expected = rf"expected an address aligned to 16 bytes, got a {what} of 16 bytes at byte \d+ of argument [01] of"
    refused(lowered(FLOATS, body), expected, [floats(516), floats(516), 516], block=8)


def test_misaligned_shared_memory() -> None:
    """Shared memory is not better aligned than it says."""
    before = "@sm = internal addrspace(3) global [16 x float] undef"
    body = "  store <4 x float> zeroinitializer, ptr addrspace(3) @sm, align 16"
    expected = r"aligned to 16 bytes, got a store of 16 bytes at byte 0 of shared buffer sm of 64 bytes, 4 bytes off"
    refused(by_hand("ptr %0", body, before=before), expected, [floats(1)], block=1)
    aligned = by_hand("ptr %0", body, before=before + ", align 16")
    Emulator(aligned).launch("k", (1, 1, 1), (1, 1, 1), [floats(1)])


def test_uninitialised_shared_memory() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  %even = arith.remui %t, %c2 : index
  %is = arith.cmpi eq, %even, %c0 : index
  scf.if %is {{ memref.store %v, %sm[%t] : {IN_SHARED} }}
  gpu.barrier
  %w = memref.load %sm[%t] : {IN_SHARED}
  memref.store %w, %y[%t] : memref<?xf32>"""
    expected = r"expected shared memory that the block has written, got a load of 4 bytes at byte \d+ of shared buffer"
    text = lowered(FLOATS, body, SHARED)
    refused(text, expected, [floats(128), floats(128), 128])
    y = floats(128)
    Emulator(text, check=False).launch("k", (1, 1, 1), (128, 1, 1), [floats(128), y, 128])
    assert np.isnan(y[1::2]).all()
    assert not np.isnan(y[::2]).any()


def test_shared_memory_of_the_block_before_is_gone() -> None:
    body = f"""{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>
  %is = arith.cmpi eq, %b, %c0 : index
  scf.if %is {{ memref.store %v, %sm[%t] : {IN_SHARED} }}
  gpu.barrier
  %w = memref.load %sm[%t] : {IN_SHARED}"""
    expected = r"block \(1, 0, 0\), thread .*expected shared memory that the block has written"
    body += "\n  memref.store %w, %y[%t] : memref<?xf32>"
    refused(lowered(FLOATS, body, SHARED), expected, [floats(1), floats(1), 1], 2, 1, "forward")


BRANCH = f"{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>\n  %is = arith.cmpi ult, %t, %c4 : index\n"


def branch(then: str, after: str = "") -> str:
    """Threads 0 to 3 do one thing, then all another."""
    return f"{BRANCH}  scf.if %is {{\n{then}\n  }}\n{after}"


def test_shuffle_in_a_branch() -> None:
    then = shuffle_sum("%v", "%s") + "\nmemref.store %s, %y[%t] : memref<?xf32>"
    expected = r"to read an active lane, got lane \d+, which has exited"
    refused(lowered(FLOATS, branch(then)), expected, [floats(32), floats(32), 32], block=32)


def test_shuffle_in_a_branch_while_others_wait() -> None:
    then = shuffle_sum("%v", "%s") + "\nmemref.store %s, %y[%t] : memref<?xf32>"
    expected = (
        r"expected all threads of mask 0xffffffff at shfl.sync.bfly.f32\S* \(collective 1 of @k\),"
        r" got thread \(4, 0, 0\) at barrier\S+ \(collective 6 of @k\)"
    )
    refused(lowered(FLOATS, branch(then, "gpu.barrier")), expected, [floats(32), floats(32), 32], block=32)


def test_shuffle_reads_beyond_the_block() -> None:
    body = f"{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>\n{shuffle_sum('%v', '%s')}\n"
    body += "  memref.store %s, %y[%t] : memref<?xf32>"
    expected = r"read an active lane, got lane (16|17|18|19), which is not in the block"
    refused(lowered(FLOATS, body), expected, [floats(4), floats(4), 4], block=4)


def test_shuffle_outside_its_mask() -> None:
    declared = ["declare float @llvm.nvvm.shfl.sync.bfly.f32(i32, float, i32, i32)"]
    body = "  %v = call float @llvm.nvvm.shfl.sync.bfly.f32(i32 1, float 1.0, i32 0, i32 31)"
    expected = r"with a mask that holds its lane, got lane 1 and mask 0x1"
    refused(by_hand("ptr %0", body, declared), expected, [floats(1)], block=2)


def test_barrier_in_a_branch() -> None:
    expected = (
        r"expected all threads of the block at barrier\S+ \(collective 1 of @k\), got 4 of 64: thread \(4, 0, 0\) has"
    )
    refused(lowered(FLOATS, branch("gpu.barrier")), expected, [floats(64), floats(64), 64], block=64)


def test_two_barriers_for_two_branches() -> None:
    expected = (
        r"expected all threads of the block at barrier\S+ \(collective 1 of @k\), got thread \(4, 0, 0\) at barrier\S+"
        r" \(collective 2 of @k\)"
    )
    text = lowered(FLOATS, branch("gpu.barrier", "gpu.barrier"))
    refused(text, expected, [floats(64), floats(64), 64], block=64)


def test_division_by_zero() -> None:
    """The device goes on with some number; the host would end the process."""
    text = by_hand("ptr %0", "  %v = sdiv i64 5, %t\n  store i64 %v, ptr %0")
    refused(text, "expected a divisor other than 0, got 0", [np.zeros(1, np.int64)], block=1)
    Emulator(text, check=False).launch("k", (1, 1, 1), (1, 1, 1), [np.zeros(1, np.int64)])


def test_least_integer_divided_by_minus_one() -> None:
    body = """  %v = load i32, ptr %0, align 4
  %d = load i32, ptr %1, align 4
  %q = sdiv i32 %v, %d
  %r = srem i32 %v, %d
  store i32 %q, ptr %0, align 4
  store i32 %r, ptr %1, align 4"""
    x, y = np.array([-(2**31)], np.int32), np.array([-1], np.int32)
    Emulator(by_hand("ptr %0, ptr %1", body)).launch("k", (1, 1, 1), (1, 1, 1), [x, y])
    assert (x[0], y[0]) == (-(2**31), 0)


def test_store_to_a_read_only_array() -> None:
    y = floats(4)
    y.flags.writeable = False
    body = f"{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>\n  memref.store %v, %y[%t] : memref<?xf32>"
    expected = "expected no store to argument 1 of 16 bytes, a read-only array, got a store of 4 bytes at byte"
    refused(lowered(FLOATS, body), expected, [floats(4), y, 4], block=4)


STOPPING = """  %s = load i32, ptr %0, align 4
  %stop = icmp ne i32 %s, 0
  br i1 %stop, label %end, label %go

go:
  %bad = icmp eq i64 %t, 3
  br i1 %bad, label %report, label %work

report:
  store i32 1, ptr %0, align 4
  br label %end

work:
WAIT  br label %end

end:"""


@pytest.mark.parametrize("order", ORDERS)
def test_status_may_be_accessed_in_any_order(order: str) -> None:
    """A thread that stops tells the others without synchronising, but must not leave them at their barrier."""
    status, barrier = np.zeros(1, np.int32), "llvm.nvvm.barrier.cta.sync.aligned.all"
    text = by_hand("ptr %0", STOPPING.replace("WAIT", ""), [])
    Emulator(text, order=order).launch("k", (3, 1, 1), (64, 1, 1), [status], status=status)
    assert status[0] == 1
    status[:] = 0
    refused(text, "argument 0 of 4 bytes that races with", [status], 3, 64, order)
    waiting = STOPPING.replace("WAIT", f"  call void @{barrier}(i32 0)\n")
    with pytest.raises(EmulatorError, match="expected all threads of the block at barrier"):
        Emulator(by_hand("ptr %0", waiting, [f"declare void @{barrier}(i32)"]), order=order).launch(
            "k", (3, 1, 1), (64, 1, 1), [status], status=status
        )
