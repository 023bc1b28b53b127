"""`np.logaddexp.accumulate`: beside NumPy's of each component, where parts are far below others or infinite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

INF, NAN = np.inf, np.nan
ROWS = [
    [1.0, 2.0, -800.0, 3.0], [], [-INF, -INF, 5.0, -INF], [-900.0, -901.0, 0.0, 800.0], [INF, 1.0], [NAN, 1.0], [-INF],
    [1.0, -INF, INF, 2.0], [0.5],
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_each_component(dtype: Any, target: str) -> None:
    x = rg.ragged(ROWS).astype(dtype)
    made = rg.jit(lambda x: np.logaddexp.accumulate(x, axis=1), target=target)(x)
    error = 8 * np.finfo(dtype).eps
    with np.errstate(invalid="ignore"):
        for found, row in zip(made, ROWS, strict=True):
            wanted = np.logaddexp.accumulate(np.array(row, dtype)) if row else np.zeros(0)
            np.testing.assert_allclose(found, wanted, rtol=error, atol=error)


def test_features_and_integers() -> None:
    values = np.random.default_rng(0).standard_normal((9, 3)) * 30
    made = np.logaddexp.accumulate(rg.from_lengths(values, [4, 0, 5]), axis=1)
    for found, part in zip(made, np.split(values, [4, 4]), strict=True):
        np.testing.assert_allclose(found, np.logaddexp.accumulate(part, axis=0) if len(part) else part, rtol=1e-13)
    whole = np.logaddexp.accumulate(rg.ragged([[1, 2], [3]]), axis=1)
    np.testing.assert_allclose(whole.values, [1, np.logaddexp(1, 2), 3], rtol=1e-14)


def test_all_of_a_component() -> None:
    x = rg.ragged(ROWS)
    with np.errstate(invalid="ignore"):
        wanted = [np.logaddexp.reduce(np.array(row)) for row in ROWS]
    np.testing.assert_allclose(np.logaddexp.reduce(x, axis=1), wanted, rtol=1e-13)
    whole = rg.ragged([[1, 2, 3], [4]])
    chosen = np.logaddexp.reduce(whole, axis=1, where=whole != 2, initial=0.0)
    np.testing.assert_allclose(chosen, [np.logaddexp.reduce([1, 3, 0]), np.logaddexp(4, 0)], rtol=1e-13)


def test_the_gradient_is_that_of_each_log_of_sums() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.standard_normal((2, 12)) * 20
    x = rg.from_lengths(values, [4, 0, 8])
    by = rg.like(x, weights)
    made = rg.grad(lambda x: (np.logaddexp.accumulate(x, axis=1) * by).sum())(x).values
    for low, high in ((0, 4), (4, 12)):
        wanted = np.zeros(high - low)
        for t in range(low, high):
            shares = np.exp(values[low : t + 1] - values[low : t + 1].max())
            wanted[: t + 1 - low] += weights[t] * shares / shares.sum()
        np.testing.assert_allclose(made[low:high], wanted, rtol=1e-10, atol=1e-13)
    nothing = rg.grad(lambda x: np.logaddexp.accumulate(x, axis=1).sum())(rg.ragged([[-INF, 1.0], [-INF]]))
    assert nothing.tolist() == [[0.0, 1.0], [0.0]]
