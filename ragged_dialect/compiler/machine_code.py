"""Modules in the LLVM dialect to machine code for this machine."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterable, Sequence

from ragged_dialect._mlir import execution_engine, ir
from ragged_dialect.asm.locations import collect
from ragged_dialect.compiler.llvm_ir import check_translatable
from ragged_dialect.errors import CompileError
from ragged_dialect.host_cpu import code_features
from ragged_dialect.lowering.math.expand_ragged_floats import BFLOAT_ROUNDING
from ragged_dialect.lowering.math.library import required_libraries

_SOMEWHERE = 16
"""Stands for addresses that the linker knows later: the code is not run where it is made."""


def object_code(module: ir.Module, name: str, exported: Sequence[str], unknown: Iterable[str], level: int = 3) -> bytes:
    """An object of a module, of whose functions those that are `exported` can be called. `unknown` are functions that
    no library has. ParseError at ops that LLVM IR cannot express, CompileError, which names a program, where LLVM
    refuses the module or a symbol is missing."""
    _finish(module, exported)
    with collect(module.context) as diagnostics:
        try:
            made = execution_engine.ExecutionEngine(module, opt_level=level, shared_libs=required_libraries())
        except RuntimeError as error:
            check_translatable(module)
            reasons = ", ".join(diagnostic.message for diagnostic in diagnostics)
            raise CompileError(f"{name}: {reasons or error}") from error
    for symbol in unknown:
        made.raw_register_runtime(symbol, ctypes.c_void_p(_SOMEWHERE))
    if not all(made.raw_lookup(function) for function in exported):
        raise CompileError(f"{name}: expected a compiled entry, got none (unresolved symbols)")
    return _dumped(made.dump_to_object_file)


def module_code(text: str, functions: Sequence[str]) -> bytes:
    """An object of a module as text, some of whose functions are named."""
    with ir.Context(), ir.Location.unknown():
        return object_code(ir.Module.parse(text), functions[0], functions, (), level=2)


def _dumped(dump: Callable[[str], object]) -> bytes:
    """The object of an engine, which only writes files."""
    file = os.memfd_create("ragged")
    try:
        dump(f"/proc/self/fd/{file}")
        return os.pread(file, os.fstat(file).st_size, 0)
    finally:
        os.close(file)


def _finish(module: ir.Module, exported: Sequence[str]) -> None:
    """Let no function use what `host_cpu` takes away, as the engine knows the host's CPU only, and LLVM remove what is
    called from nowhere, but for what it calls itself."""
    quoted = ", ".join(f'"{name}"' for name in code_features())
    features, internal = (
        ir.Attribute.parse(text) for text in (f"#llvm.target_features<[{quoted}]>", "#llvm.linkage<internal>")
    )
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
            op.attributes["target_features"] = features
            if op.attributes["sym_name"].value not in (*exported, BFLOAT_ROUNDING):
                op.attributes["linkage"] = internal
