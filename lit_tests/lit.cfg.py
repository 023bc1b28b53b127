"""lit configuration: `lit lit_tests` runs every .mlir file with the tools of this checkout."""

# ruff: noqa: F821  (lit provides `config`)

import sys
from pathlib import Path

import lit.formats

here = Path(__file__).resolve().parent
root = here.parent

config.name = "ragged"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["Inputs"]
config.test_source_root = str(here)
config.test_exec_root = str(root / "build" / "lit")
config.environment["PYTHONPATH"] = str(root)


def command(name: str, replacement: str) -> None:
    """Replace a command's name where it stands alone, not in paths or flags."""
    config.substitutions.append((rf"(?<![\w./-]){name}(?![\w./-])", replacement))


for tool in ("opt", "run", "translate"):
    command(f"ragged-{tool}", f"{sys.executable} -m ragged_dialect.tools.ragged_{tool}")
command("FileCheck", str(Path(sys.executable).parent / "filecheck"))
