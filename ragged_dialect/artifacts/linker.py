"""Compiling C and linking shared libraries with the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from ragged_dialect.errors import CompileError


def c_compiler() -> str:
    """Path of `cc`. CompileError that says what to install where there is none."""
    found = shutil.which("cc")
    if found is None:
        raise CompileError("expected a C compiler 'cc' on the PATH, got none (install gcc or clang)")
    return found


def link(sources: Sequence[Path], output: Path, soname: str, exported: Sequence[str], libraries: Sequence[str]) -> None:
    """Compile and link C sources and objects to a shared library that exports the given functions
    only. CompileError with what the compiler says when it fails."""
    script = output.with_suffix(".map")
    script.write_text(f"{{ global: {' '.join(f'{name};' for name in exported)} local: *; }};\n")
    command = [
        *(c_compiler(), "-shared", "-fPIC", "-O2", "-std=gnu99", "-pthread"),
        *(f"-Wl,{flag}" for flag in ("-z,defs", "-z,noexecstack", f"-soname,{soname}", f"--version-script={script}")),
        *("-o", str(output), *map(str, sources)),
        *("-Wl,--as-needed", *libraries, "-lm"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CompileError(f"expected cc to link {soname}, got exit code {done.returncode}:\n{done.stderr.strip()}")
