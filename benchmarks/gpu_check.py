"""Checks and times compiled programs on a GPU: `python benchmarks/gpu_check.py build/gpu --out DIR`.

The folder has what `gpu_artifacts.py` made, where MLIR was; this needs NumPy and CuPy, and takes PyTorch
when it is there. Every program runs on random data with components of many lengths, in memory that was
full of NaN, and is compared with NumPy. Then it is timed with CUDA events, beside a copy of the same
bytes on the same device. Exit code 1 when something differs.
"""

from __future__ import annotations

import argparse
import importlib.util
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gpu_cases import CASES, Case
from gpu_problems import KINDS, Problem
from gpu_report import environment, markdown, write
from gpu_timing import launch_seconds, measure
from gpu_verify import LONGEST, verify, verify_refusal

ROWS = (0, 1, 31, 1000, 65_537, 1 << 20, (1 << 23) + 5, 1 << 26)
TIMED_ROWS = (1 << 16, 1 << 20, 1 << 24)
TIMED_KINDS = ("equal", "zipf", "short")
_REPETITIONS = 30
_ROOM = 2
"""Memory that a program may take, over the bytes that it must move."""


def load(folder: Path, name: str) -> Any:
    """A program's module. SystemExit where it is missing."""
    path = folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"gpu_artifact_{name}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise SystemExit(f"{path}: expected a program made by benchmarks/gpu_artifacts.py, got none")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def sizes(case: Case, rows: list[int], seed: int) -> Iterator[Problem]:
    """Problems for a program, small ones first."""
    for number in sorted(rows):
        if not number:
            yield Problem.of("none", 0, seed)
        for kind in KINDS:
            if number <= LONGEST or kind != "one":
                problem = Problem.of(kind, number, seed)
                if case.fits(problem):
                    yield problem


def lacking(cupy: Any, case: Case, problem: Problem) -> str | None:
    """Why a problem is too large for the device; None when it is not."""
    needed, (free, _) = _ROOM * case.bytes(problem), cupy.cuda.Device().mem_info
    return f"needs {needed >> 20} MiB, {free >> 20} are free" if needed > free else None


def verified(cupy: Any, case: Case, module: Any, rows: list[int], seed: int) -> Iterator[dict[str, Any]]:
    """One entry per problem, and one for bad offsets."""
    for problem in sizes(case, rows, seed):
        cupy.get_default_memory_pool().free_all_blocks()
        skipped = lacking(cupy, case, problem)
        wrong = None if skipped else verify(cupy, case, module, problem)
        yield _entry(case, problem.kind, problem.rows, wrong, skipped)
    if case.bad_offsets >= 0:
        yield _entry(case, "decreasing", 1000, verify_refusal(cupy, case, module, seed), None)


def _entry(case: Case, lengths: str, rows: int, wrong: str | None, skipped: str | None) -> dict[str, Any]:
    verdict = f"WRONG: {wrong}" if wrong else f"left out: {skipped}" if skipped else "agrees"
    print(f"{case.name:20} {lengths:10} {rows:10} rows  {verdict}", flush=True)
    return {"program": case.name, "lengths": lengths, "rows": rows, "wrong": wrong, "skipped": skipped}


def timed(cupy: Any, case: Case, module: Any, rows: list[int], seed: int, repetitions: int) -> Iterator[dict[str, Any]]:
    """One entry per problem that the program and the device have room for."""
    for number in rows:
        for kind in TIMED_KINDS:
            problem = Problem.of(kind, number, seed)
            cupy.get_default_memory_pool().free_all_blocks()
            if case.fits(problem) and lacking(cupy, case, problem) is None:
                line = measure(cupy, case, module, problem, repetitions)
                print(f"{case.name:20} {kind:10} {number:10} rows  {1e6 * line['ours']['median']:.1f} us", flush=True)
                yield line


def check(cupy: Any, options: argparse.Namespace) -> dict[str, Any]:
    """Run everything; the results, which are written after every program: a run may be cut off."""
    seed = secrets.randbits(32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    results: dict[str, Any] = {"environment": environment(cupy), "seed": seed, "verified": [], "measured": []}
    results["launch"] = launch_seconds(cupy, options.repetitions)
    for case in CASES:
        if options.only and case.name not in options.only:
            continue
        module = load(options.folder, case.name)
        results["verified"] += verified(cupy, case, module, options.rows, seed)
        if not any(line["wrong"] for line in results["verified"] if line["program"] == case.name):
            results["measured"] += timed(cupy, case, module, options.timed_rows, seed, options.repetitions)
        if options.out:
            write(results, options.out)
    return results


def parse(argv: list[str] | None) -> argparse.Namespace:
    """The options."""
    parser = argparse.ArgumentParser(description="Checks and times compiled programs on a GPU.")
    parser.add_argument("folder", type=Path, help="what gpu_artifacts.py made")
    parser.add_argument("--out", type=Path, help="folder for the results (default: they are printed only)")
    parser.add_argument("--only", nargs="+", metavar="PROGRAM", help="some of the programs")
    parser.add_argument("--rows", type=int, nargs="*", default=list(ROWS), help="rows to compare with NumPy on")
    parser.add_argument("--timed-rows", type=int, nargs="*", default=list(TIMED_ROWS), help="rows to time; none: skip")
    parser.add_argument("--repetitions", type=int, default=_REPETITIONS, help=f"per time (default: {_REPETITIONS})")
    parser.add_argument("--seed", type=int, help="of the random data (default: a fresh one, which is printed)")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run the checks; the exit code."""
    options = parse(argv)
    try:
        import cupy
    except ImportError as error:
        raise SystemExit(f"gpu_check: expected CuPy, got: {error}") from None
    try:
        cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise SystemExit(f"gpu_check: expected a GPU, got: {error}") from None
    results = check(cupy, options)
    print(markdown(results))
    return int(any(line["wrong"] for line in results["verified"]))


if __name__ == "__main__":
    raise SystemExit(main())
