"""A run of `operations.py` as tables: `python benchmarks/points.py run.csv`.

A line for each operation and a column for each point, on one page: how many times the time of the best peer is ours. In
brackets where we take at most 1.1 times a copy of as many bytes as are read and written; in italics where the loop
takes less than 0.1 ms, which calls are a large part of; a dash where no peer gives the same.
"""

from __future__ import annotations

import argparse
import csv
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

_SHORT = 0.1
"""Milliseconds below which a call's overhead counts."""

_WIDE = 10
"""Columns of a table."""


@dataclass(frozen=True)
class Cell:
    """Milliseconds of an operation at a point: ours, of the best peer and of a copy."""

    ours: float
    best: float | None
    copy: float

    @property
    def ratio(self) -> float | None:
        """How many times our time the best peer takes."""
        return None if self.best is None else self.best / self.ours

    def __str__(self) -> str:
        if self.ratio is None:
            return "–"
        text = f"{self.ratio:.2g}" if self.ratio < 100 else f"{self.ratio:.0f}"
        text = f"({text})" if self.ours <= 1.1 * self.copy else text
        return f"*{text}*" if self.ours < _SHORT else text


def read(path: Path, threads: int) -> dict[tuple[str, str], Cell]:
    """The cells of a run on some threads, by operation and point."""
    times: dict[tuple[str, str], dict[str, float]] = defaultdict(dict)
    copies: dict[tuple[str, str], float] = {}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if int(row["threads"]) == threads:
                key = row["operation"], row["point"]
                times[key][row["candidate"]] = float(row["least"])
                copies[key] = float(row["copy"])
    found: dict[tuple[str, str], Cell] = {}
    for key, own in times.items():
        ours = own.pop("ours")
        found[key] = Cell(ours, min(own.values(), default=None), copies[key])
    return found


def tables(cells: dict[tuple[str, str], Cell]) -> str:
    """Markdown: operations by points, some points at a time."""
    operations, points = (list(dict.fromkeys(key[k] for key in cells)) for k in (0, 1))
    lines: list[str] = []
    for first in range(0, len(points), _WIDE):
        some = points[first : first + _WIDE]
        lines += [f"| | {' | '.join(some)} |", "|---" * (len(some) + 1) + "|"]
        for operation in operations:
            own = [cells.get((operation, point)) for point in some]
            if any(own):
                lines.append(f"| {operation} | {' | '.join(str(cell or '') for cell in own)} |")
        lines.append("")
    return "\n".join(lines)


def summary(cells: dict[tuple[str, str], Cell]) -> str:
    """How many are ahead, and which operations are not."""
    ratios = [cell.ratio for cell in cells.values() if cell.ratio is not None]
    mean, ahead = float(np.exp(np.mean(np.log(ratios)))), sum(ratio < 1 for ratio in ratios)
    long = {key: cell for key, cell in cells.items() if cell.ratio is not None and cell.ours >= _SHORT}
    behind = {key: cell for key, cell in long.items() if (cell.ratio or 0) < 1.5 and cell.ours > 1.1 * cell.copy}
    lines = [
        f"The geometric mean of {len(ratios)} ratios is {mean:.2f}; a peer is ahead in {ahead}.",
        f"Of {len(long)} that take 0.1 ms and more {len(long) - len(behind)} are 1.5 or more, or within 10% of a copy;",
        "the others are",
        "",
        "| | of | ratios |",
        "|---|---|---|",
    ]
    for operation in sorted({key[0] for key in behind}, key=lambda name: -sum(key[0] == name for key in behind)):
        own = sorted(cell.ratio or 0 for key, cell in behind.items() if key[0] == operation)
        count = sum(key[0] == operation for key in long)
        lines.append(f"| {operation} | {len(own)} of {count} | {own[0]:.2f} to {own[-1]:.2f} |")
    return "\n".join(lines)


def main() -> None:
    """Print the tables of a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="what `operations.py --csv` wrote")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    cells = read(options.run, options.threads)
    print(tables(cells), summary(cells), sep="\n")


if __name__ == "__main__":
    main()
