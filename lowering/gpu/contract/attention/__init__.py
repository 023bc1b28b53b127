"""Attention on tensor cores: a block has a tile of rows of one head, and goes along the rows that these meet."""

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.gpu.contract.attention.backward import Backward
from ragged_dialect.lowering.gpu.contract.attention.forward import Forward
from ragged_dialect.lowering.gpu.contract.attention.kernel import AttentionLoop, matched
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.status import Guards

__all__ = ["lower", "matched"]


def lower(found: AttentionLoop, module: ir.Operation, name: str, guards: Guards, threads: int) -> None:
    """Make a kernel of a call, and launch it before the forall; its blocks have `threads` at most."""
    kind = Backward if found.call.saved else Forward
    threads = max(DEVICE.warp, min(threads, kind.threads_of(found.call)))
    kind(found, Kernel(name, threads, module, guards)).lower()
    found.call.function.erase()
