"""The main loop of a product on tensor cores, in machine code, beside CUTLASS's kernel of the same tile.

`python benchmarks/gpu_main_loop.py [--cutlass INCLUDE]`: no GPU takes part. Ours are products of groups in float16 with
sums in float32, as ptxas makes them; with the include folder of CUTLASS (of the package `nvidia-cutlass` it is
`cutlass_library/source/include`) and nvcc also its `device::Gemm` for sm_80 with tiles of 128 x 128 x 32, warps of
64 x 32 and 3 stages. Printed are the instructions of the innermost loop with the most products (HMMA), how many of
these are products, and that share as a multiple of CUTLASS's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import ragged_dialect as rg
from ragged_dialect.ptx.assembler import check
from ragged_dialect.ptx.sass import Loop, Sass, sass_of
from ragged_dialect.ptx.tools import require_tool

ARCH = "sm_80"
SIZES = ((1024, 64), (1024, 1024), (2048, 4096))
"""Of weights: sums of 512 are unrolled."""
_CUTLASS = """
#include "cutlass/gemm/device/gemm.h"
using namespace cutlass;
using Rows = layout::RowMajor;
using Gemm = gemm::device::Gemm<
    half_t, Rows, half_t, Rows, half_t, Rows, float, arch::OpClassTensorOp, arch::Sm80, gemm::GemmShape<128, 128, 32>,
    gemm::GemmShape<64, 32, 32>, gemm::GemmShape<16, 8, 16>,
    epilogue::thread::LinearCombination<half_t, 8, float, float>,
    gemm::threadblock::GemmIdentityThreadblockSwizzle<>, 3>;
int run(Gemm::Arguments arguments) { return int(Gemm()(arguments)); }
"""


def main_loop(kernels: list[Sass]) -> Loop:
    """The innermost loop with the most products."""
    return max((loop for kernel in kernels for loop in kernel.loops), key=lambda loop: loop.products)


def ours(k: int, n: int) -> Loop:
    """The loop of a product of rows of `k` numbers with a matrix of `k` x `n` for each group."""
    x = rg.from_lengths(np.zeros((4, k), np.float16), [1, 3])
    w = np.zeros((2, k, n), np.float16)
    ptx = rg.jit(rg.ragged_dot).lower(x, w).ptx(ARCH)
    return main_loop([report.sass for report in check(ptx, ARCH) if report.sass is not None])


def cutlass(include: Path) -> Loop:
    """That of CUTLASS."""
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = Path(folder, "gemm.cu"), Path(folder, "gemm.cubin")
        source.write_text(_CUTLASS)
        command = ["nvcc", "-std=c++17", "-O3", f"-arch={ARCH}", "-cubin", "-w", f"-I{include}", "-o", cubin, source]
        subprocess.run(command, check=True)
        listing = subprocess.run(
            [require_tool("nvdisasm"), "-c", cubin], check=True, capture_output=True, text=True
        ).stdout
    return main_loop(list(sass_of(listing).values()))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--cutlass", type=Path, metavar="INCLUDE", help="the include folder of CUTLASS")
    include = parser.parse_args().cutlass
    loops = {f"weights {k} x {n}": ours(k, n) for k, n in SIZES}
    if include is not None:
        loops["CUTLASS"] = cutlass(include)
    share = {name: loop.products / loop.instructions for name, loop in loops.items()}
    print("| | instructions | products | share | of CUTLASS's |\n|---|---|---|---|---|")
    for name, loop in loops.items():
        ratio = f"{share[name] / share['CUTLASS']:.2f}" if include is not None else ""
        print(f"| {name} | {loop.instructions} | {loop.products} | {share[name]:.2f} | {ratio} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
