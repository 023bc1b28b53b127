"""What `vjp` and PyTorch's graphs keep of a function for the way back, and that gradients are as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.tracing.gradients import _pulling
from ragged_dialect.errors import RuntimeCheckError, TraceError

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
    "a product": (lambda x, w: np.tanh(x @ w), (X, W), ROWS * 4 + W.size),
    "a product alone": (lambda x, w: x @ w, (X, W), W.size),
    "a scan": (lambda x: np.exp(rg.cumsum(x, axis=1)), (X,), ROWS * 4),
    "a gradient that is kept": (lambda x, w: x.sum() * w.sum(), (X, W), 2 + W.size),
    "two levels": (lambda x: rg.layer_norm(rg.partition(x, [0, 1, 4], axis=0)), (X,), 2 * ROWS),
    "windows": (lambda x: rg.softmax(x[:, 1:], axis=1) * 2.0, (X,), 7 * 4),
    "nothing": (lambda x: rg.softmax(x[:0], axis=1).sum(axis=1), (X,), 0),
}
"""Functions, their arguments, and how many float64 are kept beside these and results, copies of NumPy arrays among
them."""


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


@pytest.mark.parametrize(
    ("function", "arguments", "forward"),
    [
        (lambda q: rg.attention(q, q, q), (HEADS,), "ragged.attention "),
        (lambda x: x.max(axis=1), (X,), "arith.maximumf"),
    ],
)
def test_the_function_is_not_computed_again(function: Any, arguments: Any, forward: str) -> None:
    value, pull = _pulling(Static.of(function), True)
    result, kept = value(*arguments)
    with_it, without = (pull.lower(arguments, upstream(result), given).stages["ragged"] for given in (kept, []))
    assert forward in without
    assert forward not in with_it


def test_a_function_that_is_another_one_each_time() -> None:
    times = iter(range(100))
    _, pull = rg.vjp(lambda x: np.tanh(x @ W) if next(times) < 2 else np.exp(x), X)
    text = "vjp: expected nothing to be kept, got f64 of rank 2: a function has to do the same whenever it is traced"
    with pytest.raises(TraceError, match=text):
        pull(X)


def test_arguments_that_are_written_before_their_gradient() -> None:
    """Dense ones are copied; structures that are computed of what was changed are other ones, which is an error."""
    w = W.copy()
    _, pull = rg.vjp(lambda x, w: np.tanh(x @ w), X, w)
    expected = rg.vjp(lambda x, w: np.tanh(x @ w), X, W)[1](X)
    w *= 0.5
    for found, wanted in zip(pull(X), expected, strict=True):
        np.testing.assert_array_equal(parts(found), parts(wanted))
    scores = np.full(4, -1.0)
    x = abs(X)
    result, pull = rg.vjp(lambda x: rg.softmax(x[x @ scores > 0], axis=1).sum(), x)
    scores += 2.0
    with pytest.raises(RuntimeCheckError, match="vjp: level 0: expected extent 10, got 0"):
        pull(result)


def test_a_function_of_another_extent() -> None:
    weights = [W]
    _, pull = rg.vjp(lambda x: np.tanh(x @ weights[0]).sum(), X)
    weights[0] = W[:, :3].copy()
    with pytest.raises(RuntimeCheckError, match="vjp: level 1: expected extent 3, got 4"):
        pull(np.float64(1))


def test_extents_are_no_part_of_the_program() -> None:
    function = lambda x: np.tanh(x @ x.T).sum()  # noqa: E731 - one function for all calls
    for count in range(2, 6):
        x = np.random.default_rng(count).random((count, 3))
        expected = 2 * (1 - np.tanh(x @ x.T) ** 2) @ x
        np.testing.assert_allclose(rg.vjp(function, x)[1](np.float64(1))[0], expected)
    assert _pulling(Static.of(function), True)[1].compilations == 1
