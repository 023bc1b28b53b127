"""What the benchmarks share: interleaved timing, processes with numbers of threads, the bandwidth of a copy, lengths of
components."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
import timeit
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

THREADS = ("RAGGED_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
           "POLARS_MAX_THREADS", "TF_NUM_INTRAOP_THREADS")  # fmt: skip
"""Variables that libraries read once, when they are loaded: every number of threads is a process of its own."""

_WARM = 0.05
"""Seconds. OpenBLAS's threads spin for 2^26 cycles after a call, which is 32 ms at 2.1 GHz, and others not as long."""


class Times(NamedTuple):
    """Seconds of one candidate."""

    least: float
    median: float


def duration(call: Callable[..., object], *arguments: Any, **named: Any) -> float:
    """The time of one call."""
    start = time.perf_counter()
    call(*arguments, **named)
    return time.perf_counter() - start


def interleave(candidates: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, Times]:
    """Time candidates in turn, so that what else the machine does meets all of them alike; the order changes from
    round to round. One round before is not counted, and before every call that is there are some that are not:
    candidates that share an allocator would find their memory in the cache, and others theirs at the end of it; and
    threads of the candidate before spin for a while."""
    found: dict[str, list[float]] = {name: [] for name in candidates}
    names = list(candidates)
    for round_ in range(repetitions + 1):
        for name in names if round_ % 2 else reversed(names):
            end = time.perf_counter() + _WARM
            candidates[name]()
            while time.perf_counter() < end:
                candidates[name]()
            elapsed = duration(candidates[name])
            if round_:
                found[name].append(elapsed)
    return {name: Times(min(times), float(np.median(times))) for name, times in found.items()}


def compared(steps: Mapping[str, Callable[[], object]], repetitions: int) -> str:
    """Cells of a table: the least milliseconds of the first of some candidates, then of each other one, and how many
    times as long that is."""
    first, *others = (1e3 * times.least for times in interleave(steps, repetitions).values())
    return " | ".join([f"{first:.1f}", *(f"{other:.1f} ({other / first:.1f})" for other in others)])


def microseconds(call: Callable[[], object], calls: int = 1000, repeats: int = 30) -> float:
    """The best time of a short call."""
    call()
    return min(timeit.repeat(call, number=calls, repeat=repeats)) / calls * 1e6


def measured(threads: Iterable[int]) -> Iterator[list[str]]:
    """The lines of CSV that this program writes, as they come, in a process for each number of threads, which it has as
    `--child`."""
    for count in threads:
        environment = os.environ | dict.fromkeys(THREADS, str(count))
        command = [sys.executable, *sys.argv, "--child", str(count)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            yield from csv.reader(child.stdout or ())
        if child.returncode:  # a library may end the process, or want more memory than there is
            print(f"# {count} threads: ended with code {child.returncode}, not all was measured", file=sys.stderr)


def copy_bandwidth(size: int, repetitions: int = 15) -> float:
    """Bytes read and written per second by a copy of `size` bytes on one thread."""
    source, target = np.ones(size, np.uint8), np.empty(size, np.uint8)
    times = interleave({"copy": lambda: np.copyto(target, source)}, repetitions)["copy"]
    return 2 * size / times.least


def lognormal_lengths(count: int, mean: float, sigma: float, seed: int = 0) -> Array:
    """Component lengths of a lognormal distribution with a mean."""
    rng = np.random.default_rng(seed)
    return np.rint(rng.lognormal(np.log(mean) - sigma**2 / 2, sigma, count)).astype(np.int64)


def read_lengths(path: Path) -> Array:
    """Component lengths from a file, one integer a line."""
    try:
        lengths = np.array([int(line) for line in path.read_text().split()], np.int64)
    except ValueError as error:
        raise SystemExit(f"{path}: expected one integer a line: {error}") from None
    if not lengths.size or lengths.min() < 0:
        raise SystemExit(f"{path}: expected at least one length, and none below 0")
    return lengths


def describe(lengths: Array) -> str:
    """One line about component lengths."""
    return (
        f"{lengths.size} components, {lengths.sum()} rows; lengths: min {lengths.min()}, mean {lengths.mean():.1f}, "
        f"median {np.median(lengths):.0f}, max {lengths.max()}, {int((lengths == 0).sum())} empty"
    )


def load() -> str:
    """The load of the machine, which the times should be read with."""
    return f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
