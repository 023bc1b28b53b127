"""Time of a whole `ragged-opt` process on a small file: `python benchmarks/opt_startup.py`.

`python` is the interpreter alone, `bindings` importing MLIR and making a context, `--version` the
tool without input; the others parse and print the example of attention pooling, without a pass and
through passes. Milliseconds of wall time, from start to exit.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from common import interleave, load

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "examples" / "attention_pooling.mlir"
OPT = ("-m", "ragged_dialect.tools.ragged_opt")
COMMANDS = {
    "python": ("-c", "pass"),
    "bindings": ("-c", "from ragged_dialect._mlir import ir; ir.Context()"),
    "--version": (*OPT, "--version"),
    "no pass": (*OPT, str(FILE)),
    "generic": (*OPT, "--mlir-print-op-generic", str(FILE)),
    "--cse": (*OPT, "--cse", str(FILE)),
    "--ragged-canonicalize": (*OPT, "--ragged-canonicalize", str(FILE)),
    "--convert-ragged-to-scf": (*OPT, "--convert-ragged-to-scf", str(FILE)),
}


def process(arguments: tuple[str, ...]) -> Callable[[], object]:
    """Runs an interpreter."""
    command = [sys.executable, *arguments]
    return lambda: subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)


def main(argv: list[str] | None = None) -> int:
    """Print one line per command; the exit code."""
    parser = argparse.ArgumentParser(description="Time of a whole ragged-opt process on a small file.")
    parser.add_argument("--repetitions", type=int, default=15, help="per command (default: 15)")
    options = parser.parse_args(argv)
    times = interleave({name: process(arguments) for name, arguments in COMMANDS.items()}, options.repetitions)
    print(f"milliseconds, {options.repetitions} repetitions; {load()}\n\n{'':24}{'min':>8}{'median':>8}")
    for name, found in times.items():
        print(f"{name:24}{1e3 * found.least:8.0f}{1e3 * found.median:8.0f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
