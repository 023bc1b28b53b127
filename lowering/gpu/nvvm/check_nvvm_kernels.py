"""`check-nvvm-kernels`: refuse kernels that LLVM IR cannot express."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.nvvm.device_modules import device_ops
from ragged_dialect.passes.base import PassFailure, RaggedPass

_CAST = "builtin.unrealized_conversion_cast"


class CheckNvvmKernels(RaggedPass):
    """Fail at an op of a `gpu.module` that is in neither the llvm nor the nvvm dialect.

    ```mlir
    %r = memref.atomic_rmw mulf %v, %m[%i] : (f32, memref<?xf32>) -> f32
    // error: expected ops that lower to the llvm and nvvm dialects, got 'memref.atomic_rmw'
    ```

    Translation to LLVM IR crashes on such ops.
    """

    def run(self, op: ir.Operation) -> None:
        """Check every gpu.module of a module."""
        foreign = device_ops(op, lambda name: name != "gpu.module" and not name.startswith(("llvm.", "nvvm.")))
        # The casts stand between an op that was converted and one that was not: the op says more.
        for found in sorted(foreign, key=lambda found: found.name == _CAST):
            raise PassFailure(found, f"expected ops that lower to the llvm and nvvm dialects, got '{found.name}'")
