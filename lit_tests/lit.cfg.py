"""lit configuration: `lit lit_tests` runs every .mlir file with the tools of this checkout."""

# ruff: noqa: F821  (lit provides `config`)

import atexit
import subprocess
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


warm = here / "warm.py"
tools = ["ragged-opt=ragged_dialect.tools.ragged_opt,ragged_dialect.tools.driver", "filecheck=filecheck.main"]
server = subprocess.Popen(
    [sys.executable, warm, "serve", *tools],
    env=config.environment,
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
atexit.register(server.communicate)
sockets = server.stdout.readline().rstrip()

for tool in ("run", "translate"):
    command(f"ragged-{tool}", f"{sys.executable} -m ragged_dialect.tools.ragged_{tool}")
command("ragged-opt", f"{sys.executable} -I -S {warm} {sockets}/ragged-opt")
command("FileCheck", f"{sys.executable} -I -S {warm} {sockets}/filecheck")
