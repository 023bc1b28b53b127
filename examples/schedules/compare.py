"""One program under three schedules, each a script of the transform dialect: time on the CPU, counts in the PTX.

python examples/schedules/compare.py
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np

import ragged_dialect as rg
from ragged_dialect.asm.module import load_module, print_module
from ragged_dialect.compiler.stages import ptx
from ragged_dialect.dialect import context
from ragged_dialect.lowering.stage import Stage

HERE = Path(__file__).parent
COUNTED = {
    "kernels": r"\.visible \.entry",
    "loads": r"ld\.global",
    "stores": r"st\.global",
    "barriers": r"bar(rier)?\.sync",
}


def scheduled(script: str | None) -> str:
    """The program, with the settings of a script on its loop nests."""
    module = load_module((HERE / "program.mlir").read_text(), context())
    text = "ragged-to-llvm-pipeline{to=ragged}"
    if script is not None:
        text += f",ragged-transform-interpreter{{library={HERE / script}.mlir}}"
    Stage("schedule", text).run(module)
    return print_module(module)


def milliseconds(function: object, arguments: tuple[np.ndarray, ...], calls: int) -> float:
    """The shortest of some calls."""
    times: list[float] = []
    for _ in range(calls):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return 1e3 * min(times)


def main(rows: int = 1 << 16, calls: int = 20) -> dict[str | None, dict[str, int]]:
    """Print a line per schedule; the counts of each."""
    rng = np.random.default_rng(0)
    offsets = np.unique(np.r_[0, rng.integers(0, rows, 500), rows])
    values = rng.standard_normal((rows, 64), dtype=np.float32)
    arguments = (values, offsets, rng.standard_normal((len(offsets) - 1, 64), dtype=np.float32))
    counts: dict[str | None, dict[str, int]] = {}
    wanted = None
    for script in (None, "blocks", "mixed", "serial"):
        program = scheduled(script)
        function = rg.compile(program)
        wanted = wanted or function(*arguments)
        for got, want in zip(function(*arguments), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
        code = ptx(program, "sm_90")
        counts[script] = {name: len(re.findall(pattern, code)) for name, pattern in COUNTED.items()}
        shown = ", ".join(f"{count} {name}" for name, count in counts[script].items())
        print(f"{script or 'none':8} CPU {milliseconds(function, arguments, calls):6.2f} ms; PTX: {shown}")
    return counts


if __name__ == "__main__":
    main()
