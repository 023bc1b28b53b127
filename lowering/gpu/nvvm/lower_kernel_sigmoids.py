"""`lower-kernel-sigmoids`: the division of `1 / (1 + exp(x))` becomes one instruction."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import made_by
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.passes.base import RaggedPass


class LowerKernelSigmoids(RaggedPass):
    """Let `1 / (1 + exp(x))` in f32, in `gpu.module`s, use the reciprocal instruction.

    ```mlir
    %e = llvm.call @__nv_expf(%x) : (f32) -> f32
    %d = llvm.fadd %e, %one : f32
    %s = llvm.fdiv %one, %d : f32
    // becomes
    %s = llvm.fdiv %one, %d {fastmathFlags = #llvm.fastmath<afn>} : f32
    ```

    The instruction is within 1 ulp on the whole range, subnormal results included, which the
    exponential is not; correct rounding takes four times the code. Other divisions stay as they are.
    Runs after convert-gpu-to-nvvm.
    """

    def run(self, op: ir.Operation) -> None:
        """Set the flag in every gpu.module of a module."""
        for division in device_ops(op, "llvm.fdiv".__eq__):
            one, divisor = division.operands
            if isinstance(division.results[0].type, ir.F32Type) and _is_one(one) and _is_one_plus_exp(divisor):
                division.attributes["fastmathFlags"] = ir.Attribute.parse("#llvm.fastmath<afn>")


def _is_one_plus_exp(value: ir.Value) -> bool:
    total = made_by(value, "llvm.fadd")
    if total is None:
        return False
    a, b = total.operands
    return (_is_one(a) and _is_exp(b)) or (_is_one(b) and _is_exp(a))


def _is_exp(value: ir.Value) -> bool:
    call = made_by(value, "llvm.call")
    return call is not None and "callee" in call.attributes and call.attributes["callee"].value == "__nv_expf"


def _is_one(value: ir.Value) -> bool:
    constant = made_by(value, "llvm.mlir.constant")
    return constant is not None and ir.FloatAttr(constant.attributes["value"]).value == 1.0
