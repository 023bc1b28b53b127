"""Operations of arrays beside peers, in one run: `python benchmarks/operations.py [--points base] [--csv FILE]`.

Every operation at a base point, along axes and at points that others measure at (`cases.py`), against each peer that
is installed (`pip install ragged-dialect[peers,bench]`), interleaved, on one thread and on all. A peer's result is
compared with ours first; one that differs in values or in dtype is named and not timed. `copy` is the time of a copy
of as many bytes as the operation has to read and write once: what memory allows.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from cases import BASE, CROSS, LISTS, Case, Point, axes, files
from common import Array, Times, duration, interleave, load, measured

POINTS: dict[str, Callable[[], Iterable[Point]]] = {"base": lambda: [BASE, LISTS], "axes": axes, "cross": lambda: CROSS}
SLOW = 2.0
"""Seconds of a call after which there are no others of a candidate."""
TOLERANCE = {"bfloat16": 1e-1, "float16": 2e-2, "float32": 1e-4, "float64": 1e-9}


@dataclass(frozen=True)
class Row:
    """A candidate's times for an operation at a point, in milliseconds."""

    operation: str
    point: str
    threads: int
    candidate: str
    version: str
    least: float
    median: float
    copy: float


def _plain(result: Any) -> Array:
    """A result as packed values."""
    return np.asarray(getattr(result, "values", result))


def _differs(ours: Array, theirs: Array) -> str:
    """What keeps two results from being the same, or nothing."""
    if ours.dtype != theirs.dtype and not (ours.dtype.kind in "iu" and theirs.dtype.kind in "iu"):
        return f"{theirs.dtype} for {ours.dtype}"
    if ours.size != theirs.size:
        return f"{theirs.size} values for {ours.size}"
    limit = TOLERANCE.get(str(ours.dtype), 0)
    ours, theirs = (x.astype(np.float64).ravel() for x in (ours, theirs))
    apart = (ours != theirs) & ~(np.isnan(ours) & np.isnan(theirs))  # equal infinities are not
    scale = float(np.abs(ours[np.isfinite(ours)]).max(initial=1))
    error = np.abs(ours[apart] - theirs[apart]).max(initial=0)
    return "" if error <= limit * scale else f"values that differ by {error / scale:.1e}"


def _candidates(operation: str, case: Case, ours: Callable[[], Any], peers: Any) -> dict[str, Callable[[], Any]]:
    """Us, and the peers that give the same."""
    found, expected = {"ours": ours}, _plain(ours())
    for name, (_, operations) in peers.items():
        try:
            call = operations[operation](case)
            problem = _differs(expected, np.asarray(call()))
        except (KeyError, NotImplementedError):  # what it has not, or not for such values
            continue
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}"
        if problem:
            print(f"# {operation}, {case.point.name}: {name} left out: {problem}", file=sys.stderr)
        else:
            found[name] = call
    return found


def _once(candidate: tuple[str, Callable[[], Any]]) -> tuple[str, float]:
    """The seconds that one call takes."""
    name, call = candidate
    return name, duration(call)


def rows_of(point: Point, threads: int, only: list[str], repetitions: int, alone: bool = False) -> Iterator[Row]:
    """Times of all operations at a point."""
    import peers  # here, as libraries read how many threads they may have when they are loaded
    from peers import ours

    case, loaded = Case(point), {} if alone else peers.load()
    for operation, prepare in ours.OPERATIONS.items():
        if only and operation not in only:
            continue
        try:
            call = prepare(case)
        except NotImplementedError as error:
            if str(error):
                print(f"# {operation}, {point.name}: left out: {error}", file=sys.stderr)
            continue
        candidates = _candidates(operation, case, call, loaded)
        moved = case.values.nbytes + _plain(call()).nbytes
        source, target = np.ones(max(moved // 2, 1), np.uint8), np.empty(max(moved // 2, 1), np.uint8)
        candidates["copy"] = lambda target=target, source=source: np.copyto(target, source)
        slow = {name: Times(once, once) for name, once in map(_once, candidates.items()) if once > SLOW}
        times = slow | interleave({n: c for n, c in candidates.items() if n not in slow}, repetitions)
        copied = times.pop("copy").least
        for name, found in times.items():
            version = "" if name == "ours" else loaded[name][0]
            milliseconds = [1e3 * value for value in (found.least, found.median, copied)]
            yield Row(operation, point.name, threads, name, version, *milliseconds)


def _measure(options: argparse.Namespace) -> None:
    """In a process with its number of threads: a line of CSV per candidate, on standard output. It has as many cores,
    as not every library can be told."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.child])
    writer = csv.writer(sys.stdout)
    for point in [*(point for name in options.points for point in POINTS[name]()), *files(options.lengths)]:
        for row in rows_of(point, options.child, options.only, options.repetitions, options.alone):
            writer.writerow([getattr(row, field.name) for field in fields(Row)])
            sys.stdout.flush()


def _row(cells: list[str]) -> Row:
    operation, point, count, candidate, version, *times = cells
    return Row(operation, point, int(count), candidate, version, *map(float, times))


def table(rows: list[Row]) -> str:
    """Markdown: ours, the best peer, how many times faster we are, and the copy."""
    lines = [
        "| operation | point | threads | ours, ms | best peer, ms | | ratio | copy, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    ratios: list[float] = []
    for row in (row for row in rows if row.candidate == "ours"):
        key = (row.operation, row.point, row.threads)
        peers = [r for r in rows if (r.operation, r.point, r.threads) == key and r.candidate != "ours"]
        best = min(peers, key=lambda r: r.least, default=None)
        ratios += [best.least / row.least] if best else []
        told = f"{best.least:.3g} | {best.candidate} | {best.least / row.least:.2f}" if best else "| | "
        lines.append(f"| {' | '.join(map(str, key))} | {row.least:.3g} | {told} | {row.copy:.3g} |")
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")
    ahead = sum(ratio < 1 for ratio in ratios)
    last = f"Geometric mean of the ratios: {mean:.2f}; a peer is ahead in {ahead} of {len(ratios)}."
    return "\n".join([*lines, "", last])


def main() -> None:
    """Measure in processes of their own, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", nargs="*", choices=list(POINTS), default=list(POINTS))
    parser.add_argument(
        "--lengths", nargs="+", type=Path, default=[], metavar="FILE", help="points with these lengths too"
    )
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATION", help="these operations alone")
    parser.add_argument("--threads", nargs="+", type=int, default=sorted({1, len(os.sched_getaffinity(0))}))
    parser.add_argument("--repetitions", type=int, default=15)
    parser.add_argument("--alone", action="store_true", help="without peers: what more threads bring")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write all times there, for compare.py")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child is not None:
        return _measure(options)
    print(f"{load()}; minimum of {options.repetitions} interleaved calls\n")
    rows: list[Row] = []
    with options.csv.open("w", newline="") if options.csv else nullcontext() as file:
        writer = csv.writer(file) if file else None
        if writer:
            writer.writerow([field.name for field in fields(Row)])
        for row in map(_row, measured(options.threads)):
            rows.append(row)
            if writer and file:  # a run takes an hour, and what was measured shall outlast one that ends early
                writer.writerow([getattr(row, field.name) for field in fields(Row)])
                file.flush()
    print(table(rows))
    return None


if __name__ == "__main__":
    main()
