"""How long compiling for GPUs takes: `python benchmarks/compile_latency.py [--arch sm_90]`.

Warm, in one process: what `compile(target="gpu")` does from a program's text to PTX, with nothing in the
compile cache. `compile` is the whole of it, the columns before are its longest parts. The kernels have
32-bit indices where they may; `64-bit` is what the first launch with a buffer of 2**30 elements or more
waits for beside. The driver, which makes machine code of PTX, is not in any column. Times are the
processor's: compiling takes one thread, so they are what passes on a machine that does nothing else.

Cold: from the start of a Python process to the first result of the emulator, with nothing in the compile
cache. Least of several.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from common import duration, load
from gpu_artifacts import sources

from ragged_dialect.asm.module import load_module
from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.dialect import context
from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, narrow_kernels_to_llvm, narrow_names
from ragged_dialect.lowering.pipelines import gpu_pipeline
from ragged_dialect.ptx import emit

TARGET_WARM = 0.1
"""Seconds of `compile` per kernel that we want at most."""

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
    """Seconds of the passes, of the translation to LLVM IR, of making PTX, of all that `compile` does and
    of doing it again for 64-bit indices; how many kernels."""

    passes: float
    translation: float
    ptx: float
    compile: float
    wide: float
    kernels: int

    @property
    def per_kernel(self) -> float:
        """Seconds of `compile` per kernel."""
        return self.compile / max(1, self.kernels)


def warm(text: str, arch: str) -> Warm:
    """Compile a program once in parts, and once for each width of indices."""
    start = time.process_time()
    module = load_module(text, context(), "<program>")
    for stage in gpu_pipeline():
        stage.run(module, verify=False)
    lowered = time.process_time()
    llvm_ir = (narrow_kernels_to_llvm if narrow_names(module) else kernels_to_llvm)(module)
    translated = time.process_time()
    kernels = emit(llvm_ir, arch).count(".visible .entry")
    emitted = time.process_time()
    whole, wide = (_whole(text, KernelOptions(narrow=narrow, arch=arch)) for narrow in (True, False))
    return Warm(lowered - start, translated - lowered, emitted - translated, whole, wide, kernels)


def _whole(text: str, kernels: KernelOptions) -> float:
    start = time.process_time()
    device_program(load_program(text), kernels)
    return time.process_time() - start


def best(text: str, arch: str, repetitions: int) -> Warm:
    """The least of every column."""
    found = [warm(text, arch) for _ in range(1 + repetitions)]
    return Warm(*(min(column) for column in zip(*found, strict=True)))


def cold(path: Path, repetitions: int) -> float:
    """Seconds of a process that compiles a program and runs it in the emulator."""
    command = [sys.executable, "-c", _CHILD, str(path), *(["2"] if path.stem == "scale" else [])]
    settings = {"check": True, "stdout": subprocess.DEVNULL}
    return min(duration(subprocess.run, command, **settings) for _ in range(repetitions))


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    parser = argparse.ArgumentParser(description="Times from programs to PTX, and to the emulator's first result.")
    parser.add_argument("--arch", default="sm_90", help="architecture (default: sm_90)")
    parser.add_argument("--repetitions", type=int, default=5, help="per time (default: 5)")
    options = parser.parse_args(argv)
    os.environ["RAGGED_CACHE"] = "0"
    print(f"{options.arch}, least of {options.repetitions}; {load()}\n")
    titles = ("kernels", "passes", "LLVM IR", "PTX", "compile", "per kernel", "64-bit")
    print(f"{'ms, warm':20}{''.join(f'{title:>11}' for title in titles)}   target {1e3 * TARGET_WARM:.0f} per kernel")
    for path in sources():
        it = best(path.read_text(), options.arch, options.repetitions)
        seconds = (it.passes, it.translation, it.ptx, it.compile, it.per_kernel, it.wide)
        print(f"{path.stem:20}{it.kernels:11}{''.join(f'{1e3 * x:11.1f}' for x in seconds)}")
    print(f"\n{'ms to a result, cold':20}{'':11}   target {1e3 * TARGET_COLD:.0f}")
    for path in sources():
        if path.stem in _COLD:
            print(f"{path.stem:20}{1e3 * cold(path, options.repetitions):11.0f}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
