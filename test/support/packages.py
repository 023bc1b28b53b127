"""A plug-in's package: `rowtools`, the example, and what a test writes itself."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT
from ragged_dialect import plugins
from ragged_dialect.tools import ragged_opt

PRINTS = """func.func @f(%x: tensor<?xf32>) {
  ragged.print %x {label = "a"} : (tensor<?xf32>) -> ()
  ragged.print %x {label = "b"} : (tensor<?xf32>) -> ()
  return
}
"""
SUMS = (ROOT / "examples" / "plugin" / "lit_tests" / "warps.mlir").read_text()


def install(folder: Path, name: str, entry: str) -> None:
    """The metadata that an installed package leaves."""
    made = folder / f"{name}-0.1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (made / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {entry}\n")


def opt_process(folder: Path, file: str, *flags: str) -> subprocess.CompletedProcess[str]:
    """The tool on a file of the folder with the plug-in `wrong`, in a process of its own, which it may end."""
    command = [sys.executable, "-m", "ragged_dialect.tools.ragged_opt", file, "--load-pass-plugin=wrong", *flags]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)


def opt(folder: Path, *flags: str) -> int:
    """Exit code of the tool on the program."""
    return ragged_opt.main([str(folder / "in.mlir"), *flags])
