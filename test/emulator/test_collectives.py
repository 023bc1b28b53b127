"""Shuffles, votes, matches, reductions and special registers against a model in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.emulator_kernels import by_hand, elementwise

from ragged_dialect.emulator import Emulator

Array = np.ndarray[Any, np.dtype[Any]]
FULL = "i32 -1"


def run(text: str, x: Array, result: Any = np.int32) -> Array:
    """The result of a kernel of one block, one thread per element."""
    y: Array = np.zeros(x.size, result)
    Emulator(text).launch("k", (1, 1, 1), (x.size, 1, 1), [x, y])
    return y


def words(count: int, low: int = -(2**31), high: int = 2**31) -> Array:
    """Reproducible integers."""
    return np.random.default_rng(3).integers(low, high, count).astype(np.int32)


def shuffled(x: Array, mode: str, operand: int, clamp: int) -> tuple[list[int], list[int]]:
    """shfl.sync as the PTX ISA has it, for one warp."""
    values, valid = list[int](), list[int]()
    segment, limit = clamp >> 8 & 31, clamp & 31
    for lane in range(32):
        low, high = lane & segment, (lane & segment) | (limit & ~segment)
        source = {"up": lane - operand, "down": lane + operand, "bfly": lane ^ operand}.get(mode)
        if source is None:
            source = low | (operand & ~segment)
        inside = source >= high if mode == "up" else source <= high
        values.append(int(x[source if inside else lane]))
        valid.append(int(inside))
    return values, valid


@pytest.mark.parametrize("clamp", [31, 0x1807, 0x1F00, 0])
@pytest.mark.parametrize("operand", [0, 1, 5, 31])
@pytest.mark.parametrize("mode", ["idx", "up", "down", "bfly"])
def test_shuffles(mode: str, operand: int, clamp: int) -> None:
    name = f"@llvm.nvvm.shfl.sync.{mode}.i32p"
    declared = [f"declare {{ i32, i1 }} {name}(i32, i32, i32, i32)"]
    call = f"  %both = call {{ i32, i1 }} {name}({FULL}, i32 %x, i32 {operand}, i32 {clamp})\n"
    call += """  %value = extractvalue { i32, i1 } %both, 0
  %flag = extractvalue { i32, i1 } %both, 1
  %valid = zext i1 %flag to i32
  %first = insertelement <2 x i32> poison, i32 %value, i32 0
  %r = insertelement <2 x i32> %first, i32 %valid, i32 1"""
    x = words(64)
    found = run(elementwise(call, "<2 x i32>", "i32", declared), x, np.dtype("2i4"))
    for start in (0, 32):
        values, valid = shuffled(x[start : start + 32], mode, operand, clamp)
        assert found[start : start + 32].tolist() == [list(pair) for pair in zip(values, valid, strict=True)]


def test_float_shuffle() -> None:
    name = "@llvm.nvvm.shfl.sync.idx.f32"
    text = elementwise(
        f"  %r = call float {name}({FULL}, float %x, i32 3, i32 31)",
        "float",
        "float",
        [f"declare float {name}(i32, float, i32, i32)"],
    )
    x = np.linspace(0, 1, 32, dtype=np.float32)
    assert run(text, x, np.float32).tolist() == [x[3]] * 32


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("all", [0, 1, 0]), ("any", [1, 1, 0]), ("uni", [0, 1, 1]), ("ballot", [0x55555555, -1, 0])],
)
def test_votes(mode: str, expected: list[int]) -> None:
    kind = "i32" if mode == "ballot" else "i1"
    call = f"  %c = icmp ne i32 %x, 0\n  %r = call {kind} @llvm.nvvm.vote.{mode}.sync({FULL}, i1 %c)"
    text = elementwise(call, kind, "i32", [f"declare {kind} @llvm.nvvm.vote.{mode}.sync(i32, i1)"])
    x = np.array([1, 0] * 16 + [7] * 32 + [0] * 32, np.int32)
    assert run(text, x).tolist() == [value for value in expected for _ in range(32)]


@pytest.mark.parametrize("op", ["add", "and", "or", "xor", "umin", "umax", "min", "max"])
def test_reductions(op: str) -> None:
    name = f"@llvm.nvvm.redux.sync.{op}"
    text = elementwise(f"  %r = call i32 {name}(i32 %x, {FULL})", "i32", "i32", [f"declare i32 {name}(i32, i32)"])
    x = words(64)
    functions: dict[str, Any] = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "add": np.add}
    functions |= {"min": np.minimum, "umin": np.minimum, "max": np.maximum, "umax": np.maximum}
    data = x.view(np.uint32) if op[0] == "u" else x
    expected = functions[op].reduce(data.reshape(2, 32), axis=1, dtype=data.dtype).view(np.int32)
    assert run(text, x).tolist() == expected.repeat(32).tolist()


@pytest.mark.parametrize("width", [32, 64])
def test_matches(width: int) -> None:
    x = words(64, 0, 4).astype(f"i{width // 8}")
    x[:32] = 9
    any_name, all_name = f"@llvm.nvvm.match.any.sync.i{width}", f"@llvm.nvvm.match.all.sync.i{width}p"
    text = elementwise(
        f"  %r = call i32 {any_name}({FULL}, i{width} %x)",
        "i32",
        f"i{width}",
        [f"declare i32 {any_name}(i32, i{width})"],
    )
    masks = [sum(1 << k for k in range(32) if x[i // 32 * 32 + k] == x[i]) for i in range(64)]
    assert run(text, x, np.uint32).tolist() == masks
    text = elementwise(
        f"  %both = call {{ i32, i1 }} {all_name}({FULL}, i{width} %x)\n  %r = extractvalue {{ i32, i1 }} %both, 1",
        "i1",
        f"i{width}",
        [f"declare {{ i32, i1 }} {all_name}(i32, i{width})"],
    )
    assert run(text, x).tolist() == [1] * 32 + [0] * 32


@pytest.mark.parametrize("name", ["barrier0.{}", "barrier.cta.red.{}.aligned.all"])
def test_barriers_that_reduce(name: str) -> None:
    x = np.array([1, 0, 5, 0] * 16, np.int32)
    for op, expected in (("popc", 32), ("and", 0), ("or", 1)):
        intrinsic = "@llvm.nvvm." + name.format(op)
        if name.startswith("barrier0"):
            declared, call = f"declare i32 {intrinsic}(i32)", f"{intrinsic}(i32 %x)"
            text = elementwise(f"  %r = call i32 {call}", "i32", "i32", [declared])
        else:
            kind = "i32" if op == "popc" else "i1"
            declared, call = f"declare {kind} {intrinsic}(i32, i1)", f"{intrinsic}(i32 0, i1 %c)"
            text = elementwise(f"  %c = icmp ne i32 %x, 0\n  %r = call {kind} {call}", kind, "i32", [declared])
        assert run(text, x).tolist() == [expected] * 64


def test_masks_of_half_a_warp() -> None:
    """Two halves of a warp shuffle in two branches."""
    name = "@llvm.nvvm.shfl.sync.idx.i32"
    body = f"""  %p = getelementptr i32, ptr %0, i64 %t
  %x = load i32, ptr %p
  %low = icmp ult i64 %t, 16
  br i1 %low, label %first, label %second

first:
  %a = call i32 {name}(i32 65535, i32 %x, i32 3, i32 31)
  br label %end

second:
  %b = call i32 {name}(i32 -65536, i32 %x, i32 19, i32 31)
  br label %end

end:
  %r = phi i32 [ %a, %first ], [ %b, %second ]
  %q = getelementptr i32, ptr %1, i64 %t
  store i32 %r, ptr %q"""
    text = by_hand("ptr %0, ptr %1", body, [f"declare i32 {name}(i32, i32, i32, i32)"])
    x = words(32)
    assert run(text, x).tolist() == [x[3]] * 16 + [x[19]] * 16


def test_active_mask() -> None:
    declared = ["declare i32 @llvm.nvvm.activemask()"]
    body = """  %low = icmp ult i64 %t, 5
  br i1 %low, label %first, label %end

first:
  %r = call i32 @llvm.nvvm.activemask()
  %q = getelementptr i32, ptr %1, i64 %t
  store i32 %r, ptr %q
  br label %end

end:"""
    assert run(by_hand("ptr %0, ptr %1", body, declared), words(32)).tolist() == [31] * 5 + [0] * 27


def test_warp_barrier_orders_memory_within_the_warp() -> None:
    body = """  %p = getelementptr i32, ptr %0, i64 %t
  %x = load i32, ptr %p, align 4
  %s = getelementptr i32, ptr addrspace(3) @sm, i64 %t
  store i32 %x, ptr addrspace(3) %s, align 4
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %o = xor i64 %t, 1
  %n = getelementptr i32, ptr addrspace(3) @sm, i64 %o
  %v = load i32, ptr addrspace(3) %n, align 4
  %q = getelementptr i32, ptr %1, i64 %t
  store i32 %v, ptr %q, align 4"""
    before = "@sm = internal addrspace(3) global [64 x i32] undef"
    text = by_hand("ptr %0, ptr %1", body, ["declare void @llvm.nvvm.bar.warp.sync(i32)"], before)
    x = words(64)
    assert run(text, x).tolist() == x.reshape(32, 2)[:, ::-1].reshape(-1).tolist()


REGISTERS = {
    "laneid": lambda t: t % 32,
    "warpid": lambda t: t // 32,
    "warpsize": lambda t: 32 + 0 * t,
    "lanemask.eq": lambda t: 1 << t % 32,
    "lanemask.lt": lambda t: (1 << t % 32) - 1,
    "lanemask.le": lambda t: (2 << t % 32) - 1,
    "lanemask.gt": lambda t: 0xFFFFFFFF & ~((2 << t % 32) - 1),
    "lanemask.ge": lambda t: 0xFFFFFFFF & ~((1 << t % 32) - 1),
}


@pytest.mark.parametrize("name", REGISTERS)
def test_special_registers(name: str) -> None:
    register = f"@llvm.nvvm.read.ptx.sreg.{name}"
    text = elementwise(f"  %r = call i32 {register}()", "i32", "i32", [f"declare i32 {register}()"])
    expected = [int(REGISTERS[name](t)) for t in range(64)]
    assert run(text, words(64), np.uint32).tolist() == expected
