"""`contract-kernel-floats`: products and sums of kernels may become fused multiply-adds."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.fast_math import flags_of, give_flags
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.passes.base import RaggedPass

_OPS = frozenset({"llvm.fadd", "llvm.fsub", "llvm.fmul"})


class ContractKernelFloats(RaggedPass):
    """Give float additions, subtractions and multiplications in `gpu.module`s the `contract` flag.

    ```mlir
    %p = llvm.fmul %a, %b : f32
    // becomes
    %p = llvm.fmul %a, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
    ```

    The flag lets a product and a sum be rounded once instead of twice, and nothing else. CUDA C++
    compilers do the same by default; without it ptxas may not fuse. Other flags stay.
    """

    def run(self, op: ir.Operation) -> None:
        """Set the flag in every gpu.module of a module."""
        for found in device_ops(op, _OPS.__contains__):
            flags = flags_of(found)
            if "contract" not in flags:
                give_flags(found, flags | {"contract"})
