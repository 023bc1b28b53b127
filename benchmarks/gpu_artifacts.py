"""Builds what `gpu_check.py` runs: `python benchmarks/gpu_artifacts.py [--target sm_90] [-o build/gpu]`.

One Python file per program of `benchmarks/gpu/` and of the examples that are ragged in earnest. They
need NumPy and CuPy only; what else `gpu_check.py` takes is beside it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from ragged_dialect.artifacts import gpu_module
from ragged_dialect.errors import RaggedError

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ("attention_pooling", "ragged_attention")


def sources() -> list[Path]:
    """The programs; each has one function."""
    return [*sorted((ROOT / "benchmarks" / "gpu").glob("*.mlir")), *(ROOT / "examples" / f"{n}.mlir" for n in EXAMPLES)]


def build(folder: Path, target: str) -> list[Path]:
    """Write one module per program. RaggedError as `ragged-compile` has it."""
    folder.mkdir(parents=True, exist_ok=True)
    return [gpu_module.write(path.read_text(), None, folder / f"{path.stem}.py", arch=target) for path in sources()]


def main(argv: list[str] | None = None) -> int:
    """Build them all; the exit code."""
    parser = argparse.ArgumentParser(description="Builds the programs that gpu_check.py runs on a GPU.")
    parser.add_argument("--target", default="sm_90", help="architecture (default: sm_90)")
    parser.add_argument("-o", dest="output", type=Path, default=ROOT / "build" / "gpu", help="default: build/gpu")
    options = parser.parse_args(argv)
    try:
        for path in build(options.output, options.target):
            print(path)
    except RaggedError as error:
        raise SystemExit(f"gpu_artifacts: {error}") from None
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
