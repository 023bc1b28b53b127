"""A row has the same bits among any number of rows: what a compiler does with several at a time, and with those that
are left over, is rounded in one way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.host_cpu import code_features, is_x86

ROWS = 70


def layer_norm(x: Any) -> Any:
    centered = x - np.mean(x, axis=-1, keepdims=True)
    return centered / np.sqrt(np.mean(centered * centered, axis=-1, keepdims=True) + 1e-5)


def gradient(x: Any) -> Any:
    return rg.grad(lambda x: (rg.softmax(x, axis=-1) * x).sum())(x)


def mirrored(x: Any) -> Any:
    """What is read across memory is no loop of vectors of ours."""
    return np.sum(x * x[:, ::-1], axis=-1) / np.sqrt(np.sum(x * x, axis=-1))


CASES = [(f, dtype, k) for f, dtype in ((gradient, "f4"), (gradient, "f8"), (layer_norm, "f4")) for k in (3, 5, 7)]
CASES += [(mirrored, "f4", k) for k in (8, 9, 24, 48)] + [(layer_norm, "f4", 24)]


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("function", "dtype", "features"), CASES)
def test_any_number_of_rows(function: Callable[[Any], Any], dtype: str, features: int) -> None:
    x = np.random.default_rng(features).standard_normal((ROWS, features)).astype(dtype)
    compiled = rg.jit(function)
    whole = np.asarray(compiled(x))
    for rows in range(2, ROWS):
        np.testing.assert_array_equal(np.asarray(compiled(x[:rows])), whole[:rows], err_msg=f"{rows} rows")


def test_what_follows_a_masked_feature_is_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would still fuse products and sums where we do not."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", "-f16c")
    assert {"-f16c", "-fma", "-avx2", "-avx512f"} <= set(code_features()) if is_x86() else True
