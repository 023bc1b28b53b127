"""The MLIR tool that comes with the bindings, for what they cannot do."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ragged_dialect.errors import MissingPackageError, RaggedError

NAME = "torch-mlir-opt"
_SECONDS = 600
_SIGNAL = 128

# The tool loads arith, math and others when it comes to an op that depends on them; ops of these before it would have
# been read as unknown ones, and are printed from memory that is none of theirs. So the file that is read first names a
# dialect that brings them.
_LOADING = "#loads_what_linalg_needs = #linalg.iterator_type<parallel>"


def find() -> str | None:
    """The tool of this environment, or of the path."""
    return shutil.which(NAME, path=str(Path(sys.executable).parent)) or shutil.which(NAME)


def rewritten(program: str, dialects: Sequence[str], flags: Sequence[str]) -> bytes:
    """What the tool makes of a program in generic form with some flags; `dialects` are in IRDL. RaggedError when it
    cannot read it, MissingPackageError when there is no tool."""
    tool = find()
    if tool is None:
        raise MissingPackageError(f"expected {NAME} for {flags[0]}, got none (it comes with torch-mlir)")
    with tempfile.TemporaryDirectory() as folder:
        irdl, source = Path(folder, "dialects.mlir"), Path(folder, "in.mlir")
        irdl.write_text("\n".join([_LOADING, *dialects]), encoding="utf-8")
        source.write_text(program, encoding="utf-8")
        command = [tool, f"--irdl-file={irdl}", "--allow-unregistered-dialect", *flags, str(source)]
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
    if done.returncode < 0 or done.returncode > _SIGNAL:
        raise RaggedError(f"expected a module that {NAME} reads for {flags[0]}, got one that it dies of")
    if done.returncode != 0:
        message = done.stderr.decode(errors="replace").strip().partition("\n")[0].replace(str(source), "-")
        raise RaggedError(f"expected a module that {NAME} reads for {flags[0]}, got {message}")
    return done.stdout


def version() -> str:
    """What the tool says of its version, nothing where there is none."""
    tool = find()
    if tool is None:
        return ""
    try:
        return subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""
