"""`lower-libdevice-calls`: calls of libdevice that one instruction can do become LLVM's intrinsics."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import replace
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.passes.base import RaggedPass

PREFIX = "__nv_"
_INTRINSICS = {
    "ceil": "ceil",
    "copysign": "copysign",
    "fabs": "fabs",
    "floor": "floor",
    "fma": "fma",
    "fmax": "maxnum",
    "fmin": "minnum",
    "rint": "roundeven",
    "round": "round",
    "sqrt": "sqrt",
    "trunc": "trunc",
}
_NAMES = {f"{PREFIX}{name}{suffix}": f"llvm.intr.{op}" for name, op in _INTRINSICS.items() for suffix in ("", "f")}


class LowerLibdeviceCalls(RaggedPass):
    """Replace calls of libdevice functions in `gpu.module`s by intrinsics that PTX has instructions for.

    ```mlir
    %r = llvm.call @__nv_sqrtf(%x) : (f32) -> f32
    // becomes
    %r = llvm.intr.sqrt(%x) : (f32) -> f32
    ```

    libdevice is then needed for true functions only, and square roots are correctly rounded:
    libdevice's own is not, unless it is told. Declarations that nothing calls are removed. Runs after
    convert-gpu-to-nvvm, which turns the intrinsics into the calls.
    """

    def run(self, op: ir.Operation) -> None:
        """Replace in every gpu.module of a module."""
        kept: set[str] = set()
        for call in device_ops(op, "llvm.call".__eq__):
            callee = call.attributes["callee"].value if "callee" in call.attributes else ""
            if callee in _NAMES:
                _replace(call, _NAMES[callee])
            else:
                kept.add(callee)
        for function in device_ops(op, "llvm.func".__eq__):
            name = function.attributes["sym_name"].value
            if name.startswith(PREFIX) and name not in kept and not len(function.regions[0].blocks):
                function.erase()


def _replace(call: ir.Operation, name: str) -> None:
    flags = "fastmathFlags"
    made = ir.Operation.create(
        name,
        results=[call.results[0].type],
        operands=list(call.operands),
        attributes={flags: call.attributes[flags]} if flags in call.attributes else {},
        loc=call.location,
        ip=ir.InsertionPoint(call),
    )
    replace(call, made.result)
