"""What components have as sets: NumPy's functions of each component are the reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.refusals import refused

import ragged_dialect as rg

LENGTHS = [5, 0, 1, 40, 0, 3, 700, 2]
SETS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "union": (rg.union, np.union1d),
    "intersection": (rg.intersection, np.intersect1d),
    "difference": (rg.difference, np.setdiff1d),
}


def pair(dtype: Any, most: int = 6) -> tuple[rg.RaggedArray, rg.RaggedArray]:
    rng = np.random.default_rng(most)
    numbers = [rng.integers(0, most, sum(LENGTHS)).astype(dtype) for _ in range(2)]
    return rg.from_lengths(numbers[0], LENGTHS), rg.from_lengths(numbers[1], LENGTHS[::-1])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i8", "i4", "i1", "?"])
@pytest.mark.parametrize("name", SETS)
def test_of_components(name: str, dtype: str) -> None:
    own, numpys = SETS[name]
    compiled = rg.jit(own)
    for a, b in (pair(dtype), pair(dtype, 100)):
        for made in (own(a, b), compiled(a, b)):
            assert made.dtype == a.dtype
            for x, y, z in zip(a, b, made, strict=True):
                np.testing.assert_array_equal(np.asarray(z), numpys(np.asarray(x), np.asarray(y)))


@pytest.mark.parametrize("name", SETS)
def test_windows_and_two_dtypes(name: str) -> None:
    own, numpys = SETS[name]
    a, b = pair("i4")
    a, b = a[:, 1:], b[:, :-1].astype(np.float64)
    for x, y, z in zip(a, b, own(a, b), strict=True):
        np.testing.assert_array_equal(np.asarray(z), numpys(np.asarray(x), np.asarray(y)))


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_what_components_contain(target: str) -> None:
    a, b = pair("i8", 12)
    made = rg.jit(rg.contains, target=target)(a, b)
    for x, y, z in zip(a, b, made, strict=True):
        np.testing.assert_array_equal(np.asarray(z), np.isin(np.asarray(y), np.asarray(x)))
    one, several = np.arange(len(LENGTHS)), np.arange(3 * len(LENGTHS)).reshape(-1, 3)
    sets = [set(part.tolist()) for part in a]
    assert rg.contains(a, one).tolist() == [k in own for k, own in zip(one.tolist(), sets, strict=True)]
    wanted = [[k in own for k in row] for row, own in zip(several.tolist(), sets, strict=True)]
    assert rg.contains(a, several).tolist() == wanted


def test_lists_of_lists() -> None:
    a, b = rg.ragged([[[3, 1, 3], []], [], [[2, 5]]]), rg.ragged([[[3], [4]], [], [[7, 5, 5]]])
    assert rg.contains(a, b).tolist() == [[[True], [False]], [], [[False, True, True]]]
    assert rg.intersection(a, b).tolist() == [[[3], []], [], [[5]]]
    assert rg.union(a, b).tolist() == [[[1, 3], [4]], [], [[2, 5, 7]]]
    assert rg.difference(a[:, :, 1:], b).tolist() == [[[1], []], [], [[]]]


def test_what_is_no_number_is_no_other() -> None:
    a, b = rg.ragged([[np.nan, 1.0]]), rg.ragged([[1.0, np.nan]])
    assert rg.contains(a, b).tolist() == [[True, False]]
    assert rg.intersection(a, b).tolist() == [[1.0]]
    np.testing.assert_array_equal(rg.union(a, b).values, [1.0, np.nan])


test_refused = refused(
    [
        (
            lambda: rg.contains(np.arange(3), rg.ragged([[1]])),
            rg.LayoutError,
            'contains: expected the last dim of lists of numbers, got dim 0 of layout "d"',
        ),
        (
            lambda: rg.contains(rg.ragged([[[1], []]]), np.ones(1)),
            rg.LayoutError,
            "contains: expected a number or a list for each innermost list, got float64 of rank 1",
        ),
        (
            lambda: rg.contains(rg.ragged([[[1], []]]), rg.ragged([[1]])),
            rg.RuntimeCheckError,
            "expected length 2, got 1",
        ),
        (lambda: rg.intersection(rg.ragged([[1], [2]]), rg.ragged([[1]])), rg.RuntimeCheckError, "expected extent"),
        (lambda: rg.union(rg.ragged([[1], [2]]), rg.ragged([[1]])), rg.RuntimeCheckError, "expected extent"),
    ]
)


def test_few_numbers_are_compared_with_all_elements() -> None:
    """No list is sorted for them, nor are more than a few compared so."""
    x = rg.ragged([[1, 2, 2], [], [7]])
    for count, sorts in ((1, 0), (32, 0), (33, 1)):
        looked_for = np.arange(3 * count).reshape(3, count)
        wanted = [np.isin(row, own).tolist() for row, own in zip(looked_for, x, strict=True)]
        assert rg.contains(x, looked_for).tolist() == wanted
        assert str(rg.jit(rg.contains).lower(x, looked_for).stages["ragged"]).count("ragged.sort ") == sorts


def test_a_number_for_each_innermost_list() -> None:
    x = rg.ragged([[[3, 1], []], [], [[5, 1, 5]]], dtype=np.int64)
    numbers = rg.ragged([[1, 3], [], [5]])
    assert rg.contains(x, numbers).tolist() == [[True, False], [], [True]]
    assert rg.contains(x[::-1], numbers[::-1]).tolist() == [[True], [], [True, False]]
    assert rg.searchsorted(rg.sort(x, axis=2), numbers).tolist() == [[0, 0], [], [1]]
    assert rg.jit(rg.searchsorted)(rg.sort(x, axis=2), numbers).tolist() == [[0, 0], [], [1]]
