"""What ragged-opt tells about itself: passes, versions, the dialect as IRDL."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from ragged_dialect.tools.cli import SUCCESS, write_output


def show(action: str, output: str) -> int:
    """Write the answer to `list-passes`, `version` or `emit-irdl`; the exit code."""
    text = {"list-passes": list_passes, "version": version, "emit-irdl": irdl}[action]()
    write_output(output, text if text.endswith("\n") else f"{text}\n")
    return SUCCESS


def list_passes() -> str:
    """Name, first line of the docstring, and options of every pass; the named pipelines."""
    from ragged_dialect.passes.descriptions import describe_all

    lines: list[str] = []
    for described in describe_all():
        lines.append(f"--{described.name}: {described.summary}")
        for option in described.options:
            default = f"={option.default}" if option.default else ""
            lines.append(f"    {option.name}{default}  ({option.type})")
    return "\n".join(lines)


def version(tool: str = "ragged-opt") -> str:
    """The tool's name, this package, the provider of the bindings, and LLVM's version where it can be had."""
    from importlib import metadata

    from ragged_dialect import _mlir

    try:
        own = metadata.version("ragged-dialect")
    except metadata.PackageNotFoundError:
        own = "(not installed)"
    llvm = _llvm_version()
    return f"{tool} {own}\nbindings: {_mlir.mlir_version()}" + (f"\nLLVM version {llvm}" if llvm else "")


def _llvm_version() -> str | None:
    """The bindings do not tell it; the tool that comes in the same wheel does."""
    tool = shutil.which("torch-mlir-opt", path=str(Path(sys.executable).parent)) or shutil.which("torch-mlir-opt")
    if tool is None:
        return None
    try:
        answer = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=10, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.search(r"LLVM version (\S+)", answer)
    return match.group(1) if match else None


def irdl() -> str:
    """The dialect as an IRDL module: types, attributes and ops with their constraints, no traits
    and no verifiers."""
    from ragged_dialect import ops  # registers the ops with the dialect
    from ragged_dialect._mlir import ir
    from ragged_dialect.dialect import Ragged

    assert ops
    with ir.Context(), ir.Location.unknown():
        return str(Ragged._emit_module())
