"""Where elements belong in vectors that are in order: `np.searchsorted` is the reference."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.components import array, components
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 17, 1)
SIDES = ("left", "right")


@pytest.mark.sampled(32)
@pytest.mark.parametrize("size", [0, 1, 2, 7, 64, 1000])
@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "i8", "f2", "f4", "f8"])
@pytest.mark.parametrize("side", SIDES)
def test_equal_to_numpys(side: str, dtype: str, size: int) -> None:
    rng = np.random.default_rng(size)
    table, x = np.sort(rng.integers(0, 9, size).astype(dtype)), array(LENGTHS, (), "f4")
    x = (x * 6 + 4).astype(dtype)
    got = rg.searchsorted(table, x, side=side)
    assert got.dtype == np.int64
    np.testing.assert_array_equal(got.values, np.searchsorted(table, np.asarray(x.values), side))
    np.testing.assert_array_equal(np.searchsorted(table, x, side).values, got.values)


@pytest.mark.parametrize("side", SIDES)
def test_what_is_no_number_belongs_behind_all(side: str) -> None:
    table, values = np.array([1.0, 2.0, np.nan, np.nan]), np.array([0.0, 1.0, 3.0, np.nan, np.inf, -np.inf])
    got = rg.searchsorted(table, rg.from_lengths(values, [2, 4]), side=side)
    np.testing.assert_array_equal(got.values, np.searchsorted(table, values, side))


def test_of_dense_arrays_numbers_and_other_dtypes() -> None:
    table = np.array([1, 2, 3])
    np.testing.assert_array_equal(rg.searchsorted(table, np.array([[0.5, 2.5], [3.0, 9.0]])), [[0, 2], [2, 3]])
    assert rg.searchsorted(table, 2.5) == 2
    assert rg.searchsorted(table, 2, side="right") == 2
    assert rg.searchsorted(table, rg.from_lengths(np.array([2.5], np.float32), [1])).tolist() == [[2]]


@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs(target: str) -> None:
    x, table = array(LENGTHS), np.linspace(-1, 1, 9)
    got = rg.jit(lambda t, x: (x * 0.5).sum(1) + rg.searchsorted(t, x).sum(1), target=target)(table, x)
    expected = [(c * np.float32(0.5)).sum(0) + np.searchsorted(table, c).sum(0) for c in components(x)]
    np.testing.assert_allclose(got, expected, 1e-5)
    gradient = rg.grad(lambda x: (x * rg.searchsorted(table, x)).sum())(x)
    np.testing.assert_array_equal(gradient.values, np.searchsorted(table, np.asarray(x.values)))


@pytest.mark.parametrize("right", [False, True])
def test_bins(right: bool) -> None:
    x, bins = array(LENGTHS), np.array([-1.0, 0.0, 0.25, 1.0])
    got = np.digitize(x, bins, right=right)
    np.testing.assert_array_equal(got.values, np.digitize(np.asarray(x.values), bins, right=right))


def test_members() -> None:
    x = rg.from_lengths(np.array([3, 1, 4, 1, 5, 9, 2, 6]), [3, 0, 5])
    for test in (np.array([1, 9]), [5, 1.0, 2.5], np.array([[3, 1], [2, 2]]), np.array([], int), 4, x[:1]):
        own = np.asarray(test.values) if isinstance(test, rg.RaggedArray) else test
        np.testing.assert_array_equal(np.isin(x, test).values, np.isin(np.asarray(x.values), own))
        np.testing.assert_array_equal(np.isin(x, test, invert=True).values, ~np.isin(np.asarray(x.values), own))
    floats = rg.from_lengths(np.array([np.nan, 1.0, np.inf]), [3])
    assert np.isin(floats, [np.nan, np.inf]).tolist() == [[False, False, True]]
    halves = np.array([-3, -np.inf, np.nan, -1], ml_dtypes.bfloat16)
    assert np.isin(rg.ragged([[3], [-1, -2, -3]]), halves).tolist() == [[False], [True, False, True]]
    traced = rg.jit(lambda x, t: np.isin(x, t))(x, np.array([9, 3, 1]))
    np.testing.assert_array_equal(traced.values, np.isin(np.asarray(x.values), [9, 3, 1]))


def test_interpolation_beside_infinite_numbers() -> None:
    rng, some = np.random.default_rng(0), [0, 1, 2, np.inf, -np.inf, 0.5]
    for _ in range(60):
        count = int(rng.integers(1, 5))
        xp, fp = np.sort(rng.choice(some, count, replace=False)), rng.choice([*some, np.nan], count)
        x = rng.choice([*some, np.nan, 3], 6)
        with np.errstate(invalid="ignore"):
            wanted = np.interp(x, xp, fp)
        np.testing.assert_array_equal(np.interp(rg.from_lengths(x, [6]), xp, fp).values, wanted)
    with pytest.raises(rg.ArgumentError, match=r"np.interp: expected points, got none"):
        np.interp(rg.ragged([[1.0]]), np.zeros(0), np.zeros(0))


LEAST, MOST = -(1 << 63), (1 << 63) - 1


@pytest.mark.parametrize(
    "test", [[7, -5], [LEAST], [MOST, MOST - 3], [LEAST, MOST], [0, 1 << 15], [0, 1 << 16]], ids=str
)
@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
def test_members_that_are_near_each_other(test: list[int], dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = rg.from_lengths(np.array([7, -5, 0, limits.min, limits.max, limits.max - 3, 1], dtype), [3, 0, 4])
    for isin in (np.isin, rg.jit(lambda x: np.isin(x, test))):
        found = isin(x, test) if isin is np.isin else isin(x)
        assert found.values.tolist() == np.isin(np.asarray(x.values), test).tolist()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("bounds", [{}, {"left": -9.0, "right": 9.0}], ids=str)
@pytest.mark.parametrize("is_jit", [False, True])
def test_interpolation(bounds: dict[str, float], is_jit: bool) -> None:
    def interp(x: Any, xp: Any, fp: Any) -> Any:
        return np.interp(x, xp, fp, **bounds)

    function, rng, lengths = rg.jit(interp) if is_jit else interp, np.random.default_rng(0), [3, 1, 7, 2]
    points = np.concatenate([np.sort(rng.permutation(9)[:n]) for n in lengths]).astype(np.float64)
    xp, fp = rg.from_lengths(points, lengths), rg.from_lengths(rng.standard_normal(13), lengths)
    x = rg.from_lengths(np.array([-1, 0, 1.5, 2, 8, 9, np.nan, 4, 3.25, 7, 8.5]), [4, 0, 6, 1])
    dense = rng.random((4, 5)) * 10 - 1
    found = [(function(x, xp, fp), x), (function(dense, xp, fp), dense)]
    for made, at in found:
        for own, *component in zip(made, at, xp, fp, strict=True):
            np.testing.assert_allclose(np.asarray(own), np.interp(*map(np.asarray, component), **bounds), rtol=1e-12)
    line = np.asarray(xp[2]), np.asarray(fp[2])
    np.testing.assert_allclose(function(x, *line).values, np.interp(np.asarray(x.values), *line, **bounds), rtol=1e-12)
    assert function(x.astype(np.float32), xp.astype(np.float32), fp.astype(np.float32)).dtype == np.float32


@pytest.mark.sampled(8)
@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_each_component_by_itself(side: str, target: str, dtype: str) -> None:
    search = rg.jit(lambda a, v: rg.searchsorted(a, v, side=side), target=target)
    for lengths, wanted in (([3, 0, 7, 1, 40], [2, 5, 0, 3, 9]), ([0, 0], [1, 2]), ([], [])):
        rng = np.random.default_rng(0)
        a = rg.sort(rg.from_lengths(rng.integers(0, 20, sum(lengths)).astype(dtype), lengths), axis=1)
        batch = len(lengths)
        lists = rg.from_lengths(rng.integers(0, 20, sum(wanted)).astype(dtype), wanted)
        for v in (lists, lists.values[:batch], rng.integers(0, 20, (batch, 3)).astype(dtype), lists[:, ::-1]):
            found = search(a, v)
            expected = [np.searchsorted(np.asarray(x), np.asarray(y), side).tolist() for x, y in zip(a, v, strict=True)]
            assert found.tolist() == expected
            assert found.dtype == np.int64


REFUSED: list[Refusal] = [
    (
        lambda x: rg.searchsorted(x, x),
        ValueError,
        'searchsorted: expected a dense vector or lists of numbers to search, got float32 of rank 3 and layout "dr|d"',
    ),
    (
        lambda x: rg.searchsorted(np.zeros((2, 2)), x),
        ValueError,
        "searchsorted: expected a dense vector or lists of numbers to search, got float64 of rank 2",
    ),
    (
        lambda x: rg.searchsorted(np.zeros(2), x, side="middle"),
        TypeError,
        "searchsorted: expected 'left' or 'right' for side, got 'middle'",
    ),
    (
        lambda x: np.digitize(x, 3),
        ValueError,
        "searchsorted: expected a dense vector or lists of numbers to search, got int64 of rank 0",
    ),
    (
        lambda x: rg.searchsorted(x[:, :, 0], 3),
        ValueError,
        "searchsorted: expected a number for each component to search for, got int64 of rank 0",
    ),
    (
        lambda x: rg.searchsorted(x[:, :, 0], np.zeros(2)),
        rg.RuntimeCheckError,
        "searchsorted: dim 0: expected extent ",
    ),
    (lambda x: np.digitize(x, [2.0, 1.0]), TypeError, "np.digitize: expected bins in ascending order, got others"),
]
test_refused = refused(REFUSED, lambda: array(LENGTHS))


@pytest.mark.parametrize("side", SIDES)
def test_lists_of_lists(side: str) -> None:
    """Each innermost one is searched for what that of the other has."""

    def expected(a: Any, v: Any) -> list[Any]:
        both = zip(a.tolist(), v.tolist(), strict=True)
        return [[np.searchsorted(*one, side).tolist() for one in zip(*lists, strict=True)] for lists in both]

    a, v = rg.ragged([[[1, 3, 3], []], [], [[2, 5]]]), rg.ragged([[[3, 9], [4]], [], [[]]])
    assert rg.searchsorted(a, v, side=side).tolist() == expected(a, v)
    made = rg.jit(lambda a, v: rg.searchsorted(a[:, :, 1:], v[:, :, :1], side=side))(a, v)
    assert made.tolist() == expected(a[:, :, 1:], v[:, :, :1])
    with pytest.raises(rg.RuntimeCheckError, match=r"^searchsorted: level 1, component 0: expected length 2, got 1$"):
        rg.searchsorted(a, rg.ragged([[[1]], [], [[2]]]))
