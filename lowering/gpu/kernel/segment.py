"""The segment schedule: one block per component, of as many threads as a component of usual length
keeps busy."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp, generics_in
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.thread_shape import fast_loop
from ragged_dialect.lowering.gpu.kernel.vector_access import vector_access


def schedule(forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int) -> None:
    """Replace a forall over components by a kernel and its launch."""
    lanes = max((_lanes(generic) for generic in generics_in(forall)), default=1)
    wanted = max(DEVICE.fewest_threads, DEVICE.component_rows * lanes)
    builder.schedule(forall, module, name, guards, min(threads, 1 << (wanted - 1).bit_length()), unroll)


def _lanes(generic: GenericOp) -> int:
    """Threads along the contiguous loop of an op; 1 where the loop runs over rows."""
    loop = fast_loop(generic)
    extent = None if loop is None else generic.static_extent(loop)
    if extent is None:
        return 1
    vector = vector_access(generic, loop)
    return max(1, extent // (vector.width if vector is not None else 1))
