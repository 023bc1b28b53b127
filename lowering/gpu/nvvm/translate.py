"""The last steps on MLIR's side: a `gpu.module` to the llvm and nvvm dialects, and to LLVM IR text."""

from __future__ import annotations

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.errors import CompileError
from ragged_dialect.ir.functions import name_of
from ragged_dialect.ir.walk import append
from ragged_dialect.lowering.attributes import WIDE
from ragged_dialect.lowering.gpu.kernel.kernel import NARROW
from ragged_dialect.lowering.gpu.nvvm.device_modules import gpu_modules
from ragged_dialect.lowering.stage import Stage
from ragged_dialect.lowering.validity import require_valid
from ragged_dialect.ptx.llvm22 import to_llvm22

INDEX_BITS = (32, 64)


def nvvm_stage(index_bits: int = 64) -> Stage:
    """Kernels of `gpu.func` with pointers (rank-0 memrefs) and scalars as arguments to the nvvm dialect.

    `index_bits` is the width of `index` in kernels, 64 or 32. With 32, parameters of type index are i32
    and indices computed from them wrap: it is for launches where every buffer has fewer than 2**31
    elements. What is loaded as i64 (offsets) is truncated where it becomes an index.
    """
    if index_bits not in INDEX_BITS:
        raise CompileError(f"expected 32 or 64 index bits, got {index_bits}")
    return Stage(
        "nvvm",
        "expand-kernel-math,"
        "gpu.module(expand-strided-metadata,lower-affine,canonicalize,cse,convert-scf-to-cf,"
        "convert-nvvm-to-llvm,"
        f"convert-gpu-to-nvvm{{index-bitwidth={index_bits} use-bare-ptr-memref-call-conv=1}},"
        "canonicalize,cse,reconcile-unrealized-casts),"
        "check-nvvm-kernels,lower-memory-types,lower-libdevice-calls,lower-kernel-sigmoids,contract-kernel-floats,"
        "finish-nvvm-kernels",
    )


def kernels_to_llvm(module: ir.Module, index_bits: int = 64) -> str:
    """LLVM IR, as llvmlite reads it, of the one `gpu.module` of a module, which is not changed.

    Kernels have the calling convention `ptx_kernel`, their `gpu.func`'s name, and one parameter per
    argument: a pointer per memref, `i{index_bits}` per index. Math functions are calls of `__nv_*`.
    A `gpu.module` that is in the nvvm dialect already is translated as it is. Raises PassError at an
    op that does not lower, CompileError when there is not one `gpu.module`.
    """
    return _translated(lowered_kernels(module, index_bits))


def narrow_kernels_to_llvm(module: ir.Module) -> str:
    """As `kernels_to_llvm`, with 32-bit indices in every kernel that may have them: its name ends in
    `_i32`. Those that are `ragged.wide` have 64-bit indices, and keep their names."""
    narrow, wide = _alone(module), _alone(module)
    for kernel in _kernels(narrow):
        if WIDE in kernel.attributes:
            kernel.erase()
        else:
            kernel.attributes["sym_name"] = ir.StringAttr.get(f"{name_of(kernel)}{NARROW}", module.context)
    for kernel in _kernels(wide):
        if WIDE not in kernel.attributes:
            kernel.erase()
    _lower(narrow, 32)
    if _kernels(wide):
        _lower(wide, 64)
        _merge(narrow, wide)
    return _translated(narrow)


def narrow_names(module: ir.Module) -> set[str]:
    """The kernels that may have 32-bit indices."""
    return {name_of(kernel) for kernel in _kernels(module) if WIDE not in kernel.attributes}


def _kernels(module: ir.Module) -> list[ir.Operation]:
    found = [op.operation for inner in gpu_modules(module.operation) for op in inner.regions[0].blocks[0].operations]
    return [op for op in found if op.name == "gpu.func"]


def lowered_kernels(module: ir.Module, index_bits: int) -> ir.Module:
    """A new module with the `gpu.module` of a module in the nvvm dialect. Raises as `kernels_to_llvm`."""
    alone = _alone(module)
    _lower(alone, index_bits)
    return alone


def _alone(module: ir.Module) -> ir.Module:
    """A new module with a copy of the one `gpu.module`."""
    found = gpu_modules(module.operation)
    if len(found) != 1:
        raise CompileError(f"expected one gpu.module, got {len(found)}")
    with module.context, ir.Location.unknown():
        alone = ir.Module.create()
        alone.body.append(found[0].clone())
    return alone


def _lower(alone: ir.Module, index_bits: int) -> None:
    lowered = all(op.operation.name.startswith("llvm.") for op in _body(alone).operations)
    stage = Stage("nvvm", "check-nvvm-kernels") if lowered else nvvm_stage(index_bits)
    stage.run(alone, verify=False)
    require_valid(alone, "gpu.module")


def _merge(target: ir.Module, source: ir.Module) -> None:
    """Move functions and globals of lowered kernels to others'. Of two with a name, which only what
    kernels share has, one stays behind."""
    body = _body(target)
    taken = {name_of(op.operation) for op in body.operations}
    append(body, [op for op in _body(source).operations if name_of(op.operation) not in taken])


def _translated(lowered: ir.Module) -> str:
    [kernels] = gpu_modules(lowered.operation)
    return to_llvm22(llvm.translate_module_to_llvmir(kernels))


def _body(module: ir.Module) -> ir.Block:
    [kernels] = gpu_modules(module.operation)
    return kernels.regions[0].blocks[0]
