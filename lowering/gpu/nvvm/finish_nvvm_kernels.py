"""`finish-nvvm-kernels`: what the conversions leave out and the code generator needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops, gpu_modules
from ragged_dialect.lowering.loop_annotations import BRANCHES, settle
from ragged_dialect.passes.base import RaggedPass

_DATA_LAYOUT = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
_TRIPLE = "nvptx64-nvidia-cuda"
_MONOTONIC = 2
_ORDERINGS = {"llvm.atomicrmw": ("ordering",), "llvm.cmpxchg": ("success_ordering", "failure_ordering")}


@dataclass(frozen=True)
class FinishNvvmKernels(RaggedPass):
    """Set target, loop annotations and the strength of atomics in `gpu.module`s of the LLVM dialect.

    ```mlir
    llvm.br ^bb1 {llvm.loop_annotation = #loop}
    llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr, i32
    // becomes
    llvm.br ^bb1 {loop_annotation = #loop}
    llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr, i32
    ```

    Without the data layout 64-bit values are taken to be aligned to 4 bytes and loaded in halves.
    `memref.atomic_rmw` orders no other access: kernels have barriers for that.
    """

    name: ClassVar[str] = "finish-nvvm-kernels"

    def run(self, op: ir.Operation) -> None:
        """Finish every gpu.module of a module."""
        for module in gpu_modules(op):
            module.attributes["llvm.data_layout"] = ir.StringAttr.get(_DATA_LAYOUT)
            module.attributes["llvm.target_triple"] = ir.StringAttr.get(_TRIPLE)
        found = device_ops(op, {*BRANCHES, *_ORDERINGS}.__contains__)
        settle(branch for branch in found if branch.name in BRANCHES)
        for atomic in found:
            if atomic.name in _ORDERINGS:
                _relax(atomic)


def _relax(atomic: ir.Operation) -> None:
    i64 = ir.IntegerType.get_signless(64)
    for name in _ORDERINGS[atomic.name]:
        atomic.attributes[name] = ir.IntegerAttr.get(i64, _MONOTONIC)
    atomic.attributes["syncscope"] = ir.StringAttr.get("device")
