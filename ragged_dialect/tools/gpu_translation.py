"""The translations of ragged-translate for NVIDIA GPUs."""

from __future__ import annotations

from ragged_dialect._mlir import ir


def has_kernels(module: ir.Module) -> bool:
    """Whether a module's parallel parts are kernels already."""
    return any(op.operation.name == "gpu.module" for op in module.body.operations)


def translate(
    module: ir.Module, to: str, arch: str, *, fast_math: bool, index_bits: int, schedule: str, check: bool
) -> str:
    """The kernels of a module as nvvm, llvmir or ptx; the ragged program it may be instead is lowered to them first,
    with run-time checks if `check` says so. Raises PassError for what cannot be lowered, CompileError as
    `ragged_dialect.ptx.emit` does."""
    from ragged_dialect.asm.module import print_module
    from ragged_dialect.child import in_child
    from ragged_dialect.errors import CompileError
    from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, lowered_kernels
    from ragged_dialect.ptx import emit, targets

    targets.ptx_version(arch)
    if not has_kernels(module):
        from ragged_dialect.compiler.frontend import mangle_symbols
        from ragged_dialect.lowering import pipelines

        mangle_symbols(module, lambda name: True)
        for stage in pipelines.gpu_pipeline(check, schedule):
            stage.run(module)
    lowered = lowered_kernels(module, index_bits)
    if to == "nvvm":
        text = print_module(lowered)
        return text if text.endswith("\n") else f"{text}\n"
    llvm_ir = in_child(lambda: kernels_to_llvm(lowered).encode())  # translation crashes where it fails
    if llvm_ir is None:
        raise CompileError("expected kernels that LLVM IR can express, got some whose translation failed")
    return llvm_ir.decode() if to == "llvmir" else emit(llvm_ir.decode(), arch, fast_math)
