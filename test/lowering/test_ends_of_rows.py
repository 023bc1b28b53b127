"""Rows that end within a vector register, whose number of elements is known: beside NumPy, component by component."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cpu_features import levels, mask

import ragged_dialect as rg

LENGTHS = np.array([3, 0, 17, 1, 70, 2])
BOUNDS = np.r_[0, np.cumsum(LENGTHS)]


def exponentials(x: Any, axis: int) -> Any:
    made = np.exp(x - x.max(axis, keepdims=True))
    return made / made.sum(axis, keepdims=True)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "running sums of rows": (lambda x: x.cumsum(1), lambda rows: rows.cumsum(0)),
    "running maxima of rows": (lambda x: np.maximum.accumulate(x, axis=1), lambda rows: np.maximum.accumulate(rows, 0)),
    "running sums in rows": (lambda x: x.cumsum(-1), lambda rows: rows.cumsum(-1)),
    "softmax of rows": (lambda x: rg.softmax(x, 1), lambda rows: exponentials(rows, 0)),
    "softmax in rows": (lambda x: rg.softmax(x, -1), lambda rows: exponentials(rows, -1)),
    "differences in rows": (lambda x: np.diff(x, axis=-1), lambda rows: np.diff(rows, axis=-1)),
    "halves of rows": (lambda x: x[..., :6] * x[..., 6:12], lambda rows: rows[:, :6] * rows[:, 6:12]),
    "rolled rows": (lambda x: np.roll(x, 3, -1), lambda rows: np.roll(rows, 3, -1)),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("columns", [13, 15, 20, 31, 33, 48, 50, 100])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("level", levels("host", "no AVX-512"))
def test_ends_of_rows(case: str, columns: int, dtype: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    ours, numpys = CASES[case]
    values = np.random.default_rng(columns).standard_normal((LENGTHS.sum(), columns)).astype(dtype)
    found = ours(rg.from_lengths(values, LENGTHS)).values
    parts = [values[a:b].astype(np.float64) for a, b in itertools.pairwise(BOUNDS) if a < b]
    bound = 200 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, np.concatenate([numpys(rows) for rows in parts]), rtol=bound, atol=bound)
