"""A function of a program as a shared library for the CPU, with a C header."""

from __future__ import annotations

import errno
import io
import os
import tempfile
from pathlib import Path
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.artifacts.argument_names import argument_names
from ragged_dialect.artifacts.c_header import header
from ragged_dialect.artifacts.c_interface import SUFFIXES, c_name, parameters
from ragged_dialect.artifacts.c_wrapper import wrapper
from ragged_dialect.artifacts.linker import c_compiler, link
from ragged_dialect.artifacts.machine_code import HOST, halves_of, object_code
from ragged_dialect.artifacts.packed_entry import add_packed_entry, packed_name
from ragged_dialect.asm.module import load_module
from ragged_dialect.compiler.llvm_ir import llvm_ir
from ragged_dialect.dialect import context
from ragged_dialect.errors import CompileError
from ragged_dialect.execution import Lowered, lower_for_cpu
from ragged_dialect.lowering.math_library import required_libraries
from ragged_dialect.lowering.memory_runtime import CALL
from ragged_dialect.lowering.program_runtime import add_runtime
from ragged_dialect.runtime.whole_files import replace_all

_SET_THREADS = "ragged_set_threads"
_LIBRARY, _HEADER = "library.so", "library.h"


def write(source: Any, entry: str | None, output: Path, check: bool = True, cpu: str = HOST) -> list[Path]:
    """Write `output`, a shared library (`libf.so`), and its C header beside it (`f.h`).

    `source`, `entry` and `check` are those of `ragged_dialect.compile`. `cpu` is the CPU the code is
    for: "host", or one of `machine_code.CPUS` for a library that runs elsewhere too. Returns the
    files written. VerifyError, PassError, or CompileError: for a program that cannot be a library,
    and where llvmlite or a C compiler is missing. OSError when one of the files cannot be written: then
    the other is not either.
    """
    if output.suffix != ".so":
        raise CompileError(f"expected an output that ends in .so, got '{output.name}'")
    if not output.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(output))
    c_compiler()
    lowered = lower_for_cpu(source, entry, check, "auto" if cpu == HOST else "none", halves_of(cpu))
    name = lowered.signature.name
    if lowered.labels:
        raise CompileError(f"{name}: expected a program without ragged.print for a library, got one that prints")
    include = output.with_name((output.stem.removeprefix("lib") or output.stem) + ".h")
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".ragged.") as made:
        folder = Path(made)
        _build(lowered, argument_names(lowered.locations, source), folder, output.name, cpu)
        replace_all([(folder / _HEADER, include), (folder / _LIBRARY, output)], folder)
    return [output, include]


def _build(lowered: Lowered, names: list[str | None], folder: Path, soname: str, cpu: str) -> None:
    """Make library and header in a folder, under names that neither C nor the linker take for anything else."""
    signature = lowered.signature
    name = signature.name
    threaded = _SET_THREADS in _symbols(lowered.module)
    add_packed_entry(lowered.module, lowered.symbol, packed_name(name))
    add_runtime(lowered.module)
    code = object_code(llvm_ir(_again(lowered.module, name)), frozenset((packed_name(name), _SET_THREADS, CALL)), cpu)
    (folder / "program.o").write_bytes(code)
    (folder / _HEADER).write_text(header(signature, parameters(signature, names)), encoding="utf-8")
    (folder / "wrapper.c").write_text(wrapper(signature, lowered.checks, _HEADER, threaded), encoding="utf-8")
    exported = [f"{c_name(name)}{suffix}" for suffix in SUFFIXES if suffix != "_free" or signature.results]
    link(folder, ["wrapper.c", "program.o"], _LIBRARY, soname, exported, required_libraries())


def _symbols(module: Any) -> set[str]:
    return {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}


def _again(module: ir.Module, name: str) -> ir.Module:
    """A module with what was added to it, parsed and verified."""
    buffer = io.BytesIO()
    module.operation.write_bytecode(buffer)
    return load_module(buffer.getvalue(), context(), name)
