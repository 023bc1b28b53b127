"""What `vjp` and PyTorch's graphs keep of a function for the way back, and that gradients are as without."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.tracing.gradients import _pulling
from ragged_dialect.errors import TraceError

LENGTHS = [3, 0, 5, 2]
ROWS, COMPONENTS = sum(LENGTHS), len(LENGTHS)


def rows(*features: int, seed: int = 0) -> rg.RaggedArray:
    return rg.from_lengths(np.random.default_rng(seed).standard_normal((ROWS, *features)), LENGTHS)


X, W = rows(4), np.random.default_rng(1).standard_normal((4, 4))
HEADS = rows(2, 3)

KEPT: dict[str, tuple[Any, tuple[Any, ...], int]] = {
    "elementwise": (lambda x: np.exp(x) * x, (X,), 0),
    "linear": (lambda x: x.sum(axis=1), (X,), 0),
    "a result": (lambda x: rg.softmax(x, axis=1), (X,), 0),
    "a dense result": (lambda x: x.max(axis=1), (X,), COMPONENTS * 4),
    "statistics of rows": (lambda x: rg.layer_norm(x), (X,), 2 * ROWS),
    "statistics of components": (lambda x: np.exp(x.max(axis=1)), (X,), COMPONENTS * 4),
    "attention": (lambda q: rg.attention(q, q, q), (HEADS,), ROWS * 2),
    "a product": (lambda x, w: np.tanh(x @ w), (X, W), ROWS * 4),
    "a product alone": (lambda x, w: x @ w, (X, W), 0),
    "a scan": (lambda x: np.exp(rg.cumsum(x, axis=1)), (X,), ROWS * 4),
    "a gradient that is kept": (lambda x, w: x.sum() * w.sum(), (X, W), 2),
    "two levels": (lambda x: rg.layer_norm(rg.partition(x, [0, 1, 4], axis=0)), (X,), 2 * ROWS),
    "windows": (lambda x: rg.softmax(x[:, 1:], axis=1) * 2.0, (X,), 7 * 4),
    "nothing": (lambda x: rg.softmax(x[:0], axis=1).sum(axis=1), (X,), 0),
}
"""Functions, their arguments, and how many float64 are kept beside these and results."""


def parts(x: Any) -> Any:
    return x.values if isinstance(x, rg.RaggedArray) else x


def upstream(result: Any) -> Any:
    """A cotangent of a result."""
    made = np.random.default_rng(2).standard_normal(np.shape(parts(result)))
    return rg.like(result, made) if isinstance(result, rg.RaggedArray) else made


@pytest.mark.parametrize("name", KEPT)
def test_gradients_of_what_is_kept(name: str) -> None:
    function, arguments, count = KEPT[name]
    result, pull = rg.vjp(function, *arguments)
    assert pull.kept_bytes == 8 * count
    cotangent = upstream(result)
    again = rg.jit(lambda given, c: rg.vjp(function, *given)[1](c))(arguments, cotangent)
    for own, expected in zip(pull(cotangent), again, strict=True):
        np.testing.assert_allclose(parts(own), parts(expected), rtol=1e-12, atol=1e-12)


def test_a_result_that_the_caller_writes() -> None:
    result, pull = rg.vjp(lambda x: x.max(axis=1), X)
    cotangent = np.ones((COMPONENTS, 4))
    expected = pull(cotangent)[0].values.copy()
    result[:] = 0
    np.testing.assert_array_equal(pull(cotangent)[0].values, expected)


def test_the_function_is_not_computed_again() -> None:
    value, pull = _pulling(Static.of(lambda q: rg.attention(q, q, q)))
    _, kept = value(HEADS)
    for given, forward in ((kept, False), ([], True)):
        program = pull.lower((HEADS,), HEADS, given).stages["ragged"]
        assert "ragged.attention_vjp_q " in program
        assert ("ragged.attention " in program) == forward


def test_a_function_that_is_another_one_each_time() -> None:
    times = iter(range(100))
    _, pull = rg.vjp(lambda x: np.tanh(x @ W) if next(times) < 2 else np.exp(x), X)
    text = re.escape("vjp: expected a function that does the same whenever it is traced, got another one")
    with pytest.raises(TraceError, match=text):
        pull(X)
