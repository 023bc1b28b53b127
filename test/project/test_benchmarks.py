"""Benchmarks against peers: what they compare gives the same, what does not is left out, and runs can be compared."""

from __future__ import annotations

import csv
import importlib
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
    import common
    import operations

    monkeypatch.setattr(common, "_WARM", 0)
    return operations


@pytest.mark.sampled(2)
@pytest.mark.parametrize("features", [None, 4])
def test_numpy_gives_the_same(operations: ModuleType, features: int | None, capsys: pytest.CaptureFixture[str]) -> None:
    from cases import Point

    point = Point("tiny", components=5, mean=3, features=features, huge=features is None)
    rows = list(operations.rows_of(point, 1, [], 1))
    ours = [row.operation for row in rows if row.candidate == "ours"]
    assert ours == list(dict.fromkeys(row.operation for row in rows))
    without = {
        "any",
        "log_softmax",
        "logsumexp",
        "recurrence",
        "roll",
        "sum where",
        "concat",
        "attention",
        "one query",
        "top_k",
        "moe",
        "moe, skewed",
    }
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


def test_a_run_as_tables(tmp_path: Path) -> None:
    """A copy takes 1 ms at `base` and 0.01 at `tiny`; no peer has the second operation."""
    run = tmp_path / "run.csv"
    times = {("sum", "base"): (1.05, 2.1), ("sum", "tiny"): (0.05, 0.04), ("roll", "base"): (3.0, None)}
    with run.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["operation", "point", "threads", "candidate", "least", "copy"])
        for (operation, point), (ours, best) in times.items():
            copy = 1.0 if point == "base" else 0.01
            writer.writerow([operation, point, 1, "ours", ours, copy])
            writer.writerows([] if best is None else [[operation, point, 1, name, best, copy] for name in "ab"])
        writer.writerow(["sum", "base", 2, "ours", 0.5, 1.0])
    command = [sys.executable, FOLDER / "points.py", run]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert lines[0::2][:2] == ["| | base | tiny |", "| sum | (2) | *0.8* |"]
    assert lines[3] == "| roll | – |  |"
    assert "The geometric mean of 2 ratios is 1.26; a peer is ahead in 1." in lines
    assert "Of 1 that take 0.1 ms and more 1 are 1.5 or more, or within 10% of a copy;" in lines


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "smaller", "arguments", "row"),
    [
        ("training", {"LAYERS": 1, "SEQUENCES": 3, "MEAN": 4.0}, ["--features", "8"], "| 8 | "),
        ("recurrent", {"MEAN": 4.0}, ["--sizes", "3,4,4"], "| 3,4,4 | training | "),
    ],
)
def test_a_training_step(
    name: str,
    smaller: dict[str, float],
    arguments: list[str],
    row: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With peers, where they are installed, losses and gradients are found equal before they are timed."""
    monkeypatch.syspath_prepend(FOLDER)
    monkeypatch.setenv("RAGGED_NUM_THREADS", "1")
    benchmark = importlib.import_module(name)
    for constant, number in smaller.items():
        monkeypatch.setattr(benchmark, constant, number)
    monkeypatch.setattr("common._WARM", 0)
    monkeypatch.setattr(sys, "argv", [name, *arguments, "--repetitions", "1"])
    benchmark.main()
    assert row in capsys.readouterr().out


@pytest.mark.slow
def test_the_model_of_experts_on_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(FOLDER)
    scaling = importlib.import_module("expert_scaling")
    link = scaling.Network(latency=1e-3, bandwidth=1e6, rounds=2)
    assert link.seconds(0, 0) == 0
    assert link.seconds(3, 750_000) == pytest.approx(2 * 3 * 1e-3 + 0.75)
    assert scaling.between(8, 8e6) == scaling.NEAR.seconds(7, 7e6)
    assert scaling.between(16, 16e6) == scaling.FAR.seconds(8, 8e6)
    assert scaling.predicted(1.0, 4.0, 1) == 6.0
    assert scaling.predicted(1.0, 4.0, 4) == 4.5  # half a second of the ways is not hidden
    assert scaling.HERE.load(4, 0.0) == pytest.approx(1.0)
    assert scaling.HERE.load(4, 1.0) > 1.3
    table = scaling.compare([1, 2], [1, 2], 1).splitlines()[2:]
    assert [row.split("|")[1:3] for row in table[2:]] == [[f" {r} ", f" {c} "] for r in (1, 2) for c in (1, 2)]
    for skew in (0.0, 1.0):
        cells = [row.split("|")[2:-1] for row in scaling.curves(4096, skew, 1).splitlines()[2:]]
        shares = np.array(cells, float)
        assert shares.shape == (3, 6)
        assert (shares <= 1).all()
        assert (np.diff(shares) <= 0).all()
