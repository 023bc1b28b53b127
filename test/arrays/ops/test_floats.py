"""Floats of all widths through NumPy's functions: special values, subnormals, and numbers beside bfloat16."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ragged_dialect as rg

BFLOAT = np.dtype(ml_dtypes.bfloat16)
FLOATS = [np.dtype(kind) for kind in ("f2", BFLOAT, "f4", "f8")]
DIVISIONS = ("floor_divide", "remainder", "fmod", "divmod", "divide")

NUMBERS: dict[str, Callable[[Any], Any]] = {
    "a sum": lambda x: x + 2.5,
    "a sum from the right": lambda x: 2.5 + x,
    "a product with an integer": lambda x: x * 2,
    "a quotient": lambda x: x / 3.0,
    "a remainder": lambda x: x % 1.5,
    "a power": lambda x: x**2.0,
    "the maximum": lambda x: np.maximum(x, 1.5),
    "clip": lambda x: x.clip(0.5, 1.5),
    "where": lambda x: rg.where(x > 1, x, 0.5),
    "padding": lambda x: rg.to_padded(x, 1.5),
}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("dtype", [np.dtype(np.float16), BFLOAT], ids=str)
def test_a_number_beside_a_short_float_is_weak(name: str, dtype: Any) -> None:
    x = rg.from_lengths(np.array([0.5, 1, 2, -3], dtype), [3, 1])
    for function in (NUMBERS[name], rg.jit(NUMBERS[name])):
        assert function(x).dtype == dtype


def test_arrays_beside_bfloat16_are_not_weak() -> None:
    x = rg.from_lengths(np.array([0.5, 1, 2], BFLOAT), [3])
    assert (x + np.float32(1)).dtype == np.float32
    assert (x + rg.from_lengths(np.arange(3.0), [3])).dtype == np.float64


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_attention_keeps_the_dtype(dtype: Any) -> None:
    x = rg.from_lengths(np.linspace(-1, 1, 32).reshape(4, 8).astype(dtype), [3, 1])
    assert rg.attention(x, x, x, causal=True).dtype == dtype


def special(dtype: Any) -> tuple[Any, Any]:
    """All pairs of special values: zeros, infinities, nan, subnormals, the largest."""
    info = ml_dtypes.finfo(dtype)
    tiny, normal, large = (float(x) for x in (info.smallest_subnormal, info.smallest_normal, info.max))
    positive = [0, 1, 0.5, 3, 7.5, 2.7, 1e-3, np.inf, tiny, normal, normal - tiny, large]
    values = np.array([*positive, *(-x for x in positive), np.nan], dtype)
    first, second = np.meshgrid(values, values)
    return first.ravel(), second.ravel()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_divisions_of_special_values(dtype: Any, target: str) -> None:
    a, b = special(dtype)
    x, y = (rg.from_lengths(v, [v.size]) for v in (a, b))

    def function(x: Any, y: Any) -> Any:
        return [getattr(np, name)(x, y) for name in DIVISIONS]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wanted = [getattr(np, name)(a, b) for name in DIVISIONS]
    for name, got, expected in zip(DIVISIONS, rg.jit(function, target=target)(x, y), wanted, strict=True):
        pairs = zip(got, expected, strict=True) if name == "divmod" else [(got, expected)]
        for one, other in pairs:
            values, nan = one.values, np.isnan(other)
            np.testing.assert_array_equal(np.isnan(values), nan, err_msg=name)
            bits = f"u{dtype.itemsize}"
            np.testing.assert_array_equal(values.view(bits)[~nan], other.view(bits)[~nan], err_msg=name)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_first_of_equal_values_is_found(dtype: Any, target: str) -> None:
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    rows = [[tiny] * 3, [-tiny] * 3, [0, -0.0, 0], [-0.0, 0, tiny], [np.nan, 1, np.nan], [1, np.nan, np.nan],
            [np.inf] * 3, [-np.inf] * 3]  # fmt: skip
    x = np.array(rows, dtype)
    found = rg.jit(lambda v: [v.argmax(1), v.argmin(1)], target=target)(rg.from_lengths(x.ravel(), [3] * len(rows)))
    for name, got in zip(("argmax", "argmin"), found, strict=True):
        np.testing.assert_array_equal(got, [getattr(np, name)(row) for row in x])
