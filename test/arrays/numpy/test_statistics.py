"""Means with masks and weights, norms, choices and what leaves nan out, against NumPy on the components."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import array, assert_components, components
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 1, 17, 2)


def with_nan(lengths: tuple[int, ...] = LENGTHS, dtype: str = "f8") -> Any:
    x = array(lengths, (4,), dtype)
    return np.where(x > 0.7, np.nan, x)


def assert_folds(function: Callable[..., Any], x: Any, **options: Any) -> None:
    """A function of arrays and an axis gives what NumPy gives for each component, with and without the dim."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # NumPy warns of nan alone
        for axis in (1, 2):
            expected = [function(c, axis=axis - 1, **options) for c in components(x)]
            kept = [function(c, axis=axis - 1, keepdims=True, **options) for c in components(x)]
            got, held = function(x, axis=axis, **options), function(x, axis=axis, keepdims=True, **options)
            assert got.dtype == expected[0].dtype
            for found, wanted in ((got, expected), (held, kept)):
                if axis == 1:
                    np.testing.assert_allclose(found, np.stack(wanted), 1e-6)
                else:
                    assert_components(found, wanted, 1e-6)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, np.inf, -np.inf])
def test_norms(ord: float | None, dtype: str) -> None:
    x = array(LENGTHS, (4,), "f4").astype(dtype)
    for axis in (1, 2):
        expected = [np.linalg.norm(c, ord, axis=axis - 1) for c in components(x)]
        got = np.linalg.norm(x, ord, axis=axis)
        parts = list(got) if axis == 1 else components(got)
        for found, wanted in zip(parts, expected, strict=True):
            np.testing.assert_allclose(found, wanted, 1e-5)
    if ord is None:
        np.testing.assert_allclose(np.linalg.norm(x), np.linalg.norm(x.values), 1e-5)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, np.inf])
def test_norms_of_nothing_are_0(ord: float | None) -> None:
    x = rg.ragged([[], [-3.0]])
    assert np.linalg.norm(x, ord, axis=1).tolist() == [0.0, np.linalg.norm([-3.0], ord)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0.5, -1, 0, np.inf])
def test_norms_of_integers_are_of_floats(ord: float | None) -> None:
    x = rg.ragged([[100, -128], [3, 4, 1]]).astype(np.int8)
    got = np.linalg.norm(x, ord, axis=1)
    np.testing.assert_allclose(got, [np.linalg.norm(c, ord) for c in components(x)])
    assert got.dtype == np.float64


def test_variances_of_what_is_infinite() -> None:
    assert np.isnan(np.nanvar(rg.ragged([[np.inf, np.inf], [1.0, np.inf, np.nan]]), axis=1)).all()


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    "function", [np.nansum, np.nanprod, np.nanmean, np.nanvar, np.nanstd], ids=lambda f: f.__name__
)
def test_without_nan(function: Callable[..., Any]) -> None:
    for dtype in ("f4", "f8"):
        assert_folds(function, with_nan(dtype=dtype))
    if function in (np.nanvar, np.nanstd):
        for ddof in (2, 0.5):
            assert_folds(function, with_nan(), ddof=ddof)
    with pytest.raises(rg.ArgumentError, match=rf"^np.{function.__name__}: expected no out, got one"):
        function(with_nan(), axis=1, out=np.zeros(4))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["f4", "i4", "?"])
def test_means_where_a_mask_holds(dtype: str) -> None:
    x = array(LENGTHS, (4,), dtype)
    mask = array(LENGTHS, (4,), "f4") > 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for axis in (1, 2):
            pairs = zip(components(x), components(mask), strict=True)
            expected = [np.mean(c, axis=axis - 1, where=m) for c, m in pairs]
            got = np.mean(x, axis=axis, where=mask)
            assert got.dtype == expected[0].dtype
            for found, wanted in zip(list(got) if axis == 1 else components(got), expected, strict=True):
                np.testing.assert_allclose(found, wanted, 1e-6)
    assert np.mean(x, dtype=np.float64) == pytest.approx(np.mean(x.values, dtype=np.float64))
    np.testing.assert_allclose(rg.jit(lambda x: np.mean(x, axis=1))(x), x.mean(1), 1e-6)


def test_means_with_weights() -> None:
    x, w = array(LENGTHS), np.absolute(array(LENGTHS, seed=3)) + 0.5
    pairs = list(zip(components(x), components(w), strict=True))
    np.testing.assert_allclose(np.average(x, axis=1, weights=w), [np.average(c, 0, weights=v) for c, v in pairs], 1e-5)
    expected = np.average(np.asarray(x.values), weights=np.asarray(w.values))
    np.testing.assert_allclose(np.average(x, weights=w), expected, 1e-5)
    features = np.array([0.0, 1.0, 2.0, 3.0])
    assert_components(
        np.average(x, axis=2, weights=features), [np.average(c, 1, weights=features) for c in components(x)], 1e-5
    )
    of_rows = np.absolute(array(LENGTHS, (), seed=4)) + 0.5
    pairs = list(zip(components(x), components(of_rows), strict=True))
    expected = [np.average(c, 0, weights=v) for c, v in pairs]
    np.testing.assert_allclose(np.average(x, axis=1, weights=of_rows), expected, 1e-5)
    each = np.array([1.0, 2.0, 3.0, 4.0])  # a weight for each component is none for elements, but for the mean of all
    rows = np.repeat(each, LENGTHS)[:, None] * np.ones(4)
    np.testing.assert_allclose(
        np.average(x, weights=each[:, None, None]), np.average(np.asarray(x.values), weights=rows), 1e-5
    )
    np.testing.assert_allclose(np.average(x, axis=1), x.mean(1))


def test_means_do_not_overflow() -> None:
    bytes_ = rg.ragged([[100, 100], [50]]).astype(np.int8)
    np.testing.assert_allclose(np.average(bytes_, axis=1, weights=bytes_), [100, 50])
    halves = rg.ragged([[60000.0, 60000.0], [1.0]]).astype(np.float16)
    got = np.mean(halves, axis=1, where=halves > 0)
    np.testing.assert_array_equal(got, np.array([60000, 1], np.float16))
    assert got.dtype == np.float16


def test_choices() -> None:
    x = array(LENGTHS)
    got = np.select([x > 0.5, x > 0, x > -0.5], [x, -x, 1.0], default=7.0)
    expected = [np.select([c > 0.5, c > 0, c > -0.5], [c, -c, 1.0], default=7.0) for c in components(x)]
    assert_components(got, expected)


REFUSED: list[Refusal] = [
    (lambda x: np.linalg.norm(x, axis=(1, 2)), TypeError, "np.linalg.norm: expected an axis of vectors, got (1, 2)"),
    (lambda x: np.linalg.norm(x, 1), TypeError, "np.linalg.norm: expected an axis of vectors, got None"),
    (lambda x: np.average(x, axis=(0, 1), weights=np.ones(3)), TypeError, "average: expected an integer for axis"),
    (lambda x: np.select([x > 0], ["a"]), TypeError, "np.select: expected an array or a number, got str"),
    (lambda x: np.select([x > 0], []), TypeError, "np.select: expected a choice for each of 1 conditions, got 0"),
    (lambda x: np.linalg.norm(x, "fro", axis=1), TypeError, "np.linalg.norm: expected a number for ord, got str"),
    (lambda x: np.mean(x, dtype=int), TypeError, "np.mean: expected a dtype of floats, got int64"),
    (lambda x: np.mean(x, where=x), TypeError, "np.mean: expected a mask of booleans for where, got float32"),
]
test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_averages_with_dense_weights() -> None:
    """Of which what is behind a component is not read."""
    x, w = rg.ragged([[1.0, 2.0, 3.0], [4.0]]), np.array([[1.0, 2.0, 3.0, 9.0], [5.0, 7.0, 9.0, 9.0]])
    pairs = list(zip(x.tolist(), w, strict=True))
    expected = [np.average(c, weights=v[: len(c)]) for c, v in pairs]
    for run in (lambda x, w: np.average(x, axis=1, weights=w), rg.jit(lambda x, w: np.average(x, axis=1, weights=w))):
        np.testing.assert_allclose(run(x, w), expected)
    chosen = rg.jit(lambda x, w: rg.where(True, w, x))
    assert chosen(x, w).tolist() == [v[: len(c)].tolist() for c, v in pairs]
