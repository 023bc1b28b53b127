"""Reductions and the softmax family against NumPy loops over the components."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
NAMES = ("sum", "prod", "max", "min", "mean", "var", "std", "any", "all")
EMPTY = {"max": -np.inf, "min": np.inf}
pytestmark = pytest.mark.filterwarnings("ignore:Mean of empty", "ignore:Degrees of", "ignore:invalid value")


def reduced(name: str, part: Any, axis: Any) -> Any:
    """NumPy's result, and ours where it has none: the neutral element."""
    if name in EMPTY:
        return getattr(part, name)(axis, initial=EMPTY[name])
    return getattr(part, name)(axis)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("lengths", STRUCTURES)
@pytest.mark.parametrize("name", ["sum", "max", "mean"])
def test_ragged_dim(name: str, lengths: tuple[int, ...]) -> None:
    x = array(lengths)
    got = getattr(x, name)(1)
    expected = [reduced(name, c, 0) for c in components(x)]
    assert isinstance(got, np.ndarray)
    np.testing.assert_allclose(got, np.array(expected).reshape(-1, 4), 1e-5)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", NAMES)
def test_every_dim(name: str) -> None:
    x = array(LENGTHS)
    parts = components(x)
    np.testing.assert_allclose(getattr(x, name)(1), [reduced(name, c, 0) for c in parts], 1e-5)
    assert_components(getattr(x, name)(-1), [reduced(name, c, 1) for c in parts])
    np.testing.assert_allclose(getattr(x, name)((1, 2)), [reduced(name, c, None) for c in parts], 1e-5)
    np.testing.assert_allclose(getattr(x, name)(), getattr(x.values, name)(), 1e-5)
    assert getattr(x, name)(1, keepdims=True).shape == (4, 1, 4)
    assert getattr(x, name)(2, keepdims=True).shape == (4, None, 1)
    assert getattr(x, name)(1).dtype == getattr(x.values, name)(0).dtype


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["?", "i1", "i4", "f2", "f8"])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "mean"])
def test_dtypes(name: str, dtype: str) -> None:
    x = array((3, 5, 1), dtype=dtype)
    got = getattr(x, name)(1)
    expected = np.stack([getattr(c, name)(0) for c in components(x)])
    assert got.dtype == expected.dtype
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), 2e-3, 2e-3)


def test_empty_components() -> None:
    x = rg.from_lengths(np.arange(3), [0, 3])
    assert x.max(1).tolist() == [np.iinfo(np.int64).min, 2]
    assert x.min(1).tolist() == [np.iinfo(np.int64).max, 0]
    assert (x.sum(1).tolist(), x.prod(1).tolist()) == ([0, 3], [1, 0])
    assert np.isnan(x.mean(1)[0])
    assert (x.argmax(1).tolist(), x.argmin(1).tolist()) == ([-1, 2], [-1, 0])


def test_arg_reductions_and_logsumexp_of_a_number() -> None:
    for name in ("argmax", "argmin"):
        assert rg.jit(lambda x, name=name: getattr(x, name)())(np.array(2.0)) == 0
    assert rg.logsumexp(2.5) == rg.logsumexp(np.array(2.5)) == 2.5


def test_arg_reductions_take_the_first() -> None:
    rows = [[1.0, 3, 3], [2], [np.nan, 5, np.nan], [-np.inf, -np.inf], [4, np.nan, 9]]
    x = rg.ragged(rows)
    assert x.argmax(1).tolist() == [int(np.argmax(r)) for r in rows]
    assert x.argmin(1).tolist() == [int(np.argmin(r)) for r in rows]
    y = array(LENGTHS)
    assert_components(y.argmax(2), [c.argmax(1) for c in components(y)])


def test_infinities_stay() -> None:
    x = rg.ragged([[1, np.inf, -1, 2, 3, -np.inf], [np.inf, 0, 5]])
    assert x.max(1).tolist() == [np.inf, np.inf]
    assert x.min(1).tolist() == [-np.inf, 0]


def test_across_the_components() -> None:
    x = rg.ragged([[3, 1, 4], [1, 5], [9], [2, 6]])
    assert x.sum(0).tolist() == [15, 12, 4]
    assert x.mean(0).tolist() == [3.75, 4, 4]
    assert (x.max(0).tolist(), x.min(0).tolist(), x.prod(0).tolist()) == ([9, 6, 4], [1, 1, 4], [54, 30, 4])
    assert (x > 4).any(0).tolist() == [True, True, False]
    assert (x > 1).all(0).tolist() == [False, False, True]
    assert rg.ragged([[0.5, 0, -1], [0]]).any(0).tolist() == [True, False, True]
    assert rg.ragged([[256, 1], [-1]]).all(0).tolist() == [True, True]
    assert x.sum(0, keepdims=True).shape == (1, 3)
    assert array((2, 0)).sum(0).shape == (2, 4)


@pytest.mark.parametrize("lengths", NESTED)
def test_two_levels(lengths: Any) -> None:
    x = nested(lengths)
    rows = x.tolist()
    for got, expected in zip(x.sum(2).tolist(), rows, strict=True):
        np.testing.assert_allclose(got, [sum(i) for i in expected])
    np.testing.assert_allclose(x.sum((1, 2)), [sum(map(sum, r)) for r in rows])
    np.testing.assert_allclose(x.sum(), sum(sum(map(sum, r)) for r in rows))


def test_var_with_ddof() -> None:
    x = array((3, 5))
    np.testing.assert_allclose(x.var(1, ddof=1), [c.var(0, ddof=1) for c in components(x)], 1e-5)
    np.testing.assert_allclose(x.std(1, ddof=1), [c.std(0, ddof=1) for c in components(x)], 1e-5)
    np.testing.assert_array_equal(x.std(1, correction=1), x.std(1, ddof=1))
    np.testing.assert_array_equal(rg.jit(lambda x: x.var(1, correction=2))(x), x.var(1, ddof=2))
    with pytest.raises(rg.ArgumentError, match=r"^std: expected ddof or correction, got both$"):
        x.std(1, ddof=1, correction=0)
    if "correction" in inspect.signature(np.nanstd).parameters:  # of NumPy 2
        np.testing.assert_array_equal(np.std(x, axis=1, correction=1), x.std(1, ddof=1))
        np.testing.assert_allclose(np.nanvar(x, axis=1, correction=1), x.var(1, ddof=1), 1e-5)
        with pytest.raises(rg.ArgumentError, match=r"^np.std: expected ddof or correction, got both$"):
            np.std(x, axis=1, ddof=1, correction=0)


def softmax(part: Any, axis: Any) -> Any:
    """As it is defined."""
    e = np.exp(part - part.max(axis, keepdims=True, initial=-np.inf)) if part.size else part
    return e / e.sum(axis, keepdims=True) if part.size else e


@pytest.mark.sampled(4)
@pytest.mark.parametrize("axis", [1, 2, (1, 2)])
def test_softmax(axis: Any) -> None:
    x = array(LENGTHS)
    own = tuple(a - 1 for a in axis) if isinstance(axis, tuple) else axis - 1
    assert_components(rg.softmax(x, axis=axis), [softmax(c, own) for c in components(x)])
    assert_components(x.log_softmax(axis), [np.log(softmax(c, own)) for c in components(x)])
    got = x.logsumexp(axis)
    with np.errstate(divide="ignore"):
        expected = [np.log(np.exp(c).sum(own)) for c in components(x)]
    if isinstance(got, rg.RaggedArray):
        assert_components(got, expected)
    else:
        np.testing.assert_allclose(got, expected, 1e-5)


def test_softmax_of_large_numbers_halves_and_integers() -> None:
    assert rg.softmax(rg.ragged([[1000.0, 1000.0], [], [0.0]]), axis=1).tolist() == [[0.5, 0.5], [], [1]]
    x = array((3, 0, 5), dtype=np.float16)
    got = rg.softmax(x, axis=1)
    assert got.dtype == np.float16
    assert_components(got, [softmax(c.astype(np.float32), 0) for c in components(x)], 2e-3)
    assert rg.softmax(rg.ragged([[1, 1]]), axis=1).dtype == np.float64
    assert rg.logsumexp(rg.ragged([[-np.inf, -np.inf], [np.inf, 0]]), axis=1).tolist() == [-np.inf, np.inf]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_softmax_of_a_dim_is_an_op_which_stores_exponentials(dtype: str) -> None:
    """Of halves in float32, which are rounded once; of dense arrays too."""
    x = array((3, 0, 5), dtype=np.dtype(dtype))
    for given, axis in ((x, 1), (x, 2), (x.values, -1)):
        lowered = rg.jit(lambda x, axis=axis: rg.softmax(x, axis=axis)).lower(given)
        assert lowered.source.count("linalg.softmax") == 1
        assert lowered.stages["scf"].count("math.exp") == 1


def norm(part: Any, axis: Any) -> Any:
    """A layer norm."""
    if not part.size:
        return part
    return (part - part.mean(axis, keepdims=True)) / np.sqrt(part.var(axis, keepdims=True) + 1e-5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("axis", [-1, 1, (1, 2)])
def test_layer_norm(axis: Any) -> None:
    x, w = array(LENGTHS), np.arange(4, dtype=np.float32)
    own = {-1: 1, 1: 0, (1, 2): (0, 1)}[axis]
    assert_components(rg.layer_norm(x, axis=axis), [norm(c, own) for c in components(x)], 1e-4)
    assert_components(rg.layer_norm(x, w, w, axis=axis), [norm(c, own) * w + w for c in components(x)], 1e-4)


def test_rms_norm() -> None:
    x, w = array(LENGTHS), np.arange(4, dtype=np.float32)
    expected = [c / np.sqrt((c * c).mean(1, keepdims=True) + 1e-5) * w for c in components(x)]
    assert_components(rg.rms_norm(x, w), expected)


REFUSED: list[Refusal] = [
    (lambda x: x.sum(3), IndexError, "sum: expected axis in [-3, 3), got 3"),
    (lambda x: x.sum((1, 1)), IndexError, "sum: expected different axes, got (1, 1)"),
    (lambda x: x.split(1, 2).sum(1), rg.LayoutError, "sum: expected a layout without tiles"),
    (lambda x: x.argmax((0, 2)), rg.LayoutError, "argmax: expected adjacent dims, got (0, 2)"),
    (lambda x: x.argmax(()), IndexError, "argmax: expected at least one axis, got ()"),
    (lambda x: x.argmin(axis=()), IndexError, "argmin: expected at least one axis, got ()"),
    (lambda x: x.sum(1.5), TypeError, "sum: expected an integer, a tuple of integers or None for axis, got float"),
    (lambda x: x.sum([1]), TypeError, "sum: expected an integer, a tuple of integers or None for axis, got list"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_comparisons_with_the_numbers_of_an_argument_go_into_their_sum() -> None:
    """Nobody asks their elements for the extent that they have of it."""
    x, bins = rg.ragged([[2, 0, 2], [], [1]]), np.arange(3)
    function = rg.jit(lambda x, bins: (x[..., None] == bins).sum(axis=1))
    np.testing.assert_array_equal(function(x, bins), rg.bincount(x, 3))
    assert function.lower(x, bins).stages["ragged"].count("linalg.generic") == 1


@pytest.mark.sampled(3)
@pytest.mark.parametrize("features", [(129,), (20, 20), (5000,)])
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_rows_of_many_features(features: tuple[int, ...], dtype: str) -> None:
    """Of which lengths count the elements, and sums of long components have pairs for all of a row."""
    x = array((3, 0, 130, 1), features, dtype)
    for y in (x, x[:, 1:]):
        wide = [np.asarray(c, np.float64) for c in y.unbind()]
        for name in ("sum", "mean", "var"):
            nothing = np.full(features, 0 if name == "sum" else np.nan)
            expected = [getattr(c, name)(axis=0) if len(c) else nothing for c in wide]
            tolerance = 1e-5 if dtype == "float32" else 2e-2
            np.testing.assert_allclose(np.asarray(getattr(y, name)(1), np.float64), expected, tolerance, tolerance)
            assert getattr(y, name)(1, keepdims=True).shape == (4, 1, *features)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("target", [None, "emulator"])
@pytest.mark.parametrize("dtype", ["int8", "int64", "bool"])
@pytest.mark.parametrize("ufunc", [np.bitwise_and, np.bitwise_or, np.bitwise_xor])
def test_bits(ufunc: np.ufunc, dtype: str, target: str | None) -> None:
    lengths, rng = [3, 0, 5, 4], np.random.default_rng(0)
    values = rng.integers(0, 2 if dtype == "bool" else 100, (12, 3)).astype(dtype)
    x, parts = rg.from_lengths(values, lengths), np.split(values, np.cumsum(lengths)[:-1])

    def called(axis: int | None, **options: Any) -> Any:
        reduce: Any = ufunc.reduce
        return rg.jit(lambda x: reduce(x, axis=axis, **options), target=target)(x)

    for found, part in zip(called(1), parts, strict=True):
        np.testing.assert_array_equal(found, ufunc.reduce(part, axis=0))
        assert found.dtype == values.dtype
    for found, part in zip(called(2), parts, strict=True):
        np.testing.assert_array_equal(found, ufunc.reduce(part, axis=1))
    rows = [[part[row] for part in parts if len(part) > row] for row in range(5)]
    np.testing.assert_array_equal(called(0), [ufunc.reduce(row, axis=0) for row in rows])
    assert called(None) == ufunc.reduce(values, axis=None)
    mask = values > values.mean()
    found = called(1, where=rg.from_lengths(mask, lengths))
    wanted = np.split(np.where(mask, values, ufunc.identity), np.cumsum(lengths)[:-1])
    np.testing.assert_array_equal(found, [ufunc.reduce(part.astype(dtype), axis=0) for part in wanted])


def test_bits_of_floats_are_refused() -> None:
    reduce: Any = np.bitwise_or.reduce
    with pytest.raises(rg.ArgumentError, match="reduce_or: expected integers or booleans, got float64"):
        reduce(rg.from_lengths(np.ones(3), [3]), axis=1)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("features", [1, 2, 3, 17, 64])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_first_of_equal_rows(name: str, features: int, dtype: str) -> None:
    """Of equal rows of features the first one counts, and of nan, too."""
    rng, lengths = np.random.default_rng(features), [5, 1, 40, 130, 3000]
    values = rng.integers(0, 3, (sum(lengths), features)).astype(dtype)
    if values.dtype.kind == "f":
        values[rng.random(values.shape) < 0.001] = np.nan
    found = getattr(np, name)(rg.from_lengths(values, lengths), axis=1)
    parts = np.split(values, np.cumsum(lengths)[:-1])
    np.testing.assert_array_equal(found, [getattr(part, name)(axis=0) for part in parts])
