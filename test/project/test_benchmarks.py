"""Benchmarks against peers: what they compare gives the same, what does not is left out, and runs can be compared."""

from __future__ import annotations

import csv
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from conftest import ROOT

FOLDER = ROOT / "benchmarks"


@pytest.fixture
def operations(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """`benchmarks/operations.py` as a module."""
    monkeypatch.syspath_prepend(FOLDER)
    import operations

    return operations


@pytest.mark.parametrize("features", [None, 4])
def test_numpy_gives_the_same(operations: ModuleType, features: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    from cases import Point

    point = Point("tiny", components=5, mean=3, features=features, huge=features is None)
    rows = list(operations.rows_of(point, 1, [], 1))
    ours = [row.operation for row in rows if row.candidate == "ours"]
    assert ours == list(dict.fromkeys(row.operation for row in rows))
    without = {"concat", "attention"}
    assert {row.operation for row in rows if row.candidate == "numpy"} == set(ours) - without
    assert "numpy left out" not in capsys.readouterr().err
    assert operations.table(rows).count("\n") == len(ours) + 3


def test_what_differs_is_left_out(operations: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    from cases import Case, Point

    x = np.arange(4, dtype=np.float32)
    peers = {
        "wrong": ("1", {"sum": lambda case: lambda: x + 1}),
        "wide": ("1", {"sum": lambda case: lambda: x.astype(np.float64)}),
        "failing": ("1", {"sum": lambda case: lambda: 1 / 0}),
        "without": ("1", {}),
        "right": ("1", {"sum": lambda case: lambda: x.copy()}),
    }
    assert list(operations._candidates("sum", Case(Point()), lambda: x, peers)) == ["ours", "right"]
    told = capsys.readouterr().err
    assert "wrong left out: values that differ" in told
    assert "wide left out: float64 for float32" in told
    assert "failing left out: ZeroDivisionError" in told


def test_runs_are_compared(tmp_path: Path) -> None:
    for name, ours in (("before", 2.0), ("after", 1.0)):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["operation", "point", "threads", "candidate", "least"])
            writer.writerows([["sum", "base", 1, "ours", ours], ["sum", "base", 1, "numpy", 3.0]])
    command = [sys.executable, FOLDER / "compare.py", tmp_path / "before.csv", tmp_path / "after.csv"]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told == "  2.00 times as fast: sum, base, 1 threads\n1 rows; what did not change varies from 1.00 to 1.00\n"
