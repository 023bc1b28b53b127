"""`finish-nvvm-kernels`: what the conversions leave out and the code generator needs."""

from __future__ import annotations

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.ir.match import made_by
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops, gpu_modules
from ragged_dialect.lowering.loops.annotations import BRANCHES, settle
from ragged_dialect.passes.base import RaggedPass

_DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_TRIPLE = "nvptx64-nvidia-cuda"
_MONOTONIC = 2
_SHIFTS = frozenset({"llvm.shl", "llvm.lshr"})
_ORDERINGS = {"llvm.atomicrmw": ("ordering",), "llvm.cmpxchg": ("success_ordering", "failure_ordering")}


class FinishNvvmKernels(RaggedPass):
    """Set target, loop annotations, the strength of atomics and amounts of shifts in `gpu.module`s of the LLVM dialect.

    ```mlir
    llvm.br ^bb1 {llvm.loop_annotation = #loop}
    llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr, i32
    %s = llvm.shl %x, %n : i64
    // becomes
    llvm.br ^bb1 {loop_annotation = #loop}
    llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr, i32
    %m = llvm.and %n, %c63 : i64
    %s = llvm.shl %x, %m : i64
    ```

    Without the data layout 64-bit values are taken to be aligned to 4 bytes and loaded in halves.
    `memref.atomic_rmw` orders no other access: kernels have barriers for that. A shift of which a select
    asks whether its amount is below the width would become one instruction of PTX that takes the last 32 bits of the
    amount, of i64 or truncated: that is wrong for 2**32. With a masked amount it stays a shift and a select.
    """

    def run(self, op: ir.Operation) -> None:
        """Finish every gpu.module of a module."""
        for module in gpu_modules(op):
            module.attributes["llvm.data_layout"] = ir.StringAttr.get(_DATA_LAYOUT)
            module.attributes["llvm.target_triple"] = ir.StringAttr.get(_TRIPLE)
        found = device_ops(op, {*BRANCHES, *_ORDERINGS, *_SHIFTS}.__contains__)
        settle(branch for branch in found if branch.name in BRANCHES)
        for inner in found:
            if inner.name in _ORDERINGS:
                _relax(inner)
            elif inner.name in _SHIFTS:
                _mask(inner)


def _relax(atomic: ir.Operation) -> None:
    i64 = ir.IntegerType.get_signless(64)
    for name in _ORDERINGS[atomic.name]:
        atomic.attributes[name] = ir.IntegerAttr.get(i64, _MONOTONIC)
    atomic.attributes["syncscope"] = ir.StringAttr.get("device")


def _mask(shift: ir.Operation) -> None:
    amount = shift.operands[1]
    cut = amount.type == ir.IntegerType.get_signless(64) or made_by(amount, "llvm.trunc") is not None
    if not isinstance(amount.type, ir.IntegerType) or not cut or made_by(amount, "llvm.mlir.constant"):
        return
    with ir.InsertionPoint(shift), shift.location:
        bits = (amount.type.width - 1).bit_length()  # of the amounts below a width that need be no power of two
        most = llvm.mlir_constant(ir.IntegerAttr.get(amount.type, (1 << bits) - 1))
        shift.operands[1] = llvm.and_(amount, most)
