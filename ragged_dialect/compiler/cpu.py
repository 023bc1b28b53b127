"""The CPU target: lowered to LLVM, compiled by MLIR's execution engine."""

from __future__ import annotations

import ctypes
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from ragged_dialect._mlir import execution_engine, ir
from ragged_dialect.asm.locations import collect
from ragged_dialect.checks import Check
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.memory import call_packed, link_memory, runner
from ragged_dialect.errors import CompileError
from ragged_dialect.locks import once
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.host_cpu import masked_features
from ragged_dialect.lowering.records import checks_of, labels_of
from ragged_dialect.lowering.validity import require_valid
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.printing import register_printer
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.symbols import mangle


class Lowered(NamedTuple):
    """A program in the LLVM dialect: its module, the signature of its entry, the run-time checks in
    the order of their numbers, what `ragged.print` prints before tensors, and where the source has
    the entry's arguments."""

    module: Any
    signature: Signature
    checks: tuple[Check, ...]
    labels: tuple[str, ...]
    locations: tuple[Any, ...]

    @property
    def symbol(self) -> str:
        """Name of the entry in the module."""
        return mangle(self.signature.name)


def lower_for_cpu(
    source: Any, entry: str | None = None, check: bool = True, isa: str = "auto", half: str = "auto"
) -> Lowered:
    """Lower a function of a program, given as to `compile`, for the CPU. `isa` and `half` are those of
    `pipelines.cpu_pipeline`. Raises VerifyError, CompileError or PassError."""
    program = load_program(source, entry)
    module = program.module
    locations = tuple(argument.location for argument in program.entry.regions[0].blocks[0].arguments)
    signature = program.lower(*pipelines.cpu_pipeline(check, isa, half))
    require_valid(module, signature.name)
    checks, labels = checks_of(module), labels_of(module)
    return Lowered(module, replace(signature, status=bool(checks)), checks, labels, locations)


def compile_for_cpu(source: Any, entry: str | None, check: bool) -> CpuFunction:
    """A function of a program as a callable on NumPy arrays."""

    def make() -> CpuFunction:
        return load_lowered(lower_for_cpu(source, entry, check))

    if isinstance(source, Path):
        return once((source, source.read_bytes(), entry, check), make)
    return once((source, entry, check), make) if isinstance(source, (str, bytes)) else make()


def load_lowered(lowered: Lowered) -> CpuFunction:
    """A lowered program in memory, ready to call."""
    with lowered.module.context, ir.Location.unknown():
        return _jit(lowered)


def thread_count() -> int:
    """Threads a program runs on: RAGGED_NUM_THREADS, or the cores this process may use."""
    text = os.environ.get("RAGGED_NUM_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise CompileError(f"expected RAGGED_NUM_THREADS of at least 1, got '{text}'")
    return int(text)


def make_engine(lowered: Lowered) -> Any:
    """A lowered program in an execution engine, which compiles it at the first look-up. CompileError when
    LLVM refuses it."""
    _mask_features(lowered.module)
    with collect(lowered.module.context) as diagnostics:
        try:
            return execution_engine.ExecutionEngine(lowered.module, opt_level=3, shared_libs=_libraries())
        except RuntimeError as error:
            reasons = ", ".join(diagnostic.message for diagnostic in diagnostics)
            raise CompileError(f"{lowered.signature.name}: {reasons or error}") from error


def _jit(lowered: Lowered) -> CpuFunction:
    module, signature, checks, labels, _ = lowered
    engine = make_engine(lowered)
    keep: list[Any] = [engine, register_printer(engine, labels)] if labels else [engine]
    link_memory(engine)
    engine.initialize()
    packed = engine.raw_lookup("_mlir_ciface_" + lowered.symbol)
    if not packed:
        raise CompileError(f"{signature.name}: expected a compiled entry, got none (unresolved symbols)")
    if "ragged_set_threads" in ir.SymbolTable(module.operation):
        _set_threads(engine, thread_count())
    return CpuFunction(signature, packed, checks, keep, runner())


def _mask_features(module: Any) -> None:
    """Let no function use what RAGGED_CPU_FEATURES takes away: the engine knows the host's CPU only."""
    names = masked_features()
    if not names:
        return
    quoted = ", ".join(f'"{name}"' for name in names)
    features = ir.Attribute.parse(f"#llvm.target_features<[{quoted}]>")
    for op in module.body.operations:
        if op.operation.name == "llvm.func" and len(op.operation.regions[0].blocks):
            op.attributes["target_features"] = features


def _set_threads(engine: Any, count: int) -> None:
    """Tell a program with parallel loops how many threads to use."""
    call_packed(engine.raw_lookup("ragged_set_threads"), ctypes.c_int64(count))


def _libraries() -> list[str]:
    from ragged_dialect.lowering.math_library import required_libraries

    return required_libraries()
