"""Segmented sum and softmax against NumPy: `python benchmarks/segments.py [--lengths FILE]`.

On one thread, float32: the sum of every component's rows, and the softmax of every component over
its rows, for each feature. NumPy's sum is `add.reduceat`; its softmax is `maximum.reduceat`,
`repeat`, `exp`, `add.reduceat` and a division, vectorised over all components. Ratios are of the
medians. `memory` is the time a copy would need for the bytes that must be read and written once.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import Array, Times, copy_bandwidth, describe, interleave, load, lognormal_lengths, read_lengths

from ragged_dialect import compile

_PROGRAM = """
#l = #ragged.layout<"dr|d">
!ragged = tensor<?x?x{width}xf32, #l>
func.func @sum(%values: tensor<?x{width}xf32>, %offsets: tensor<?xi64>) -> tensor<?x{width}xf32> {{
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = ragged.partition %values, %offsets {{dim = 0}} : (tensor<?x{width}xf32>, tensor<?xi64>) -> !ragged
  %n = tensor.dim %x, %c0 : !ragged
  %e = tensor.empty(%n) : tensor<?x{width}xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x{width}xf32>) -> tensor<?x{width}xf32>
  %r = linalg.reduce {{ arith.addf }} ins(%x : !ragged) outs(%i : tensor<?x{width}xf32>) dimensions = [1]
  return %r : tensor<?x{width}xf32>
}}
func.func @softmax(%values: tensor<?x{width}xf32>, %offsets: tensor<?xi64>) -> tensor<?x{width}xf32> {{
  %x = ragged.partition %values, %offsets {{dim = 0}} : (tensor<?x{width}xf32>, tensor<?xi64>) -> !ragged
  %e = ragged.empty %x : (!ragged) -> !ragged
  %y = linalg.softmax dimension(1) ins(%x : !ragged) outs(%e : !ragged) -> !ragged
  %r = ragged.merge %y {{dim = 0}} : (!ragged) -> tensor<?x{width}xf32>
  return %r : tensor<?x{width}xf32>
}}
"""


def numpy_sum(values: Array, offsets: Array) -> Array:
    """Sum of the rows of every component; none of them is empty."""
    return np.add.reduceat(values, offsets[:-1], axis=0)


def numpy_softmax(values: Array, offsets: Array) -> Array:
    """Softmax over the rows of every component; none of them is empty."""
    starts, lengths = offsets[:-1], np.diff(offsets)
    out = values - np.repeat(np.maximum.reduceat(values, starts, axis=0), lengths, axis=0)
    np.exp(out, out=out)
    out /= np.repeat(np.add.reduceat(out, starts, axis=0), lengths, axis=0)
    return out


def row(name: str, times: dict[str, Times], limit: float, error: float) -> str:
    """One line of the table, in milliseconds."""
    ours, numpy = times["ours"], times["numpy"]
    cells = (ours.least, ours.median, numpy.least, numpy.median, limit)
    numbers = "".join(f"{1e3 * seconds:10.3f}" for seconds in cells)
    return f"{name:10}{numbers}{numpy.median / ours.median:9.1f}{ours.least / limit:9.1f}{error:10.1e}"


def run(lengths: Array, width: int, repetitions: int, check: bool) -> None:
    """Print the table for some component lengths."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.random.default_rng(1).standard_normal((int(offsets[-1]), width), np.float32)
    # reduceat has no answer for empty components, which are a small part of the work
    filled = np.unique(offsets)
    bandwidth = copy_bandwidth(max(values.nbytes, 1 << 24))
    print(f"{describe(lengths)}; {width} features, {values.nbytes / 2**20:.1f} MiB; {load()}")
    print(f"copy {bandwidth / 1e9:.1f} GB/s; milliseconds, one thread, {repetitions} repetitions\n")
    titles = ("ours min", "median", "NumPy min", "median", "memory", "NumPy/", "/memory", "error")
    print(f"{'':10}{''.join(f'{t:>10}' for t in titles[:5])}{titles[5]:>9}{titles[6]:>9}{titles[7]:>10}")
    text = _PROGRAM.format(width=width)
    peers: dict[str, Callable[[Array, Array], Any]] = {"sum": numpy_sum, "softmax": numpy_softmax}
    moved = {"sum": values.nbytes + lengths.size * width * 4, "softmax": 2 * values.nbytes}
    for name, peer in peers.items():
        function = compile(text, entry=name, check=check)
        got = function(values, offsets)
        got = got[lengths > 0] if name == "sum" else got
        error = float(abs(got - peer(values.astype(np.float64), filled)).max(initial=0.0))
        candidates = {"ours": lambda f=function: f(values, offsets), "numpy": lambda f=peer: f(values, filled)}
        print(row(name, interleave(candidates, repetitions), moved[name] / bandwidth, error))


def main(argv: list[str] | None = None) -> int:
    """Run the benchmark; the exit code."""
    parser = argparse.ArgumentParser(description="Segmented sum and softmax against NumPy, on one thread.")
    parser.add_argument("--components", type=int, default=1024, help="how many (default: 1024)")
    parser.add_argument("--mean", type=float, default=64, help="mean length, lognormal (default: 64)")
    parser.add_argument("--sigma", type=float, default=0.5, help="sigma of the lengths' logarithm (default: 0.5)")
    parser.add_argument("--width", type=int, default=64, help="features of a row (default: 64)")
    parser.add_argument("--lengths", type=Path, action="append", metavar="FILE", help="one length a line, repeatable")
    parser.add_argument("--repetitions", type=int, default=31, help="per candidate (default: 31)")
    parser.add_argument("--no-check", action="store_true", help="without run-time checks")
    options = parser.parse_args(argv)
    os.environ["RAGGED_NUM_THREADS"] = "1"
    given = [read_lengths(path) for path in options.lengths or ()]
    for lengths in given or [lognormal_lengths(options.components, options.mean, options.sigma)]:
        run(lengths, options.width, options.repetitions, not options.no_check)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
