"""What one thread does from start to end: a block has many of such."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.device_model import DEVICE
from ragged_dialect.emulator import Emulator


def _running(x: rg.RaggedArray) -> np.ndarray:
    return np.concatenate([np.cumsum(part) for part in x])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "f8"])
def test_running_sums_of_components(dtype: str) -> None:
    rng = np.random.default_rng(0)
    found = rg.jit(lambda x: x.cumsum(1), target="emulator")
    for lengths in ([0], [3], [0, 300, 1, 0, 129], rng.integers(0, 9, 1000), [0] * 64 + [1], [2] * 64):
        x = rg.from_lengths(rng.integers(-4, 5, int(np.sum(lengths))).astype(dtype), lengths)
        np.testing.assert_array_equal(found(x).values, [] if not len(x.values) else _running(x))


def test_last_rows_first() -> None:
    lengths, weights = [0, 3, 0, 400, 297, 0], np.arange(700.0) % 5
    gradient = rg.grad(lambda x: (x.cumsum(1) * rg.from_lengths(weights, lengths)).sum())
    made = rg.jit(gradient, target="emulator")(rg.from_lengths(np.arange(700.0), lengths))
    flipped = [np.cumsum(part[::-1])[::-1] for part in rg.from_lengths(weights, lengths)]
    np.testing.assert_array_equal(made.values, np.concatenate(flipped))


@pytest.mark.parametrize(
    ("function", "iterations"),
    [
        (lambda x: rg.from_lengths(x, x % 3).cumsum(1), 6400),
        (lambda x: rg.group_by(x % 3, 3), 6400 // DEVICE.grouped_keys),
    ],
)
def test_blocks_have_many(function: Any, iterations: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists, and parts of the keys that are counted."""
    blocks: list[int] = []
    launch = Emulator.launch

    def noted(self: Emulator, kernel: str, grid: Any, *rest: Any, **others: Any) -> Any:
        blocks.append(int(grid[0]))
        return launch(self, kernel, grid, *rest, **others)

    monkeypatch.setattr(Emulator, "launch", noted)
    rg.jit(function, target="emulator")(np.ones(6400, np.int64))
    assert max(blocks) <= iterations // DEVICE.fewest_threads + 2
