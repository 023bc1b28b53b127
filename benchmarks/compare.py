"""What changed between two runs of `operations.py`: `python benchmarks/compare.py before.csv after.csv`.

A change of ours counts where it is larger than what the peers, whose code did not change, show from run to run: the
tenth and ninetieth percentile of their ratios.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

Key = tuple[str, str, str, str]


def read(path: Path) -> dict[Key, float]:
    """Least times by operation, point, threads and candidate."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {(r["operation"], r["point"], r["threads"], r["candidate"]): float(r["least"]) for r in rows}


def main() -> None:
    """Print what is faster or slower than noise, then how much was compared."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    options = parser.parse_args()
    before, after = read(options.before), read(options.after)
    ratios = {key: before[key] / after[key] for key in before if key in after}
    peers = [ratio for key, ratio in ratios.items() if key[3] != "ours"]
    if not peers:
        raise SystemExit("expected times of the same peers in both files, got none")
    low, high = np.quantile(peers, (0.1, 0.9))
    ours = sorted((ratio, key) for key, ratio in ratios.items() if key[3] == "ours")
    for ratio, (operation, point, threads, _) in ours:
        if not low <= ratio <= high:
            print(f"{ratio:6.2f} times as fast: {operation}, {point}, {threads} threads")
    print(f"{len(ours)} rows; what did not change varies from {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    main()
