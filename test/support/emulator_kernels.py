"""Kernels for the emulator: MLIR `gpu.func`s lowered as the GPU path does, and LLVM IR by hand."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm

CONSTANTS = "".join(f"  %c{n} = arith.constant {n} : index\n" for n in (0, 1, 2, 3, 4, 31, 32, 64, 96, 127, 128))
VECTOR = "{alignment = 16 : i64} : memref<?xf32>, vector<4xf32>"


def view(name: str, source: str, kind: str, size: str = "%n") -> str:
    """A rank-1 view of a buffer argument."""
    types = f"memref<{kind}> to memref<?x{kind}>"
    return f"  {name} = memref.reinterpret_cast {source} to offset: [0], sizes: [{size}], strides: [1] : {types}\n"


@cache
def lowered(parameters: str, body: str, shared: str = "") -> str:
    """LLVM IR of a kernel `k`. The body finds the constants, %t (thread x) and %b (block x)."""
    workgroup = f"workgroup({shared})" if shared else ""
    text = f"""gpu.module @kernels {{
gpu.func @k({parameters}) {workgroup} kernel {{
{CONSTANTS}  %t = gpu.thread_id x
  %b = gpu.block_id x
{body}
  gpu.return
}}
}}"""
    return kernels_to_llvm(load_module(text, context(), "<kernel>"))


FLOATS = "%p: memref<f32> {llvm.noalias}, %o: memref<f32> {llvm.noalias}, %n: index"
FLOAT_VIEWS = view("%x", "%p", "f32") + view("%y", "%o", "f32")
SHARED = "%sm: memref<128xf32, #gpu.address_space<workgroup>>"
IN_SHARED = "memref<128xf32, #gpu.address_space<workgroup>>"


def shuffle_sum(value: str, name: str) -> str:
    """The sum over a warp: five butterfly shuffles."""
    lines, last = ["%w32 = arith.constant 32 : i32"], value
    for step in (16, 8, 4, 2, 1):
        total = name if step == 1 else f"%a{step}"
        lines.append(f"%d{step} = arith.constant {step} : i32")
        lines.append(f"%q{step}, %ok{step} = gpu.shuffle xor {last}, %d{step}, %w32 : f32")
        lines.append(f"{total} = arith.addf {last}, %q{step} : f32")
        last = total
    return "\n".join(lines)


def block_sum(barrier: str = "gpu.barrier") -> str:
    """Every block of 128 threads adds up its share of x: grid-stride loop, shared memory, shuffles."""
    loads = "\n".join(f"%v{i} = memref.load %sm[%{'t' if i == 0 else f't{i}'}] : {IN_SHARED}" for i in range(4))
    return f"""{FLOAT_VIEWS}
  %z = arith.constant 0.0 : f32
  %g = gpu.grid_dim x
  %b0 = arith.muli %b, %c128 : index
  %i0 = arith.addi %b0, %t : index
  %stride = arith.muli %g, %c128 : index
  %s = scf.for %i = %i0 to %n step %stride iter_args(%a = %z) -> (f32) {{
    %v = memref.load %x[%i] : memref<?xf32>
    %w = arith.addf %a, %v : f32
    scf.yield %w : f32
  }}
  memref.store %s, %sm[%t] : {IN_SHARED}
  {barrier}
  %first = arith.cmpi ult, %t, %c32 : index
  scf.if %first {{
    %t1 = arith.addi %t, %c32 : index
    %t2 = arith.addi %t, %c64 : index
    %t3 = arith.addi %t, %c96 : index
    {loads}
    %e0 = arith.addf %v0, %v1 : f32
    %e1 = arith.addf %v2, %v3 : f32
    %u = arith.addf %e0, %e1 : f32
    {shuffle_sum("%u", "%total")}
    %is0 = arith.cmpi eq, %t, %c0 : index
    scf.if %is0 {{
      memref.store %total, %y[%b] : memref<?xf32>
    }}
  }}"""


THREAD = """  %t32 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %t = sext i32 %t32 to i64
"""


def by_hand(parameters: str, body: str, declarations: Sequence[str] = (), before: str = "") -> str:
    """LLVM IR of a kernel `k`; the body finds %t, the thread's number, as i64."""
    declared = "\n".join(["declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()", *declarations])
    return f"{before}\n{declared}\ndefine ptx_kernel void @k({parameters}) {{\n{THREAD}{body}\n  ret void\n}}\n"


def elementwise(operation: str, result: str, operand: str, declarations: Sequence[str] = ()) -> str:
    """A kernel that stores `operation` of %x, its thread's element of the first argument, as %r."""
    stored = f"  %q = getelementptr {result}, ptr %1, i64 %t\n  store {result} %r, ptr %q"
    if result == "i1":
        stored = "  %b = zext i1 %r to i32\n  %q = getelementptr i32, ptr %1, i64 %t\n  store i32 %b, ptr %q"
    body = f"  %p = getelementptr {operand}, ptr %0, i64 %t\n  %x = load {operand}, ptr %p\n{operation}\n{stored}"
    return by_hand("ptr %0, ptr %1", body, declarations)
