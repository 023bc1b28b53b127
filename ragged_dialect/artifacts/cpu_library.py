"""A function of a program as a shared library for the CPU, with a C header."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ragged_dialect._mlir import ir
from ragged_dialect.artifacts.alone import require_alone
from ragged_dialect.artifacts.c_header import header
from ragged_dialect.artifacts.c_interface import SUFFIXES, c_name, parameters
from ragged_dialect.artifacts.c_wrapper import wrapper
from ragged_dialect.artifacts.machine_code import HOST, halves_of, object_code
from ragged_dialect.artifacts.packed_entry import add_packed_entry, packed_name
from ragged_dialect.asm.locations import file_position, name_of
from ragged_dialect.asm.module import load_module
from ragged_dialect.compiler.frontend import Source
from ragged_dialect.compiler.llvm_ir import llvm_ir
from ragged_dialect.dialect import context
from ragged_dialect.errors import CompileError
from ragged_dialect.execution import Lowered, lower_for_cpu
from ragged_dialect.ir.clone import bytecode
from ragged_dialect.lowering.math.library import required_libraries
from ragged_dialect.lowering.runtime.memory_runtime import CALL
from ragged_dialect.lowering.runtime.program_runtime import EXCHANGES
from ragged_dialect.lowering.runtime.runtime_calls import add_runtime
from ragged_dialect.ops.exchange import AllToAllOp
from ragged_dialect.runtime.whole_files import replace_all

_SET_THREADS = "ragged_set_threads"
_LIBRARY, _HEADER = "library.so", "library.h"


def write(source: Source, entry: str | None, output: Path, check: bool = True, cpu: str = HOST) -> list[Path]:
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
    isa = "auto" if cpu == HOST else "none"
    lowered = lower_for_cpu(source, entry, check, isa, halves_of(cpu), amx=False)  # nobody asks Linux for tiles
    name = lowered.signature.name
    if lowered.labels:
        raise CompileError(f"{name}: expected a program without ragged.print for a library, got one that prints")
    require_alone(name, [AllToAllOp.OPERATION_NAME] if _symbols(lowered.module) & {*EXCHANGES} else [])
    include = header_of(output)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".ragged.") as made:
        folder = Path(made)
        _build(lowered, argument_names(lowered.locations, source), folder, output.name, cpu)
        replace_all([(folder / _HEADER, include), (folder / _LIBRARY, output)], folder)
    return [output, include]


def header_of(library: Path) -> Path:
    """The C header beside a library: `f.h` of `libf.so`."""
    return library.with_name((library.stem.removeprefix("lib") or library.stem) + ".h")


def _build(lowered: Lowered, names: list[str | None], folder: Path, soname: str, cpu: str) -> None:
    """Make library and header in a folder, under names that neither C nor the linker take for anything else."""
    signature = lowered.signature
    name = signature.name
    threaded = _SET_THREADS in _symbols(lowered.module)
    add_packed_entry(lowered.module, lowered.symbol, packed_name(name))
    add_runtime(lowered.module)
    again = load_module(bytecode(lowered.module), context(), name)  # with what was added to it, verified
    code = object_code(llvm_ir(again), frozenset((packed_name(name), _SET_THREADS, CALL)), cpu)
    (folder / "program.o").write_bytes(code)
    (folder / _HEADER).write_text(header(signature, parameters(signature, names)), encoding="utf-8")
    (folder / "wrapper.c").write_text(wrapper(signature, lowered.checks, _HEADER, threaded), encoding="utf-8")
    exported = [f"{c_name(name)}{suffix}" for suffix in SUFFIXES if suffix != "_free" or signature.results]
    link(folder, ["wrapper.c", "program.o"], _LIBRARY, soname, exported, required_libraries())


def _symbols(module: ir.Module) -> set[str]:
    return {op.attributes["sym_name"].value for op in module.body.operations if "sym_name" in op.attributes}


def c_compiler() -> str:
    """Path of `cc`. CompileError that says what to install where there is none."""
    found = shutil.which("cc")
    if found is None:
        raise CompileError("expected a C compiler 'cc' on the PATH, got none (install gcc or clang)")
    return str(Path(found).absolute())  # it runs in another folder


def link(
    folder: Path, sources: Sequence[str], output: str, soname: str, exported: Sequence[str], libraries: Sequence[str]
) -> None:
    """Compile and link C sources and objects to a shared library that exports the given functions
    only; both are files of `folder`. CompileError with what the compiler says when it fails."""
    (folder / "exported.map").write_text(f"{{ global: {' '.join(f'{name};' for name in exported)} local: *; }};\n")
    # never unloaded: threads wait in its code for the next parallel loop
    flags = ("-z", "defs", "-z", "noexecstack", "-z", "nodelete", f"-soname={soname}", "--version-script=exported.map")
    command = [
        *(c_compiler(), "-shared", "-fPIC", "-O2", "-std=gnu99", "-pthread"),
        *chain.from_iterable(("-Xlinker", flag) for flag in flags),
        *("-o", output, *sources),
        *("-Wl,--as-needed", *libraries, "-lm"),
    ]
    # Only the soname is spelled by the user, and nothing splits what -Xlinker passes on: neither that nor the
    # folder's path can be taken for flags.
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    if done.returncode != 0:
        raise CompileError(f"expected cc to link {soname}, got exit code {done.returncode}:\n{done.stderr.strip()}")


_VALUE = re.compile(rb"%([A-Za-z_][A-Za-z0-9_]*)")

if TYPE_CHECKING:
    from ragged_dialect._mlir import ir
    from ragged_dialect.compiler.frontend import Source


def argument_names(locations: Sequence[ir.Location], source: Source) -> list[str | None]:
    """A name per argument, given the arguments' locations: that of a named location, or else the
    `%name` at the place in the source, which is text, or a file that is still there. None where
    neither has one."""
    texts: dict[str, list[bytes]] = {}
    return [_name(location, source, texts) for location in locations]


def _name(location: ir.Location, source: Source, texts: dict[str, list[bytes]]) -> str | None:
    name = name_of(location)
    if name is not None:
        return name
    filename, line, column = file_position(location)
    if filename not in texts:
        texts[filename] = _lines(filename, source)
    if not 1 <= line <= len(texts[filename]):
        return None
    found = _VALUE.match(texts[filename][line - 1], column - 1)
    return found.group(1).decode() if found else None


def _lines(filename: str, source: Source) -> list[bytes]:
    if isinstance(source, (str, bytes)):
        return (source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source).split(b"\n")
    try:
        return Path(filename).read_bytes().split(b"\n")
    except OSError:
        return []
