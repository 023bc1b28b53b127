"""The CPU target: lowered to LLVM, compiled by MLIR's execution engine."""

from __future__ import annotations

from typing import NamedTuple

from ragged_dialect._mlir import ir
from ragged_dialect.checks import Check
from ragged_dialect.compiler.frontend import Program, Source, load_program
from ragged_dialect.compiler.loading import SET_THREADS, load_stored
from ragged_dialect.compiler.machine_code import object_code
from ragged_dialect.compiler.stored import stored
from ragged_dialect.locks import once
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.math.library import VECTOR
from ragged_dialect.lowering.records import REFUSES, checks_of, labels_of
from ragged_dialect.lowering.runtime.program_runtime import DECLARED, EXCHANGES
from ragged_dialect.lowering.validity import require_valid
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.printing import print_callbacks
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.runtime.stored_program import CpuProgram, Text
from ragged_dialect.symbols import mangle


class Lowered(NamedTuple):
    """A program in the LLVM dialect: its module, the signature of its entry, the run-time checks in
    the order of their numbers, what `ragged.print` prints before tensors, and where the source has
    the entry's arguments."""

    module: ir.Module
    signature: Signature
    checks: tuple[Check, ...]
    labels: tuple[str, ...]
    locations: tuple[ir.Location, ...]

    @property
    def symbol(self) -> str:
        """Name of the entry in the module."""
        return mangle(self.signature.name)


def lower_for_cpu(
    source: Source,
    entry: str | None = None,
    check: bool = True,
    isa: str = "auto",
    half: str = "auto",
    skew: str = "share",
    amx: bool = True,
) -> Lowered:
    """Lower a function of a program, given as to `compile`, for the CPU. `isa`, `half`, `skew` and `amx` are those
    of `pipelines.cpu_pipeline`. Raises VerifyError, CompileError or PassError."""
    program = load_program(source, entry)
    module = program.module
    locations = tuple(argument.location for argument in program.entry.regions[0].blocks[0].arguments)
    signature = program.lower(*pipelines.cpu_pipeline(check, isa, half, skew, amx))
    require_valid(module, signature.name)
    return Lowered(module, signature, checks_of(module), labels_of(module), locations)


def compile_for_cpu(source: Source, entry: str | None, check: bool, filename: str) -> CpuFunction:
    """A function of a program as a callable on NumPy arrays."""

    def make() -> CpuFunction:
        return load_stored(cpu_program(load_program(source, entry, filename), check))

    return once((source, entry, check, filename), make) if isinstance(source, (str, bytes)) else make()


def cpu_program(program: Program, check: bool) -> CpuProgram:
    """A program in machine code, from the cache where it is there; otherwise it is lowered in place. Where a component
    is much longer than others, it asks for `shared`, which takes twice as long to compile."""
    text, name = program.text, program.name

    def make() -> CpuProgram:
        lowered = lower_for_cpu(program, check=check, skew="refuse")
        refuses = REFUSES in lowered.module.operation.attributes
        return _compiled(lowered, Text(text, name, check) if refuses else None)

    return stored(CpuProgram, [text, check], make)


def shared(source: Text) -> CpuProgram:
    """The program of a text whose threads share components that are much longer than the others."""
    return _compiled(lower_for_cpu(source.text, source.entry, source.check))


def load_lowered(lowered: Lowered) -> CpuFunction:
    """A lowered program in memory, ready to call."""
    return load_stored(_compiled(lowered))


def _compiled(lowered: Lowered, source: Text | None = None) -> CpuProgram:
    module, signature, checks, labels, _ = lowered
    with module.context, ir.Location.unknown():
        symbols = {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}
        vectors = tuple(sorted(name for name in symbols if name.startswith(VECTOR)))
        entry = "_mlir_ciface_" + lowered.symbol
        exported = [entry, SET_THREADS] if SET_THREADS in symbols else [entry]
        code = object_code(module, signature.name, exported, (*DECLARED, *EXCHANGES, *print_callbacks(labels)))
    return CpuProgram(signature, f"_mlir_{entry}", checks, labels, vectors, SET_THREADS in symbols, code, source)
