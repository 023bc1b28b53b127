"""Activations against their formulas in float64, and their gradients."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

import ragged_dialect as rg

SAMPLES = np.array([-30.0, -3.0, -1.0, -1e-3, 0.0, 1e-3, 1.0, 3.0, 30.0])


def gelu_by_tanh(x: float) -> float:
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


FORMULAS: dict[str, tuple[Callable[[object], object], Callable[[float], float]]] = {
    "relu": (rg.nn.relu, lambda x: max(x, 0.0)),
    "silu": (rg.nn.silu, lambda x: x / (1 + math.exp(-x))),
    "gelu": (rg.nn.gelu, lambda x: 0.5 * x * math.erfc(-x * math.sqrt(0.5))),
    "gelu by tanh": (lambda x: rg.nn.gelu(x, approximate=True), gelu_by_tanh),
}


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize(("dtype", "limit"), [("float64", 1e-15), ("float32", 1e-6), ("float16", 2e-3)])
def test_the_values_are_those_of_the_formula(name: str, dtype: str, limit: float) -> None:
    ours, formula = FORMULAS[name]
    x = SAMPLES.astype(dtype)
    expected = [formula(float(v)) for v in x]
    found = ours(rg.from_lengths(x, np.array([4, 0, 5])))
    assert isinstance(found, rg.RaggedArray)
    assert found.dtype == dtype
    np.testing.assert_allclose(found.values.astype("float64"), expected, rtol=limit, atol=limit)
    assert np.isnan(ours(np.array([np.nan])))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_numbers_far_from_zero_have_a_value_and_a_gradient(name: str, dtype: str) -> None:
    """Where an exp, or a cube, is infinite."""
    ours, _ = FORMULAS[name]
    x = np.array([-30000.0, -1000.0, -90.0, -12.0, 90.0, 1000.0, 30000.0], dtype)
    np.testing.assert_allclose(ours(x), np.maximum(x, 0), atol=1e-3)
    np.testing.assert_allclose(rg.grad(lambda x: ours(x).astype("float32").sum())(x), x > 0, atol=1e-3)
    scaled = rg.grad(lambda x: ours(x).astype("float32").sum() * 3000)(x)  # as losses are of short floats
    np.testing.assert_allclose(scaled, np.where(x > 0, 3000, 0), atol=1)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", FORMULAS)
def test_the_gradient_is_that_of_finite_differences(name: str) -> None:
    ours, formula = FORMULAS[name]
    x = SAMPLES[SAMPLES != 0]
    step = 1e-6
    expected = [(formula(v + step) - formula(v - step)) / (2 * step) for v in x]
    np.testing.assert_allclose(rg.grad(lambda x: ours(x).sum())(x), expected, atol=1e-8)
