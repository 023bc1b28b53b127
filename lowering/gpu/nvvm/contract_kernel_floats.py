"""`contract-kernel-floats`: products and sums of kernels may become fused multiply-adds."""

from __future__ import annotations

import re

from ragged_dialect._mlir import ir
from ragged_dialect.ir.fast_math import flags_of, give_flags
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.passes.base import RaggedPass

_OPS = frozenset({"llvm.fadd", "llvm.fsub", "llvm.fmul"})
_SAME = frozenset({"llvm.fpext", "llvm.fptrunc", "llvm.extractelement"})
_EXPONENTIAL = re.compile("__nv_(fast_)?exp")


class ContractKernelFloats(RaggedPass):
    """Give float additions, subtractions and multiplications in `gpu.module`s the `contract` flag.

    ```mlir
    %p = llvm.fmul %a, %b : f32
    // becomes
    %p = llvm.fmul %a, %b {fastmathFlags = #llvm.fastmath<contract>} : f32
    ```

    The flag lets a product and a sum be rounded once instead of twice, and nothing else. CUDA C++
    compilers do the same by default; without it ptxas may not fuse. Other flags stay. What an exponential is
    taken of is left out: a product less the largest of such products, which are rounded, would not be 0, and of large
    numbers the exponential of what is left is anything.
    """

    def run(self, op: ir.Operation) -> None:
        """Set the flag in every gpu.module of a module."""
        for found in device_ops(op, _OPS.__contains__):
            flags = flags_of(found)
            if "contract" not in flags and (found.name == "llvm.fmul" or not _is_exponent(found)):
                give_flags(found, flags | {"contract"})


def _is_exponent(op: ir.Operation) -> bool:
    """Whether an exponential is taken of a result, of its lanes, or of it in another type."""
    users = [use.owner.operation for use in op.results[0].uses]
    return any(_is_exponential(user) or (user.name in _SAME and _is_exponent(user)) for user in users)


def _is_exponential(op: ir.Operation) -> bool:
    return "callee" in op.attributes and _EXPONENTIAL.match(op.attributes["callee"].value) is not None
