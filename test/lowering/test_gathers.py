"""What is folded, scanned and computed of numbers that a table has at the ids of components, as vectors gather it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.cpu_features import levels, mask

import ragged_dialect as rg

RNG = np.random.default_rng(0)
LENGTHS = np.array([*range(42), 0, 0, 200, 1, 8, 9])
ROWS = 100

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda t, x: t.sum(axis=1),
    "dot": lambda t, x: (t * x).sum(axis=1),
    "maximum": lambda t, x: t.max(axis=1),
    "place of the maximum": lambda t, x: np.argmax(t, axis=1),
    "running sum": lambda t, x: np.cumsum(t, axis=1),
    "elements": lambda t, x: np.where(t > x, t - x, x),
    "about the maximum": lambda t, x: (t - t.max(axis=1, keepdims=True)) * x,
}
"""Of what is looked up, and of elements of the components."""


def numbers(dtype: str, count: int) -> Any:
    """Numbers of which sums are exact."""
    return RNG.integers(-3, 4, count).astype(dtype)


@pytest.mark.sampled(160)
@pytest.mark.parametrize("level", levels("host", "no AVX-512"))
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("ids", ["int32", "int64"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "int32", "int64"])
def test_as_a_loop_over_components(
    name: str, ids: str, dtype: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask(level, monkeypatch)
    total, function = int(LENGTHS.sum()), FUNCTIONS[name]
    table, x = numbers(dtype, ROWS), rg.from_lengths(numbers(dtype, total), LENGTHS)
    places = rg.from_lengths(RNG.integers(-ROWS, ROWS, total).astype(ids), LENGTHS)
    found = rg.jit(lambda table, places, x: function(rg.take(table, places), x))(table, places, x)
    assert found.dtype == function(rg.take(table, places), x).dtype
    for one, at, own, length in zip(found, places, x, LENGTHS, strict=True):
        if length:
            expected = function(table[np.asarray(at)][None], np.asarray(own)[None])[0]
            np.testing.assert_array_equal(np.asarray(one), expected.astype(found.dtype))


@pytest.mark.parametrize("id_", [ROWS, -ROWS - 1, 2**40])
def test_nothing_is_read_out_of_range(id_: int) -> None:
    ids = RNG.integers(0, ROWS, int(LENGTHS.sum()))
    ids[-1] = id_
    pooled = rg.jit(lambda table, ids: rg.take(table, ids).sum(axis=1))
    with pytest.raises(rg.RangeError, match=str(id_)):
        pooled(numbers("float32", ROWS), rg.from_lengths(ids, LENGTHS))


ROW_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sum": lambda rows, x: rows.sum(axis=1),
    "maximum": lambda rows, x: rows.max(axis=1),
    "weighted": lambda rows, x: (rows * x[..., None]).sum(axis=1),
}
"""Of rows that are looked up, and of an element for each."""


@pytest.mark.sampled(60)
@pytest.mark.parametrize("level", levels("host", "no AVX-512", "SSE2"))
@pytest.mark.parametrize("name", ROW_FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "int64"])
@pytest.mark.parametrize("columns", [2, 3, 4, 5, 7, 8, 9])
def test_rows_of_a_few_columns(
    columns: int, dtype: str, name: str, level: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    mask(level, monkeypatch)
    total, function = int(LENGTHS.sum()), ROW_FUNCTIONS[name]
    table = numbers(dtype, ROWS * columns).reshape(ROWS, columns)
    x = rg.from_lengths(numbers(dtype, total), LENGTHS)
    places = rg.from_lengths(RNG.integers(-ROWS, ROWS, total), LENGTHS)
    found = rg.jit(lambda table, places, x: function(rg.take(table, places), x))(table, places, x)
    for one, at, own, length in zip(found, places, x, LENGTHS, strict=True):
        if length:
            expected = function(table[np.asarray(at)][None], np.asarray(own)[None])[0]
            np.testing.assert_array_equal(one, expected.astype(found.dtype))
