"""Powers by a number: those of small integers are products, with NumPy's dtypes and numbers."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import ragged_dialect as rg

EXPONENTS = (0, 1, 2, 3, 4, 1.0, 2.0, -1.0, 0.5, np.float32(2), np.int8(2), True)
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -3e20, 1.5], np.float32)


def ragged(values: np.ndarray) -> rg.RaggedArray:
    return rg.from_lengths(values, [3, 0, len(values) - 3])


@pytest.mark.sampled(32)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "int32", "int64", "bool"])
@pytest.mark.parametrize("exponent", EXPONENTS, ids=repr)
def test_as_numpy_has_them(dtype: str, exponent: float) -> None:
    values = np.arange(-5, 6).astype(dtype)
    with np.errstate(all="ignore"):  # NumPy's operator squares booleans in int8, its function in int64
        expected = np.power(values, exponent) if dtype == "bool" else values**exponent
    for found in (ragged(values) ** exponent, rg.jit(lambda x: x**exponent)(ragged(values))):
        assert found.dtype == expected.dtype
        tolerance = 2.0 * float(np.finfo(expected.dtype).eps) if expected.dtype.kind == "f" else 0.0
        np.testing.assert_allclose(found.values, expected, rtol=tolerance)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("exponent", [-1, 0, 1, 2, 3, 0.5, -1.0, 2.0])
def test_special_numbers(exponent: float) -> None:
    with np.errstate(all="ignore"):
        expected = SPECIAL**exponent
    functions = (lambda x: x**exponent, rg.jit(lambda x: x**exponent), lambda x: np.power(x, exponent))
    for found in (function(ragged(SPECIAL)) for function in functions):
        np.testing.assert_allclose(found.values, expected, rtol=3e-7)
        np.testing.assert_array_equal(np.signbit(found.values), np.signbit(expected))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_cubes_of_short_floats_are_rounded_once(dtype: str) -> None:
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else np.dtype(dtype)
    values = np.random.default_rng(0).standard_normal(1000).astype(kind)
    expected = (values.astype(np.float64) ** 3).astype(np.float32).astype(kind)
    for found in (ragged(values) ** 3, rg.jit(lambda x: x**3)(ragged(values))):
        assert found.dtype == kind
        np.testing.assert_array_equal(found.values, expected)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("text", ["x ** 2", "x ** 3", "np.power(x, 2)", "x ** -1", "x ** 0.5", "i ** 3"])
def test_no_power_is_left(text: str) -> None:
    x, i = ragged(SPECIAL), ragged(np.arange(5))
    function = rg.jit(lambda x, i: eval(text, {"np": np, "x": x, "i": i}))
    assert "pow" not in function.lower(x, i).stages["ragged"]


def test_derivatives_have_none() -> None:
    x = ragged(SPECIAL)
    function = rg.jit(lambda x: rg.grad(lambda x: (x**3 + np.power(x, 2)).sum())(x))
    assert "pow" not in function.lower(x).stages["ragged"]
    y = ragged(np.array([1.0, -2.0, 0.5, 3.0]))
    np.testing.assert_allclose(function(y).values, 3 * y.values**2 + 2 * y.values)
