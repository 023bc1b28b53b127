"""How long compiling for GPUs takes: `python benchmarks/compile_latency.py [--arch sm_90]`.

Warm, in one process: from a program's text to the PTX of its kernels. Cold: from the start of a Python
process to the first result of the emulator, with nothing in the compile cache. Least of several.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from common import load
from gpu_artifacts import sources

from ragged_dialect.asm.module import load_module
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.translate import kernels_to_llvm
from ragged_dialect.lowering.pipelines import gpu_pipeline
from ragged_dialect.ptx import emit

TARGET_WARM = 0.1
"""Seconds per kernel that we want at most."""

TARGET_COLD = 1.5
"""Seconds to the first result that we want at most."""

_COLD = ("scale", "segmented_softmax", "segmented_sum")
_CHILD = """
import sys
import numpy as np
from ragged_dialect import compile
function = compile(open(sys.argv[1]).read(), target="emulator")
values, offsets = np.ones((100, 64), np.float32), np.array([0, 10, 10, 100])
print(function(values, offsets, *map(float, sys.argv[2:])).sum())
"""


class Warm(NamedTuple):
    """Seconds of the passes, of the translation to LLVM IR and of making PTX; how many kernels."""

    passes: float
    translation: float
    ptx: float
    kernels: int

    @property
    def total(self) -> float:
        """Seconds from text to PTX."""
        return self.passes + self.translation + self.ptx


def warm(text: str, arch: str) -> Warm:
    """Compile a program once."""
    start = time.perf_counter()
    module = load_module(text, context(), "<program>")
    for stage in gpu_pipeline():
        stage.run(module, verify=False)
    lowered = time.perf_counter()
    llvm_ir = kernels_to_llvm(module)
    translated = time.perf_counter()
    kernels = emit(llvm_ir, arch).count(".visible .entry")
    return Warm(lowered - start, translated - lowered, time.perf_counter() - translated, kernels)


def cold(path: Path, repetitions: int) -> float:
    """Seconds of a process that compiles a program and runs it in the emulator."""
    factor = ["2"] if path.stem == "scale" else []
    times: list[float] = []
    for _ in range(repetitions):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", _CHILD, str(path), *factor], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return min(times)


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    parser = argparse.ArgumentParser(description="Times from programs to PTX, and to the emulator's first result.")
    parser.add_argument("--arch", default="sm_90", help="architecture (default: sm_90)")
    parser.add_argument("--repetitions", type=int, default=5, help="per time (default: 5)")
    options = parser.parse_args(argv)
    os.environ["RAGGED_CACHE"] = "0"
    print(f"{options.arch}, least of {options.repetitions}; {load()}\n")
    titles = ("kernels", "passes", "LLVM IR", "PTX", "total", "per kernel")
    print(f"{'ms, warm':20}{''.join(f'{title:>11}' for title in titles)}   target {1e3 * TARGET_WARM:.0f}")
    for path in sources():
        warm(path.read_text(), options.arch)
        best = min((warm(path.read_text(), options.arch) for _ in range(options.repetitions)), key=lambda w: w.total)
        seconds = (best.passes, best.translation, best.ptx, best.total, best.total / max(1, best.kernels))
        print(f"{path.stem:20}{best.kernels:11}{''.join(f'{1e3 * x:11.1f}' for x in seconds)}")
    print(f"\n{'ms to a result, cold':20}{'':11}   target {1e3 * TARGET_COLD:.0f}")
    for path in sources():
        if path.stem in _COLD:
            print(f"{path.stem:20}{1e3 * cold(path, options.repetitions):11.0f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
