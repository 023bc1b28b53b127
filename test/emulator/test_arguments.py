"""What the emulator says to modules and arguments that it cannot take."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from support.emulator_kernels import FLOAT_VIEWS, FLOATS, by_hand, lowered

from ragged_dialect.emulator import Emulator
from ragged_dialect.errors import EmulatorError

COPY = f"{FLOAT_VIEWS}  %v = memref.load %x[%t] : memref<?xf32>\n  memref.store %v, %y[%t] : memref<?xf32>"


def floats(count: int) -> Any:
    """Zeros."""
    return np.zeros(count, np.float32)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([floats(4), floats(4)], "kernel k: expected 3 arguments, got 2"),
        ([floats(4), floats(4), 4, 5], "kernel k: expected 3 arguments, got 4"),
        ([1, floats(4), 4], "kernel k, argument 0: expected an array, got 1 of type int"),
        ([floats(4), None, 4], "kernel k, argument 1: expected an array, got None of type NoneType"),
        ([floats(8)[::2], floats(4), 4], "argument 0: expected a C-contiguous array, got strides (8,) for shape (4,)"),
        ([floats(4), floats(4), 4.0], "argument 2: expected an integer for i64, got 4.0 of type float"),
        ([floats(4), floats(4), floats(1)], "argument 2: expected a number for i64, got an array of float32"),
        ([floats(4), floats(4), "4"], "argument 2: expected a number for i64, got '4' of type str"),
        ([floats(4), floats(4), 1 << 64], "argument 2: expected a number of 64 bits, got 18446744073709551616"),
    ],
)
def test_arguments_that_do_not_fit(args: list[Any], expected: str) -> None:
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        Emulator(lowered(FLOATS, COPY)).launch("k", (1, 1, 1), (4, 1, 1), args)


def test_array_that_is_not_aligned_as_declared() -> None:
    text = by_hand("ptr align 16 %0", "  store i32 0, ptr %0, align 4")
    array: Any = np.zeros(64, np.uint8)
    at = -array.ctypes.data % 16 + 4
    with pytest.raises(EmulatorError, match="argument 0: expected an array aligned to 16 bytes, got one 4 bytes off"):
        Emulator(text).launch("k", (1, 1, 1), (1, 1, 1), [array[at : at + 4]])


def test_overlap_of_what_is_declared_apart() -> None:
    x = floats(8)
    expected = (
        "expected separate memory for arguments 0 and 1, which are declared noalias and stored to, got arrays that"
    )
    with pytest.raises(EmulatorError, match=expected):
        Emulator(lowered(FLOATS, COPY)).launch("k", (1, 1, 1), (4, 1, 1), [x[2:], x[:4], 4])
    Emulator(lowered(FLOATS, COPY)).launch("k", (1, 1, 1), (4, 1, 1), [x[4:], x[:4], 4])


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        ((1, 1, 1), (0, 1, 1), "kernel k: expected a block of 1 to 1024 threads, got (0, 1, 1)"),
        ((1, 1, 1), (1024, 2, 1), "kernel k: expected a block of 1 to 1024 threads, got (1024, 2, 1)"),
        ((1, 1, 1), (1, 1, 65), "expected a block of at most (1024, 1024, 64), got (1, 1, 65)"),
        ((-1, 1, 1), (1, 1, 1), "expected a grid of at most (2147483647, 65535, 65535), got (-1, 1, 1)"),
        ((1, 65536, 1), (1, 1, 1), "expected a grid of at most (2147483647, 65535, 65535), got (1, 65536, 1)"),
    ],
)
def test_sizes_of_grid_and_block(grid: Any, block: Any, expected: str) -> None:
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        Emulator(lowered(FLOATS, COPY)).launch("k", grid, block, [floats(4), floats(4), 4])


def test_more_threads_than_compiled_for() -> None:
    text = by_hand("ptr %0", "").replace(") {", ') "nvvm.maxntid"="128,1,1" {')
    with pytest.raises(
        EmulatorError, match=re.escape("kernel k: expected a block of 1 to 128 threads, got (129, 1, 1)")
    ):
        Emulator(text).launch("k", (1, 1, 1), (129, 1, 1), [floats(1)])


def test_unknown_kernel() -> None:
    with pytest.raises(EmulatorError, match="expected one of the kernels k, got q"):
        Emulator(lowered(FLOATS, COPY)).launch("q", (1, 1, 1), (1, 1, 1), [])


def test_unknown_order() -> None:
    with pytest.raises(EmulatorError, match="expected an order among forward, reverse, random, got 'any'"):
        Emulator(lowered(FLOATS, COPY), order="any")


COUNTER = """
@count = internal global i32 0
define ptx_kernel void @k(ptr %x) {
  %old = load i32, ptr @count
  %new = add i32 %old, 1
  store i32 %new, ptr @count
  store i32 %new, ptr %x
  ret void
}
"""


def test_variables_are_an_emulator_s_own() -> None:
    for _ in range(2):
        x = np.zeros(1, np.int32)
        Emulator(COUNTER, check=False).launch("k", (1, 1, 1), (1, 1, 1), [x])
        assert x.tolist() == [1]


DYNAMIC = "@sm = external addrspace(3) global [0 x i8], align 16"
RECURSIVE = "define internal void @f() {\n  call void @f()\n  ret void\n}"


@pytest.mark.parametrize(
    ("body", "declared", "before", "expected"),
    [
        (
            '  call void asm sideeffect "trap;", ""()',
            "",
            "",
            "expected a kernel without inline assembly, got call void asm",
        ),
        ("  call void %0()", "", "", "expected a call of a function by name, got call void %0()"),
        ("  call void @f()", "declare void @f()", "", "expected a call of a function of the module, got @f"),
        (
            "  call void @__nv_mystery(float 1.0)",
            "declare void @__nv_mystery(float)",
            "",
            "expected a function that the emulator knows, got @__nv_mystery",
        ),
        (
            "  call void @llvm.nvvm.mystery()",
            "declare void @llvm.nvvm.mystery()",
            "",
            "expected an intrinsic that the emulator knows, got @llvm.nvvm.mystery",
        ),
        (
            "  %v = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %0, <4 x i1> poison, <4 x float> poison)",
            "declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)",
            "",
            "expected an intrinsic that the emulator knows, got @llvm.masked.load.v4f32.p0",
        ),
        (
            "  %v = va_arg ptr %0, i32",
            "",
            "",
            "expected an instruction that the emulator knows, got %v = va_arg ptr %0, i32",
        ),
        ("  %v = alloca i32, i64 %t", "", "", "expected a local array of constant size, got alloca i32, i64 %t"),
        ("  %v = load { i32, i32 }, ptr %0", "", "", "expected a scalar, vector or array in memory, got { i32, i32 }"),
        ("", "", DYNAMIC, "expected static shared memory, got @sm = external addrspace(3) global [0 x i8], align 16"),
        ("  call void @f()", "", RECURSIVE, "expected functions that do not call themselves, got @f"),
    ],
)
def test_modules_that_cannot_run(body: str, declared: str, before: str, expected: str) -> None:
    with pytest.raises(EmulatorError, match=re.escape(expected)):
        Emulator(by_hand("ptr %0", body, [declared], before))


def test_text_that_is_no_llvm_ir() -> None:
    with pytest.raises(EmulatorError, match="expected LLVM IR, got text that LLVM refuses"):
        Emulator("define void @k(")
