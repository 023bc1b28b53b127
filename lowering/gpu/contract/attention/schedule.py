"""Which kernels a call of attention becomes."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.gpu.contract.attention.backward import Backward
from ragged_dialect.lowering.gpu.contract.attention.forward import Forward
from ragged_dialect.lowering.gpu.contract.attention.kernel import AttentionLoop, kept, threads_of
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.status import Guards


def lower(found: AttentionLoop, module: ir.Operation, name: str, guards: Guards, threads: int) -> None:
    """Make a kernel of a call, and launch it before the forall; its blocks have `threads` at most. Cotangents for which
    a thread has no registers together have a kernel each."""
    call = found.call
    kind, parts = (Backward if call.saved else Forward), [call.results]
    if call.saved and kept(call, call.results) > DEVICE.attention_kept:
        parts = [(result,) for result in call.results]
    for number, results in enumerate(parts):
        size = max(DEVICE.warp, min(threads, threads_of(call, results)))
        own = name if len(parts) == 1 else f"{name}_{number}"
        kind(found, Kernel(own, size, module, guards), results).lower()
    for function in (call.scored, call.function):
        if function is not None:
            function.erase()
