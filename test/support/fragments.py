"""Matrix fragments as the PTX ISA manual lays them out, and kernels of one matrix instruction per block: as LLVM IR and
as PTX text.

The tables are those of sections 9.7.14.5.8 (`mma.m16n8k16` of f16 and bf16) and 9.7.14.5.15 (`ldmatrix`): by lane
and number of the element in the lane's registers, the row and the column.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from ragged_dialect.emulator import Emulator
from ragged_dialect.emulator.ptx import PtxExecutor

Array = np.ndarray[Any, np.dtype[Any]]
DTYPES: dict[str, Any] = {"f16": np.float16, "bf16": ml_dtypes.bfloat16}


def place_in_a(lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of A."""
    group, thread = lane >> 2, lane % 4
    row = group if 0 <= i < 2 or 4 <= i < 6 else group + 8
    return row, thread * 2 + (i & 1) if i < 4 else thread * 2 + (i & 1) + 8


def place_in_b(lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of B."""
    group, thread = lane >> 2, lane % 4
    return thread * 2 + (i & 1) if i < 2 else thread * 2 + (i & 1) + 8, group


def place_in_c(lane: int, i: int) -> tuple[int, int]:
    """Row and column of element i of C, and of the result."""
    group, thread = lane >> 2, lane % 4
    return group if i < 2 else group + 8, thread * 2 + (i & 1)


def as_fragments(matrices: Array, place: Callable[[int, int], tuple[int, int]]) -> Array:
    """Matrices, one behind the other, as elements of lanes."""
    count = matrices[0].size // 32
    rows, columns = np.array([[place(lane, i) for i in range(count)] for lane in range(32)]).transpose(2, 0, 1)
    return np.ascontiguousarray(matrices[:, rows, columns])


def as_matrices(fragments: Array, place: Callable[[int, int], tuple[int, int]], shape: tuple[int, int]) -> Array:
    """The opposite."""
    made = np.zeros((len(fragments), *shape), fragments.dtype)
    for lane in range(32):
        for i in range(fragments.shape[2]):
            row, column = place(lane, i)
            made[:, row, column] = fragments[:, lane, i]
    return made


_LLVM = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare {{ float, float, float, float }} @{name}({types})
define ptx_kernel void @k(ptr align 16 %a, ptr align 16 %b, ptr align 16 %c, ptr align 16 %d) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 32
  %i = add i32 %first, %t
{loads}
  %r = call {{ float, float, float, float }} @{name}({operands})
{stores}
  ret void
}}
"""


def multiply_ir(dtype: str) -> str:
    """A kernel `k` whose blocks of 32 threads each do one `mma`, as LLVM IR."""
    word = "i32" if dtype == "bf16" else "<2 x half>"
    name = f"llvm.nvvm.mma.m16n8k16.row.col.{'bf16' if dtype == 'bf16' else 'f32.f32'}"
    loads, operands, stores = list[str](), list[str](), list[str]()
    for pointer, count, kind in (("a", 4, word), ("b", 2, word), ("c", 4, "float")):
        for k in range(count):
            loads.append(f"  %{pointer}p{k} = getelementptr [{count} x {kind}], ptr %{pointer}, i32 %i, i32 {k}")
            loads.append(f"  %{pointer}{k} = load {kind}, ptr %{pointer}p{k}, align 4")
            operands.append(f"{kind} %{pointer}{k}")
    for k in range(4):
        stores.append(f"  %d{k} = extractvalue {{ float, float, float, float }} %r, {k}")
        stores.append(f"  %dp{k} = getelementptr [4 x float], ptr %d, i32 %i, i32 {k}")
        stores.append(f"  store float %d{k}, ptr %dp{k}, align 4")
    return _LLVM.format(
        name=name,
        types=", ".join(operand.split(" %")[0] for operand in operands),
        loads="\n".join(loads),
        operands=", ".join(operands),
        stores="\n".join(stores),
    )


PTX_HEAD = """.version 7.0
.target sm_80
.address_size 64
.visible .entry k(
{parameters}
)
{{
.reg .pred %p<10>;
.reg .b32 %r<40>;
.reg .b64 %rd<20>;
"""


def ptx_head(parameters: int) -> str:
    """The start of a kernel of pointers."""
    pointers = [f".param .u64 .ptr .align 16 k_param_{i}" for i in range(parameters)]
    return PTX_HEAD.format(parameters=",\n".join(pointers))


def multiply_ptx(dtype: str) -> str:
    """The same kernel as PTX text."""
    lines = ["mov.u32 %r30, %tid.x;", "mov.u32 %r31, %ctaid.x;", "mad.lo.s32 %r30, %r31, 32, %r30;"]
    for number, size in enumerate((16, 8, 16, 16), 1):
        lines.append(f"ld.param.b64 %rd{number}, [k_param_{number - 1}];")
        lines.append(f"mul.wide.u32 %rd9, %r30, {size};")
        lines.append(f"add.s64 %rd{number}, %rd{number}, %rd9;")
    lines += ["ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%rd1];", "ld.global.v2.b32 {%r5, %r6}, [%rd2];"]
    lines.append("ld.global.v4.b32 {%r7, %r8, %r9, %r10}, [%rd3];")
    lines.append(f"mma.sync.aligned.m16n8k16.row.col.f32.{dtype}.{dtype}.f32")
    lines.append(" {%r11, %r12, %r13, %r14}, {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7, %r8, %r9, %r10};")
    lines += ["st.global.v4.b32 [%rd4], {%r11, %r12, %r13, %r14};", "ret;\n}\n"]
    return ptx_head(4) + "\n".join(lines)


def multiplied(engine: str, dtype: str, a: Array, b: Array, c: Array, order: str = "random", seed: int = 0) -> Array:
    """Products of many 16 x 16 and 16 x 8 matrices, and sums with c, on the emulator or the executor of PTX text."""
    given = (as_fragments(a, place_in_a), as_fragments(b, place_in_b), as_fragments(c, place_in_c))
    return as_matrices(launched(engine, dtype, *given, order, seed), place_in_c, (16, 8))


def launched(engine: str, dtype: str, a: Array, b: Array, c: Array, order: str = "random", seed: int = 0) -> Array:
    """The same of elements by lane."""
    made, kind = np.zeros((len(a), 32, 4), np.float32), DTYPES[dtype]
    launcher: Any = Emulator(multiply_ir(dtype), order=order, seed=seed) if engine == "llvm" else None
    launcher = launcher or PtxExecutor(multiply_ptx(dtype), order=order, seed=seed)
    halves = [np.ascontiguousarray(half.astype(kind)).view(np.uint32) for half in (a, b)]
    launcher.launch("k", (len(a), 1, 1), (32, 1, 1), [*halves, c.astype(np.float32), made])
    return made


COPIES = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3(ptr addrspace(3))
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.cp.async.wait.all()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
@s = internal addrspace(3) global [4096 x i8] undef, align 16
define ptx_kernel void @k(ptr align 16 %x, ptr align 16 %y, i32 %given) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %g = addrspacecast ptr %x to ptr addrspace(1)
  %at = mul i32 %t, 16
  %from = getelementptr i8, ptr addrspace(1) %g, i32 %at
  %to = getelementptr i8, ptr addrspace(3) @s, i32 %at
  %other = xor i32 %at, 16
  %there = getelementptr i8, ptr addrspace(3) @s, i32 %other
  %out = getelementptr i8, ptr %y, i32 %at
"""
"""The start of a kernel on 16 bytes a thread: %from and %to are those of the thread, %there those of its neighbour in
shared memory, %out where results go."""


def copying(*lines: str) -> str:
    """A kernel of calls of intrinsics by their short names, of `read %p`, which stores 4 bytes from there as the
    result, and of whatever else is IR."""
    names = {
        "copy": "call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, "
        "ptr addrspace(1) %from, i32 %given)",
        "copy4": "call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %to, ptr addrspace(1) %from)",
        "commit": "call void @llvm.nvvm.cp.async.commit.group()",
        "wait 0": "call void @llvm.nvvm.cp.async.wait.group(i32 0)",
        "wait 1": "call void @llvm.nvvm.cp.async.wait.group(i32 1)",
        "wait": "call void @llvm.nvvm.cp.async.wait.all()",
        "warp": "call void @llvm.nvvm.bar.warp.sync(i32 -1)",
        "barrier": "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
        "read %to": "%v = load <4 x i32>, ptr addrspace(3) %to\n  store <4 x i32> %v, ptr %out",
        "read %there": "%v = load <4 x i32>, ptr addrspace(3) %there\n  store <4 x i32> %v, ptr %out",
        "write %to": "store <4 x i32> zeroinitializer, ptr addrspace(3) %to",
        "matrices": "%m = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3"
        "(ptr addrspace(3) %to)",
        "transposed": "%m = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16.p3"
        "(ptr addrspace(3) %to)",
        "store": "\n  ".join(
            line
            for k in range(4)
            for line in (
                f"%m{k} = extractvalue {{ i32, i32, i32, i32 }} %m, {k}",
                f"%out{k} = getelementptr i32, ptr %out, i32 {k}",
                f"store i32 %m{k}, ptr %out{k}",
            )
        ),
    }
    return COPIES + "\n".join(f"  {names.get(line, line)}" for line in (*lines, "ret void")) + "\n}\n"
