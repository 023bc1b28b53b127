"""Attention of bf16 by tiles of AMX, where the processor has them, and without, against loops in float64."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.attention import arguments, assert_near, loops, text_of

from ragged_dialect import compile

LEVELS = ["", "-amx-bf16"]
LENGTHS = np.array([200, 0, 31, 129, 7, 64])
LARGEST = float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)


@pytest.mark.parametrize("keys", ["all", "causal", "window<40, 3>", "window_end<-1, 100>"])
@pytest.mark.parametrize("dims", [(64, 48), (33, 16), (5, 70)])
@pytest.mark.parametrize("level", LEVELS)
def test_keys(level: str, dims: tuple[int, int], keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows begin and end within steps of 32 keys, and dims within tiles."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
    given = arguments("bf16", (4, 2), dims, LENGTHS, LENGTHS[::-1])
    found = compile(text_of("bf16", (4, 2), dims, f'scale = 0.2, keys = "{keys}"'))(*given)
    assert_near(found, given, "bf16", keys, 0.2)


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("level", LEVELS)
def test_small_numbers_are_no_zeros(level: str, which: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The instruction takes them for zeros: queries and keys that are large together, and values."""
    monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
    given = arguments("bf16", (1, 1), (16, 16), LENGTHS, LENGTHS)
    small = given[which][0]
    small[:] = (small.astype(np.float64) * 2.0**-127).astype(small.dtype)
    if which < 2:
        large = given[1 - which][0]
        large[:] = (large.astype(np.float64) * 2.0**122).astype(large.dtype)
    scale = 0.5 if which == 2 else 3.0
    (o, _), _ = compile(text_of("bf16", (1, 1), (16, 16), f"scale = {scale}"))(*given)
    expected, _ = loops(given, "all", scale)
    assert np.abs(expected).max() > 0
    near = max(2e-2 * np.abs(expected).max(), 2.0**-133)
    np.testing.assert_allclose(o.astype(np.float64), expected, atol=near, rtol=2e-2)


@pytest.mark.parametrize("keys", ["all", "window<3, 2>"])
@pytest.mark.parametrize("value", [np.inf, np.nan, LARGEST])
def test_values_that_are_no_numbers(value: float, keys: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are in what meets them, whichever loops that has: keys out of a window have weights of 0 in tiles."""
    given = arguments("bf16", (2, 2), (32, 32), LENGTHS, LENGTHS)
    given[2][0][[LENGTHS[0] + 5, 100], 1, 3] = value
    found: list[Any] = []
    for level in LEVELS:
        monkeypatch.setenv("RAGGED_CPU_FEATURES", level)
        (o, _), _ = compile(text_of("bf16", (2, 2), (32, 32), f'scale = 0.2, keys = "{keys}"'))(*given)
        found.append(o.astype(np.float64))
    np.testing.assert_allclose(found[0], found[1], atol=2e-2, rtol=2e-2)
    assert np.isfinite(found[0]).mean() > 0.9
    assert keys == "all" or np.abs(found[0][140:200]).max() < 10
