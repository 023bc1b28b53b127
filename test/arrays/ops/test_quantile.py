"""`quantile`, `median` and NumPy's functions without nan, against NumPy's on the components."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ragged_dialect as rg

RNG = np.random.default_rng(0)
LENGTHS = np.array([0, 5, 1, 0, 14, 2, 300])
QS = [0.0, 0.3, 1.0]


def numbers(dtype: Any, features: tuple[int, ...] = ()) -> rg.RaggedArray:
    """Components of few different numbers."""
    return rg.from_lengths(RNG.integers(-20, 20, (int(LENGTHS.sum()), *features)).astype(dtype), LENGTHS)


def expected(function: Callable[..., Any], x: rg.RaggedArray, *arguments: Any) -> np.ndarray:
    """A function of each component, nan for an empty one."""
    wide = [np.asarray(part).astype(np.float64) for part in x]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.stack([function(p, *arguments, axis=0) if len(p) else np.full(p.shape[1:], np.nan) for p in wide])


@pytest.mark.sampled(18)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64, np.bool_])
@pytest.mark.parametrize("features", [(), (3,)])
def test_quantiles_of_components(dtype: Any, features: tuple[int, ...]) -> None:
    x = numbers(dtype, features)
    tolerance = 1e-2 if np.dtype(dtype).itemsize == 2 else 1e-6
    wanted = np.float64 if np.dtype(dtype).kind in "iub" else np.dtype(dtype)
    made = rg.median(x, axis=1)
    assert made.dtype == wanted
    np.testing.assert_allclose(made.astype(np.float64), expected(np.median, x), rtol=tolerance)
    made = rg.jit(lambda x: rg.quantile(x, 0.3, axis=1))(x)
    np.testing.assert_allclose(made.astype(np.float64), expected(np.quantile, x, 0.3), tolerance, tolerance / 10)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("features", [(), (3,)])
def test_several_are_of_one_sort_and_other_ones_of_one_program(features: tuple[int, ...]) -> None:
    x = numbers(np.float64, features)
    np.testing.assert_allclose(rg.quantile(x, QS, axis=1), [expected(np.quantile, x, q) for q in QS])
    before = rg.compilations()
    for q in (0.1, 0.7, 1, np.float32(0.25)):
        np.testing.assert_allclose(rg.quantile(x, q, axis=1), expected(np.quantile, x, q))
        np.testing.assert_allclose(rg.quantile(x, (q, 0.5), axis=1)[0], expected(np.quantile, x, q))
    assert rg.compilations() - before == 2
    traced = rg.jit(lambda x: rg.quantile(x, QS, axis=1, keepdims=True))
    sorts = [str(f.lower(x).source) for f in (traced, rg.jit(lambda x: rg.median(x, axis=1)))]
    counts = [text.count("ragged.group_by") + text.count("ragged.sort") for text in sorts]
    assert counts[0] == counts[1] > 0
    np.testing.assert_allclose(traced(x)[:, :, 0], [expected(np.quantile, x, q) for q in QS])
    many = np.linspace(0, 1, 11)
    np.testing.assert_allclose(rg.quantile(x, many, axis=1), [expected(np.quantile, x, q) for q in many])
    np.testing.assert_allclose(rg.quantile(x, np.array(0.5), axis=1), expected(np.quantile, x, 0.5))
    dense = RNG.standard_normal((4, 7))
    np.testing.assert_allclose(rg.quantile(dense, np.array(QS), axis=1), np.quantile(dense, QS, axis=1))


METHODS = (
    "linear lower higher nearest midpoint inverted_cdf averaged_inverted_cdf closest_observation "
    "interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased"
).split()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("method", METHODS)
def test_methods(method: str) -> None:
    """Also where a quantile is an element, and halfway between two."""
    x = numbers(np.float64)
    for q in (0, 0.125, 0.25, 0.3, 0.5, 1):
        wanted = expected(lambda part, q, axis: np.quantile(part, q, axis=axis, method=method), x, q)
        np.testing.assert_allclose(rg.quantile(x, q, axis=1, method=method), wanted)
        np.testing.assert_array_equal(
            np.percentile(x, 100 * q, axis=1, method=method), np.quantile(x, q, axis=1, method=method)
        )
    if method in ("lower", "higher", "nearest", "inverted_cdf", "closest_observation"):
        odd = rg.ragged([[-np.inf], [1.0, np.inf], [-np.inf, -np.inf, 2.0], [np.inf, np.inf]])
        for q in (0.0, 0.5, 1.0):
            wanted = [np.quantile(part, q, method=method) for part in odd]
            np.testing.assert_array_equal(rg.quantile(odd, q, axis=1, method=method), wanted)
    dense = RNG.standard_normal((4, 7))
    dense[:, 2] = np.nan
    made = np.nanquantile(rg.from_lengths(dense.reshape(-1), [7] * 4), QS, axis=1, method=method)
    np.testing.assert_allclose(made, np.nanquantile(dense, QS, axis=1, method=method))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, np.int32])
@pytest.mark.parametrize("features", [(), (3,)])
def test_quantiles_of_what_is_a_number(dtype: Any, features: tuple[int, ...]) -> None:
    """Components with some nan, and one of nothing else."""
    wide = numbers(np.float64, features).values.copy()
    wide[::3] = np.nan
    wide[5:6] = np.nan
    x = rg.from_lengths(wide if np.dtype(dtype).kind == "f" else np.nan_to_num(wide), LENGTHS).astype(dtype)
    tolerance = 1e-2 if np.dtype(dtype).itemsize == 2 else 1e-6
    for f in (lambda x: np.nanmedian(x, axis=1), rg.jit(lambda x: np.nanmedian(x, axis=1))):
        np.testing.assert_allclose(f(x), expected(np.nanmedian, x), rtol=tolerance)
    np.testing.assert_allclose(np.nanquantile(x, 0.3, axis=1), expected(np.nanquantile, x, 0.3), tolerance, tolerance)
    wanted = [expected(np.nanquantile, x, q) for q in QS]
    np.testing.assert_allclose(np.nanquantile(x, QS, 1), wanted, tolerance, tolerance)
    np.testing.assert_allclose(np.nanpercentile(x, [30], axis=1)[0], wanted[1], tolerance, tolerance)
    kept = np.nanmedian(x, axis=1, keepdims=True)
    assert kept.shape == (len(LENGTHS), 1, *features)


def test_what_is_refused_is_told_in_the_unit_of_the_function() -> None:
    x = numbers(np.float64)
    for function, q, text in (
        (np.nanpercentile, [[30]], r"np\.nanpercentile: expected a number or a vector for q, got rank 2"),
        (np.percentile, 101, r"np\.percentile: expected q from 0 to 100, got 101"),
        (np.nanquantile, -0.5, r"np\.nanquantile: expected q from 0 to 1, got -0\.5"),
        (np.nanpercentile, True, r"np\.nanpercentile: expected a number for q, or several, got bool"),
    ):
        with pytest.raises(rg.ArgumentError, match=f"^{text}$"):
            function(x, q, axis=1)


def test_between_what_is_infinite() -> None:
    """From the nearer of the two."""
    x = rg.ragged([[-np.inf, 2.0], [1.0, 3.0]])
    np.testing.assert_array_equal(np.quantile(x, [0.5, 0.75], axis=1), [[-np.inf, 2.0], [-np.inf, 2.5]])


def test_names_of_numpy() -> None:
    x = numbers(np.float64)
    np.testing.assert_allclose(np.median(x, axis=1), expected(np.median, x))
    np.testing.assert_allclose(np.quantile(x, QS, axis=1), [expected(np.quantile, x, q) for q in QS])
    np.testing.assert_allclose(np.percentile(x, 30, axis=1), expected(np.quantile, x, 0.3))
    np.testing.assert_allclose(np.median(x), np.median(x.values))
    np.testing.assert_allclose(np.median(x, axis=1, keepdims=True)[:, 0], expected(np.median, x))
    dense = RNG.standard_normal((4, 7, 5))
    rows = rg.from_lengths(dense, [3, 1])
    np.testing.assert_allclose(rg.quantile(dense, 0.3, axis=1), np.quantile(dense, 0.3, axis=1))
    np.testing.assert_allclose(rg.median(dense, axis=(1, 2)), np.median(dense, axis=(1, 2)))
    np.testing.assert_allclose(np.median(rows, axis=3).values, np.median(dense, axis=2))


def test_numpy_finds_them_in_a_new_process() -> None:
    code = "import numpy as np, ragged_dialect as rg; print(np.median(rg.ragged([[3, 1, 2], [4]]), axis=1))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[2. 4.]\n"


def test_what_is_nan_or_infinite() -> None:
    x = rg.ragged(
        [[1.0, np.nan, 2.0], [np.inf, 1.0, np.inf, np.inf], [-np.inf, np.inf], [np.nan], [-np.inf, 3.0, np.inf]]
    )
    np.testing.assert_array_equal(rg.median(x, axis=1), [np.nan, np.inf, np.nan, np.nan, 3.0])
    np.testing.assert_array_equal(rg.quantile(x, 0.5, axis=1)[[0, 3, 4]], [np.nan, np.nan, 3.0])


def test_functions_without_nan() -> None:
    values = np.where(RNG.random(int(LENGTHS.sum())) < 0.3, np.nan, RNG.standard_normal(int(LENGTHS.sum())))
    x = rg.concat([rg.from_lengths(values, LENGTHS), rg.ragged([[np.nan, np.nan], [np.nan]])], axis=0)
    for function in (np.nansum, np.nanmean, np.nanmax, np.nanmin):
        made = expected(function, x)
        made = np.where((function is np.nansum) & np.isnan(made), 0, made)
        np.testing.assert_allclose(function(x, axis=1), made)
        np.testing.assert_allclose(rg.jit(lambda x, f=function: f(x, axis=1, keepdims=True))(x)[:, 0], made)
        whole = numbers(np.int32)[LENGTHS > 0]
        np.testing.assert_allclose(function(whole, axis=1), [function(np.asarray(part)) for part in whole])


def test_gradient() -> None:
    x = rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]])
    made = rg.grad(lambda x: np.nansum(rg.quantile(x, 0.25, axis=1)))(x)
    assert made.tolist() == [[0.0, 0.5, 0.5], [], [0.25, 0.75]]


def test_what_is_no_quantile() -> None:
    x = numbers(np.float32)
    for q in (-0.1, 1.5, float("nan"), 10**400):
        with pytest.raises(rg.ArgumentError, match=r"^quantile: expected q from 0 to 1, got "):
            rg.quantile(x, q, axis=1)
    with pytest.raises(rg.ArgumentError, match=r"^quantile: expected a number for q, or several, got list$"):
        rg.quantile(x, [[0.5]], axis=1)
    with pytest.raises(rg.ArgumentError, match=r"^np\.quantile: expected a number or a vector for q, got rank 2$"):
        np.quantile(x, [[0.5]], axis=1)
    traced = rg.jit(lambda x, q: rg.quantile(x, q, axis=1))
    for q in (-0.1, 1.5, float("nan")):
        with pytest.raises(rg.RuntimeCheckError, match=r"^quantile: q in \[0, 1\]: expected true, got false$"):
            traced(x, q)
    with pytest.raises(
        rg.ArgumentError, match="quantile: expected a number for q, or a vector of known size, got float64"
    ):
        traced(x, np.array([0.5, 0.6]))
    with pytest.raises(rg.ArgumentError, match=r"^quantile: expected a method of linear, lower, .*, got 'cubic'$"):
        rg.quantile(x, 0.5, axis=1, method="cubic")
    with pytest.raises(rg.ArgumentError, match=r"^quantile: expected at least one q, got none$"):
        rg.quantile(x, [], axis=1)
    with pytest.raises(rg.AxisError, match=r"^median: expected at least one axis, got none$"):
        rg.median(x, axis=())
    with pytest.raises(rg.LayoutError, match=r"^median: expected an innermost ragged dim, or a dense one of its own"):
        rg.median(rg.ragged([[[1.0, 2.0]], [[3.0], [4.0]]]), axis=1)


@pytest.mark.parametrize("target", [None, "emulator"])
def test_traced_quantiles(target: str | None) -> None:
    x = rg.from_lengths(np.random.default_rng(0).standard_normal(12), [3, 0, 5, 4])
    found = rg.jit(lambda x, q, p: rg.quantile(x, [q, p * 0.5], axis=1), target=target)
    share = rg.jit(lambda x, q: np.percentile(x, q, axis=1), target=target)
    for q, p in ((0.0, 1.0), (0.3, np.float64(0.9)), (1, 0)):
        np.testing.assert_allclose(found(x, q, p), rg.quantile(x, [float(q), p * 0.5], axis=1))
        np.testing.assert_allclose(share(x, 100 * q), rg.quantile(x, float(q), axis=1))
