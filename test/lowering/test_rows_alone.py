"""A row has the same bits among any number of rows: what a compiler does with several at a time, and with those that
are left over, is rounded in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

ROWS = 70


def layer_norm(x: Any) -> Any:
    centered = x - np.mean(x, axis=-1, keepdims=True)
    return centered / np.sqrt(np.mean(centered * centered, axis=-1, keepdims=True) + 1e-5)


def gradient(x: Any) -> Any:
    return rg.grad(lambda x: (rg.softmax(x, axis=-1) * x).sum())(x)


@pytest.mark.parametrize("features", [2, 3, 5, 7, 24])
@pytest.mark.parametrize(
    ("function", "dtype"),
    [(lambda x: rg.softmax(x, axis=-1), "f4"), (gradient, "f4"), (gradient, "f8"), (layer_norm, "f4")],
)
def test_any_number_of_rows(function: Callable[[Any], Any], dtype: str, features: int) -> None:
    x = np.random.default_rng(features).standard_normal((ROWS, features)).astype(dtype)
    compiled = rg.jit(function)
    whole = np.asarray(compiled(x))
    for rows in range(2, ROWS):
        np.testing.assert_array_equal(np.asarray(compiled(x[:rows])), whole[:rows], err_msg=f"{rows} rows")
