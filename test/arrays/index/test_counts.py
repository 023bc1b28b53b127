"""`rg.bincount` beside `np.bincount` of each component."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("lengths", [[3, 0, 5, 40], [0, 0], [], [3000, 1]], ids=lambda lengths: str(len(lengths)))
def test_beside_numpy(lengths: list[int], dtype: str) -> None:
    rng = np.random.default_rng(len(lengths))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    values, weights = rng.integers(0, 7, sum(lengths)).astype(dtype), rng.random(sum(lengths))
    x = rg.from_offsets(values, offsets)
    rows = [(values[a:b], weights[a:b]) for a, b in pairwise(offsets)]
    counts = [np.bincount(row, minlength=9) for row, _ in rows]
    sums = [np.bincount(row, own, minlength=9) for row, own in rows]
    np.testing.assert_array_equal(rg.bincount(x, 9), np.reshape(counts, (-1, 9)))
    np.testing.assert_allclose(rg.bincount(x, 9, rg.like(x, weights)), np.reshape(sums, (-1, 9)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs(target: str) -> None:
    x = rg.ragged([[2, 0, 2], [], [1]])
    for count in (3, np.int64(5)):
        found = rg.jit(lambda x, count: rg.bincount(x, count), target=target)(x, count)
        np.testing.assert_array_equal(found, rg.bincount(x, count))
    np.testing.assert_array_equal(rg.bincount(x[:, 1:], 3), [[1, 0, 1], [0, 0, 0], [0, 0, 0]])
    made = rg.grad(lambda w: (rg.bincount(x, 3, w) ** 2).sum())(rg.like(x, np.array([3.0, 0.0, 3.0, 1.5])))
    assert made.tolist() == [[12.0, 0.0, 12.0], [], [3.0]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["bool", "int8", "int32"])
def test_sums_of_integers_are_int64(dtype: str) -> None:
    x = rg.ragged([[0, 0], []])
    found = rg.bincount(x, 1, rg.like(x, np.array([100, 100]).astype(dtype)))
    assert found.dtype == np.int64
    assert found.tolist() == [[2 if dtype == "bool" else 200], [0]]


@pytest.mark.parametrize("keys", [[2, 0, 2, 1], [2], []])
def test_of_a_vector(keys: list[int]) -> None:
    x, weights = np.array(keys, np.int64), np.arange(len(keys)) / 2
    for count in (rg.bincount, rg.jit(rg.bincount)):
        assert count(x, 3).tolist() == np.bincount(x, minlength=3).tolist()
        assert count(x, 3, weights).tolist() == np.bincount(x, weights, 3).tolist()


X = rg.ragged([[2, 0], [], [1]])


@pytest.mark.parametrize("count", [2**63 - 1, 2**62])
def test_more_counts_than_there_can_be(count: int) -> None:
    text = rf"bincount: level 1: expected a size below 2\*\*63, got 3 \* {count}"
    for function in (rg.bincount, rg.jit(lambda x, count: rg.bincount(x, count))):
        with pytest.raises(rg.RuntimeCheckError, match=text):
            function(X, count)
    with pytest.raises(rg.RuntimeCheckError, match="bincount: level 1: expected at least 0, got -1"):
        rg.jit(lambda x: rg.bincount(x, -1))(X)


@pytest.mark.parametrize(
    ("x", "count", "weights", "error", "text"),
    [
        (X, 2, None, rg.RangeError, "bincount: level 1, component 0: expected index in [0, 2), got 2"),
        (X - 1, 3, None, rg.RangeError, "bincount: level 1, component 0: expected index in [0, 3), got -1"),
        (X, -1, None, rg.RuntimeCheckError, "bincount: level 1: expected at least 0, got -1"),
        (X * 1.0, 3, None, rg.ArgumentError, "bincount: expected integers to count, got float64 of rank 2"),
        (X, 2.5, None, rg.ArgumentError, "bincount: expected an integer as how many there are, got float64"),
        (rg.ragged([[[1]]]), 2, None, rg.LayoutError, 'bincount: expected lists of integers, got layout "drr"'),
        (X, 3, np.ones(3), rg.LayoutError, 'bincount: expected weights of the structure of x, got layout "d"'),
        (X, 3, rg.ragged([[1.0], []]), rg.RuntimeCheckError, "bincount: level 0: expected 3 components, got 2"),
    ],
    ids=str,
)
def test_errors(x: Any, count: Any, weights: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as found:
        rg.bincount(x, count, weights)
    assert text in str(found.value)
