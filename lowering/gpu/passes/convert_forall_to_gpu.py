"""`convert-forall-to-gpu`: foralls on the host become kernels and launches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir.functions import functions_of
from ragged_dialect.ir.walk import find_ops, free_symbol, outermost
from ragged_dialect.lowering.attributes import BLOCK_SIZES, GATE, GENERAL, UNROLLS, WIDE, Mapping
from ragged_dialect.lowering.buffers.subviews import require_buffers
from ragged_dialect.lowering.gpu.kernel.numbers import has_wide_numbers, require_numbers
from ragged_dialect.lowering.gpu.kernel.status import Guards, status_of
from ragged_dialect.lowering.gpu.schedules import schedule
from ragged_dialect.passes.base import PassFailure, RaggedPass

MODULE = "kernels"
"""Name of the `gpu.module`, where no function has it."""


@dataclass(frozen=True)
class ConvertForallToGpu(RaggedPass):
    """Turn every `scf.forall` on the host into a `gpu.func` and its launch.

    ```mlir
    scf.forall (%b) in (%n) { … linalg.generic … }
    // becomes
    gpu.launch_func @kernels::@f_0 blocks in (%n, %c1, %c1) threads in (%c256, %c1, %c1) args(…)
    gpu.module @kernels { gpu.func @f_0(%x: memref<f32> {llvm.noalias, …}, …) kernel { … } }
    ```

    The attribute `ragged.mapping` says how, see `lowering/gpu/schedules.py`: with how many threads, at most `threads`,
    and with how many accesses of a thread in flight, `unroll` where it does not say. Without it a block does an
    iteration; where it says one thread, a thread does, and a block has several. Every kernel of a function with a
    status record (its last argument, see `wrap-ragged-device-code`) reads that first and does nothing when a check has
    failed. One that computes with indices which 32 bits may not hold is `ragged.wide`. Precondition:
    `ragged-map-parallel`.
    """

    threads: int = DEVICE.threads
    unroll: int = DEVICE.unroll

    def run(self, op: ir.Operation) -> None:
        """Convert the foralls of every function of a module."""
        if self.threads not in BLOCK_SIZES:
            sizes = ", ".join(map(str, BLOCK_SIZES[:-1]))
            raise PassFailure(op, f"expected threads of {sizes} or {BLOCK_SIZES[-1]}, got {self.threads}")
        if self.unroll not in UNROLLS:
            raise PassFailure(op, f"expected unroll of 1, 2, 4 or 8, got {self.unroll}")
        require_buffers(op)
        kernels = None
        for owner, function in functions_of(op).items():
            foralls = outermost(function, "scf.forall")
            status = status_of(op, function) if foralls else None
            gates = [gate for gate in find_ops(function, "memref.alloc") if GATE in gate.attributes]
            for number, forall in enumerate(foralls):
                kernels = kernels or _gpu_module(op)
                require_numbers(forall)
                name = free_symbol(kernels, f"{owner}_{number}")
                mapping = Mapping.of(forall)
                threads = min(mapping.threads or self.threads, self.threads)
                guards = Guards(status, _gate_of(forall, gates))
                build = schedule(mapping.schedule or GENERAL).build
                wide, before = has_wide_numbers(forall), _functions(kernels)
                build(forall, kernels, name, guards, threads, mapping.unroll or self.unroll)
                for kernel in (one for one in _functions(kernels) if wide and one not in before):
                    kernel.attributes[WIDE] = ir.UnitAttr.get()


def _functions(kernels: ir.Operation) -> list[ir.Operation]:
    return [op.operation for op in kernels.regions[0].blocks[0].operations]


def _gate_of(forall: ir.Operation, gates: Sequence[ir.Operation]) -> ir.Value | None:
    """The gate of a forall, where it has one."""
    if GATE not in forall.attributes:
        return None
    own = [op.results[0] for op in gates if op.attributes[GATE] == forall.attributes[GATE]]
    if len(own) != 1:
        raise PassFailure(forall, f"expected one buffer for {GATE} = {forall.attributes[GATE]}, got {len(own)}")
    return own[0]


def _gpu_module(module: ir.Operation) -> ir.Operation:
    module.attributes["gpu.container_module"] = ir.UnitAttr.get()
    name = ir.StringAttr.get(free_symbol(module, MODULE))
    with ir.InsertionPoint(module.regions[0].blocks[0]):
        made = ir.Operation.create("gpu.module", attributes={"sym_name": name}, regions=1)
        made.regions[0].blocks.append()
    return made
