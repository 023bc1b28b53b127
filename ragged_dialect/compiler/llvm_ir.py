"""LLVM IR of modules, for the CPU."""

from __future__ import annotations

import sys

from ragged_dialect._mlir import ir, llvm
from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.locations import file_position, from_mlir
from ragged_dialect.child import in_child
from ragged_dialect.compiler.frontend import mangle_symbols
from ragged_dialect.errors import CompileError
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering import pipelines
from ragged_dialect.symbols import in_c_library


def lowered_to_llvm_ir(module: ir.Module, check: bool = True) -> str:
    """LLVM IR of a module, lowered first as far as it is not yet. PassError when it cannot be lowered, ParseError and
    CompileError when LLVM IR cannot express it."""
    if not all(op.operation.name.startswith("llvm.") for op in module.body.operations):
        mangle_symbols(module, lambda name: not in_c_library(name))
        for stage in pipelines.cpu_pipeline(check):
            stage.run(module)
    return llvm_ir(module)


def llvm_ir(module: ir.Module) -> str:
    """LLVM IR of a module of the llvm dialect. The bindings crash the process on any translation that fails, after
    its diagnostics: a child takes the risk, and prints them."""
    check_translatable(module)
    text = in_child(lambda: _translated(module))
    if text is None:
        raise CompileError("expected a module that LLVM IR can express, got one whose translation failed")
    return text.decode()


def _translated(module: ir.Module) -> bytes:
    def show(diagnostic: ir.Diagnostic) -> bool:
        print(from_mlir(diagnostic), file=sys.stderr, flush=True)
        return True

    module.context.emit_error_diagnostics = True  # pyright: ignore[reportAttributeAccessIssue]  # the stub lacks it
    with module.context.attach_diagnostic_handler(show):
        return llvm.translate_module_to_llvmir(module.operation).encode()


def check_translatable(module: ir.Module) -> None:
    """Refuse ops outside the llvm dialect, each at its place. ParseError."""
    known = module.context.is_registered_operation
    foreign = [op for op in ops_in(module.operation)[1:] if not (op.name.startswith("llvm.") and known(op.name))]
    # Casts stand between an op that was converted and one that was not, which says more.
    told = [op for op in foreign if op.name != "builtin.unrealized_conversion_cast"] or foreign
    if told:
        raise ParseError(
            *(
                Diagnostic(
                    f"expected registered ops of the llvm dialect only, got '{op.name}'", *file_position(op.location)
                )
                for op in told
            )
        )
