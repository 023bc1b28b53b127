"""Compiling C and linking shared libraries with the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from ragged_dialect.errors import CompileError


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
