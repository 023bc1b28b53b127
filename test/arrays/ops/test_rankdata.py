"""`rg.rankdata` beside `scipy.stats.rankdata` of each component, and beside ranks counted in a loop."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.refusals import refused

import ragged_dialect as rg

METHODS = ("average", "min", "max", "dense", "ordinal")
LENGTHS = [5, 0, 1, 40, 0, 3, 700]


def ranks(x: np.ndarray, method: str) -> list[float]:
    """Of each element by how many are less, or equal, or equal and before it."""
    less = [(x < one).sum() for one in x]
    equal = [(x == one).sum() for one in x]
    if method == "ordinal":
        return [a + (x[:k] == x[k]).sum() + 1 for k, a in enumerate(less)]
    if method == "dense":
        return [len(set(x[x < one].tolist())) + 1 for one in x]
    counted = {"min": lambda a, b: a + 1, "max": lambda a, b: a + b, "average": lambda a, b: a + (b + 1) / 2}
    return [counted[method](a, b) for a, b in zip(less, equal, strict=True)]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", ml_dtypes.bfloat16, "i8", "i1", "?"])
def test_of_components(dtype: Any, method: str) -> None:
    rng = np.random.default_rng(len(method))
    x = rg.from_lengths(rng.integers(-3, 4, sum(LENGTHS)).astype(dtype), LENGTHS)
    made = rg.rankdata(x, method=method)
    assert made.dtype == (np.float64 if method == "average" else np.int64)
    assert made.tolist() == [ranks(np.asarray(part).astype(np.float64), method) for part in x]


@pytest.mark.parametrize("method", METHODS)
def test_beside_scipys(method: str) -> None:
    stats = pytest.importorskip("scipy.stats")
    x = rg.from_lengths(np.random.default_rng(1).integers(0, 9, sum(LENGTHS)), LENGTHS)
    made = rg.jit(lambda x: rg.rankdata(x, axis=1, method=method))(x)
    for part, own in zip(x, made, strict=True):
        np.testing.assert_array_equal(np.asarray(own), stats.rankdata(np.asarray(part), method=method))


@pytest.mark.parametrize("method", METHODS)
def test_lists_of_lists_and_windows(method: str) -> None:
    x = rg.ragged([[[9, 1, 1], [3]], [], [[2, 2]]])
    for given in (x, x[:, :, 1:]):
        wanted = [[ranks(np.array(row, np.int64), method) for row in rows] for rows in given.tolist()]
        assert rg.rankdata(given, method=method).tolist() == wanted


def test_what_is_no_number_is_behind_all() -> None:
    x = rg.ragged([[np.nan, 1.0, np.nan, np.inf]])
    assert rg.rankdata(x).tolist() == [[3.5, 1.0, 3.5, 2.0]]
    assert rg.rankdata(x, method="dense").tolist() == [[3, 1, 3, 2]]


test_refused = refused(
    [
        (
            lambda: rg.rankdata(rg.ragged([[1]]), method="first"),
            rg.ArgumentError,
            "rankdata: expected a method of average, min, max, dense, ordinal, got 'first'",
        ),
        (
            lambda: rg.rankdata(np.ones((2, 2))),
            rg.LayoutError,
            'rankdata: expected the last dim of lists of numbers, got dim 1 of layout "d|d"',
        ),
    ]
)
