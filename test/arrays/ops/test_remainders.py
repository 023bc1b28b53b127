"""fmod, remainder and floor_divide of floats: NumPy's numbers to the bit, whatever the quotient."""

from __future__ import annotations

import numpy as np
import pytest
from support.processes import python

import ragged_dialect as rg

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 5.5]
COUNT = 3000


def pairs(dtype: str) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Numerators and divisors: any bits, usual numbers, products next to whole quotients."""
    rng, kind = np.random.default_rng(0), np.dtype(dtype)
    words = rng.integers(0, 2 ** (8 * kind.itemsize), COUNT, dtype=f"u{kind.itemsize}").view(kind)
    near, eighths = rng.standard_normal(COUNT) * 100, rng.integers(1, 50, COUNT) / 8 * rng.choice([-1, 1], COUNT)
    third = np.full(COUNT, 1 / 3, kind)
    whole = rng.integers(0, 2**10 if dtype == "float16" else 2**20, COUNT).astype(kind) * third
    return {
        "words": (words, rng.permutation(words)),
        "usual": (near.astype(kind), eighths.astype(kind)),
        "whole": (whole, third),
        "below": (np.nextafter(whole, kind.type(0)), third),
        "large": (words, eighths.astype(kind)),
        "special": (np.repeat(np.array(SPECIAL, kind), 8), np.tile(np.array(SPECIAL, kind), 8)),
    }


def check(dtype: str) -> None:
    with np.errstate(all="ignore"):
        for name, (a, b) in pairs(dtype).items():
            x, y = (rg.from_lengths(v, [7, 0, len(v) - 7]) for v in (a, b))
            for ufunc in (np.fmod, np.remainder, np.floor_divide):
                found, expected = ufunc(x, y).values, ufunc(a, b)
                np.testing.assert_array_equal(found, expected, err_msg=f"{name} {ufunc}")
                signed = ~np.isnan(expected)
                np.testing.assert_array_equal(np.signbit(found)[signed], np.signbit(expected)[signed], err_msg=name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_as_numpy_has_them(dtype: str) -> None:
    check(dtype)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("features", ["-avx512f", "-avx2", "-fma"])
def test_with_fewer_features(features: str) -> None:
    """Without fused multiply-adds it is the library's."""
    text = "from test_remainders import check; check('float32'); check('float64')"
    python("-c", text, folder="test/arrays/ops", RAGGED_CPU_FEATURES=features, RAGGED_CACHE="0")


def test_reductions_and_masks() -> None:
    """Where loops do more than that."""
    values = np.random.default_rng(1).standard_normal((500, 6)) * 50
    x = rg.from_lengths(values, [200, 0, 300])
    found = rg.jit(lambda x: ((x % 2.5).sum(axis=2), rg.where(x > 0, x % 3.0, x).max(axis=1)))(x)
    np.testing.assert_allclose(found[0].values, (values % 2.5).sum(1))
    kept = np.where(values > 0, values % 3.0, values)
    np.testing.assert_array_equal(found[1][0], kept[:200].max(0))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_no_call_is_left_of_the_usual_loop(dtype: str) -> None:
    x = rg.from_lengths(np.ones(100, dtype), [100])
    text = rg.jit(lambda x: np.fmod(x, 0.75)).lower(x).stages["loops"]
    assert "math.fma" in text
    assert "arith.remf" not in text
