"""What does the work of NumPy's functions that ragged arrays do not have."""

from __future__ import annotations

import re

import numpy as np
import pytest
from support.components import assert_components

import ragged_dialect as rg
from ragged_dialect.arrays.numpy.functions import INSTEAD


@pytest.mark.parametrize(("name", "instead"), INSTEAD.items())
def test_what_is_there_instead(name: str, instead: str) -> None:
    """Functions of NumPy, and functions of ours in their place."""
    assert callable(getattr(np, name))
    named = re.findall(r"rg\.(\w+)", instead)
    assert all(callable(getattr(rg, found)) for found in named)


def test_advice_gives_what_numpy_does() -> None:
    """Of functions that ragged arrays do not have."""
    rng, lengths = np.random.default_rng(0), [5, 3, 7]
    x, y = (rg.from_lengths(rng.random(15), lengths) for _ in range(2))
    a, b = (rg.from_lengths(rng.integers(0, 3, 15), lengths) for _ in range(2))
    pairs = [tuple(map(np.asarray, both)) for both in zip(x, y, strict=True)]
    first = rg.argsort(a, axis=1)
    keys = [tuple(map(np.asarray, both)) for both in zip(a, b, strict=True)]
    assert_components(first[rg.argsort(b[first], axis=1)], [np.lexsort(both) for both in keys])
    cov = ((x - x.mean(1, keepdims=True)) * (y - y.mean(1, keepdims=True))).sum(1) / (x.lengths - 1)
    np.testing.assert_allclose(cov, [np.cov(*both)[0, 1] for both in pairs])
    scaled = [(z - z.mean(1, keepdims=True)) / z.std(1)[:, None] for z in (x, y)]
    np.testing.assert_allclose((scaled[0] * scaled[1]).mean(1), [np.corrcoef(*both)[0, 1] for both in pairs])
    w = np.array([1.0, 2, 3])
    for function, own in ((np.convolve, w[::-1]), (np.correlate, w)):
        wanted = [function(both[0], w, "valid") for both in pairs]
        assert_components((rg.windows(x, len(w)) * own).sum(axis=2), wanted)
    t = y.cumsum(1)
    area = ((x[:, 1:] + x[:, :-1]) / 2 * np.diff(t, axis=1)).sum(axis=1)
    np.testing.assert_allclose(
        area, [(np.diff(q) * (p[1:] + p[:-1]) / 2).sum() for (p, _), q in zip(pairs, t.unbind(), strict=True)]
    )
    signed = rg.like(x, np.array([0, np.inf, -np.inf, np.nan, -2.5, 0.5, 2.0, *range(8)]))
    assert_components(np.trunc(signed), [np.copysign(np.floor(abs(np.asarray(z))), z) for z in signed.unbind()])
    assert_components(signed == -np.inf, [np.isneginf(np.asarray(z)) for z in signed.unbind()])
    assert_components(rg.where(a == 0, 1, np.sin(np.pi * a) / (np.pi * a)), [np.sinc(both[0]) for both in keys])
    table = rng.random((3, 3))
    found = rg.take_along_axis(rg.take(table, a), b[..., None], axis=-1)[..., 0]
    np.testing.assert_array_equal(found.values, table[np.asarray(a.values), np.asarray(b.values)])
