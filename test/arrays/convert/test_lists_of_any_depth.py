"""Nested lists of Python and back, which are cut level by level, against lists made one by one."""

from __future__ import annotations

import random
import tracemalloc
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.errors import ArgumentError


def nested(rng: random.Random, depth: int) -> list[Any]:
    """Lists of lists, some of them empty, of numbers in the end."""
    return [nested(rng, depth - 1) if depth > 1 else rng.random() for _ in range(rng.randrange(5))]


@pytest.mark.parametrize("depth", [2, 3, 4])
@pytest.mark.parametrize("seed", range(20))
def test_lists_become_arrays_and_lists_again(seed: int, depth: int) -> None:
    given = [*nested(random.Random(seed), depth), nested(random.Random(-seed - 1), depth - 1)]
    leaf: Any = 0.5
    for _ in range(depth - 1):
        leaf = [leaf]
    given.append(leaf)  # its depth is known
    made = rg.ragged(given)
    assert (made.layout.letters, made.dtype) == ("d" + "r" * (depth - 1), np.float64)
    assert made.tolist() == given
    assert [part.tolist() for part in made] == given


@pytest.mark.parametrize("row", [(), (3,), (2, 2)])
def test_arrays_of_rows(row: tuple[int, ...]) -> None:
    arrays = [np.random.default_rng(n).random((n, *row)) for n in (2, 0, 3)]
    made = rg.ragged(arrays)
    assert made.tolist() == [a.tolist() for a in arrays]
    assert all(part.shape == a.shape for part, a in zip(made, arrays, strict=True))
    assert rg.ragged([arrays, arrays[1:]]).tolist() == [[a.tolist() for a in arrays], [a.tolist() for a in arrays[1:]]]


@pytest.mark.parametrize(
    ("given", "dtype", "values"),
    [
        ([[1, 2], [3]], np.int64, [1, 2, 3]),
        ([[1, 2.5], [3]], np.float64, [1.0, 2.5, 3.0]),
        ([[True], [False, True]], np.bool_, [True, False, True]),
        ([[True], [2]], np.int64, [1, 2]),
        ([(1, 2), [3]], np.int64, [1, 2, 3]),
        ([[], []], np.float64, []),
        ([[2**62], [-1]], np.int64, [2**62, -1]),
    ],
)
def test_dtypes_are_those_of_numpy(given: list[Any], dtype: type, values: list[Any]) -> None:
    made = rg.ragged(given)
    assert made.dtype == dtype
    assert np.asarray(made.values).tolist() == values


@pytest.mark.parametrize(
    "given", [[[1], [[2]]], [[[1]], [2]], [[1, "a"]], [[1], 2], [[1, None]], [np.ones(2), [[1.0]]]]
)
def test_what_is_no_list_of_one_depth_is_refused(given: list[Any]) -> None:
    with pytest.raises(ArgumentError, match=r"^(ragged: )?expected"):
        rg.ragged(given)


def test_lists_are_in_one_place_only() -> None:
    made = rg.take(rg.ragged([[[1], [2, 3]], [[4]]]), np.array([0, 0, 1])).tolist()
    made[0][0].append(9)
    assert made == [[[1, 9], [2, 3]], [[1], [2, 3]], [[4]]]
    rows = rg.take(rg.ragged([np.ones((1, 2)), np.zeros((2, 2))]), np.array([0, 0])).tolist()
    rows[0][0].append(9)
    assert rows == [[[1, 1, 9]], [[1, 1]]]
    parts = rg.ragged([[1, 2, 3], [4]])[:, 1:].tolist()
    assert parts == [[2, 3], []]


def test_few_components_of_many() -> None:
    """What windows do not show becomes no list."""
    x = rg.from_lengths(np.zeros(10**6), np.full(1000, 1000))
    tracemalloc.start()
    try:
        assert [len(part) for part in rg.take(x, np.array([5, 7])).tolist()] == [1000, 1000]
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()


def test_windows_at_any_level() -> None:
    x = rg.ragged([[np.ones((2, 2)), np.zeros((1, 2))], [], [np.full((1, 2), 3.0)]])
    assert rg.take(x, np.array([2, 1, 2])).tolist() == [[[[3, 3]]], [], [[[3, 3]]]]
    assert x[:, 1:].tolist() == [[[[0, 0]]], [], []]
    assert x[:, :, 1:].tolist() == [[[[1, 1]], []], [], [[]]]
