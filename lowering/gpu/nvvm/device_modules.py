"""Finding ops in the `gpu.module`s of a module."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import ops_in


def gpu_modules(module: ir.Operation) -> list[ir.Operation]:
    """The `gpu.module` ops at the top of a module op."""
    return [op.operation for op in module.regions[0].blocks[0].operations if op.operation.name == "gpu.module"]


def device_ops(module: ir.Operation, wanted: Callable[[str], bool]) -> list[ir.Operation]:
    """The ops inside the `gpu.module`s of a module op whose name is `wanted`, outer ones first."""
    return [op for inner in gpu_modules(module) for op in ops_in(inner) if wanted(op.name)]
