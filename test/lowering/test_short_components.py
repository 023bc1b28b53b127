"""Several loops along lists of any length around that of a register, against NumPy on the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

RNG = np.random.default_rng(0)
LENGTHS = np.r_[np.arange(36), 300, 0, 1]


def softmax(x: Any) -> Any:
    """Of one component."""
    e = np.exp(x - x.max(initial=-np.inf))
    return e / e.sum()


PROGRAMS: list[tuple[str, Callable[[Any, Any], Any], Callable[[Any, Any], Any]]] = [
    ("twice", lambda x, y: rg.softmax(rg.softmax(x, 1) * 9, 1), lambda x, y: softmax(softmax(x) * 9)),
    (
        "read again",
        lambda x, y: rg.softmax(x, 1) * y - (rg.softmax(x, 1) * y).sum(1)[:, None] * x,
        lambda x, y: softmax(x) * y - (softmax(x) * y).sum() * x,
    ),
    (
        "of neighbours",
        lambda x, y: (rg.softmax(x, 1)[:, 1:] - rg.softmax(x, 1)[:, :-1]) / (abs(y).max(1)[:, None] + 1),
        lambda x, y: np.diff(softmax(x)) / (abs(y).max(initial=-np.inf) + 1),
    ),
    (
        "of the reverse",
        lambda x, y: (x - x.mean(1)[:, None])[:, ::-1] * (y > y.mean(1)[:, None]),
        lambda x, y: (x - x.mean())[::-1] * (y > y.mean()) if len(x) else x,
    ),
    (
        "of ranks",
        lambda x, y: rg.argsort(rg.argsort(rg.softmax(x, 1), axis=1), axis=1) * y,
        lambda x, y: np.argsort(np.argsort(softmax(x), kind="stable"), kind="stable") * y,
    ),
]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("program", "expected"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_programs(program: Callable[..., Any], expected: Callable[..., Any], dtype: Any) -> None:
    x, y = (rg.from_lengths(RNG.standard_normal(int(LENGTHS.sum())).astype(dtype), LENGTHS) for _ in range(2))
    tolerance = 1e-4 if dtype == np.float32 else 1e-10
    for got, own, other in zip(rg.jit(program)(x, y), x, y, strict=True):
        np.testing.assert_allclose(got, expected(own, other), tolerance, tolerance)
