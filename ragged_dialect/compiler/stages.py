"""A program as IR after every stage of a target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragged_dialect.asm.module import print_module
from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import Source, load_program
from ragged_dialect.compiler.llvm_ir import llvm_ir as to_llvm_ir
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime import memory

if TYPE_CHECKING:
    from ragged_dialect._mlir import ir


def run_stages(source: Source, target: str) -> tuple[dict[str, str], ir.Module]:
    """IR by the name of the stage, for `cpu` or `gpu`, without run-time checks, and the lowered module."""
    memory.require("compile", memory.COMPILER)
    module = load_program(source).module
    pipeline = pipelines.cpu_pipeline(False) if target == "cpu" else pipelines.gpu_pipeline(False)
    found: dict[str, str] = {}
    with module.context:
        for stage in pipeline:
            stage.run(module)
            found[stage.name] = print_module(module)
    return found, module


def ptx(source: Source, arch: str) -> str:
    """PTX of the kernels, without run-time checks. CompileError for an unknown architecture."""
    return device_program(load_program(source), KernelOptions(check=False, arch=arch)).kernels


def llvm_ir(source: Source) -> str:
    """LLVM IR for the CPU. CompileError where it cannot be translated."""
    return to_llvm_ir(run_stages(source, "cpu")[1])
