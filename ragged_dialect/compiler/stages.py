"""A program as IR after every stage of a target."""

from __future__ import annotations

from typing import Any

from ragged_dialect._mlir import llvm
from ragged_dialect.asm.module import print_module
from ragged_dialect.child import in_child
from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.errors import CompileError
from ragged_dialect.lowering import pipelines


def run_stages(source: Any, target: str) -> tuple[dict[str, str], Any]:
    """IR by the name of the stage, for `cpu` or `gpu`, without run-time checks, and the lowered module."""
    module = load_program(source).module
    pipeline = pipelines.cpu_pipeline(False) if target == "cpu" else pipelines.gpu_pipeline(False)
    found: dict[str, str] = {}
    with module.context:
        for stage in pipeline:
            stage.run(module)
            found[stage.name] = print_module(module)
    return found, module


def ptx(source: Any, arch: str) -> str:
    """PTX of the kernels, without run-time checks. CompileError for an unknown architecture."""
    return device_program(load_program(source), KernelOptions(check=False, arch=arch)).kernels


def llvm_ir(source: Any) -> str:
    """LLVM IR for the CPU. CompileError where it cannot be translated."""
    module = run_stages(source, "cpu")[1]
    text = in_child(lambda: llvm.translate_module_to_llvmir(module.operation).encode())
    if text is None:
        raise CompileError("expected a module that LLVM IR can express, got one whose translation failed")
    return text.decode()
