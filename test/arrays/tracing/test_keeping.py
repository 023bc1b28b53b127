"""What `vjp` and PyTorch's graphs keep of a function for the way back, and that gradients are as without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.arrays.core.tree import Static
from ragged_dialect.arrays.tracing.gradients import _valued
from ragged_dialect.errors import RuntimeCheckError

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
    "two levels": (lambda x: rg.layer_norm(rg.partition(x, [0, 1, 4], axis=0)), (X,), 2 * ROWS + 3),
    "windows": (lambda x: rg.softmax(x[:, 1:], axis=1) * 2.0, (X,), 7 * 4),
    "nothing": (lambda x: rg.softmax(x[:0], axis=1).sum(axis=1), (X,), 0),
}
"""Functions, their arguments, and how many float64 are kept beside these and results, copies of dense arrays of
NumPy among them and of those that functions hold on to."""


def parts(x: Any) -> Any:
    return x.values if isinstance(x, rg.RaggedArray) else x


def upstream(result: Any) -> Any:
    """A cotangent of a result."""
    made = np.random.default_rng(2).standard_normal(np.shape(parts(result)))
    return rg.like(result, made) if isinstance(result, rg.RaggedArray) else made


@pytest.mark.sampled(16)
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
@pytest.mark.sampled(2)
def test_the_function_is_not_computed_again(function: Any, arguments: Any, forward: str) -> None:
    result, kept, made = _valued(Static.of(function), True)(*arguments)
    with_it, without = (
        made.pull.lower(arguments, [], upstream(result), given).stages["ragged"] for given in (kept, [])
    )
    assert forward in without
    assert forward not in with_it


def test_gradients_are_those_of_what_was_traced() -> None:
    """A function is traced once: what else it reads of Python may be another thing when its gradient is computed."""
    factor, scale = 1.0, {"scale": W}
    given = []
    for factor in (1.0, 2.0, 3.0):
        given.append(rg.vjp(lambda x: np.tanh(x @ scale["scale"] * factor), X))
    scale["scale"] = W[:, :3].copy()
    for k, (result, pull) in enumerate(given, 1):
        expected = rg.vjp(lambda x, k=float(k): np.tanh(x @ W * k), X)[1](result)[0]
        np.testing.assert_array_equal(pull(result)[0].values, expected.values)


def test_arrays_that_are_written_before_their_gradient() -> None:
    """Dense ones are copied, arguments and those that a function holds on to."""
    w, scores = W.copy(), np.full(4, 0.5)
    result, pull = rg.vjp(lambda x, w: np.tanh(x[x @ scores > 0] @ w), X, w)
    expected = rg.vjp(lambda x, w: np.tanh(x[x @ np.full(4, 0.5) > 0] @ w), X, W)[1](result)
    w *= 0.5
    scores -= 2.0
    for found, wanted in zip(pull(result), expected, strict=True):
        np.testing.assert_array_equal(parts(found), parts(wanted))


def test_ragged_values_that_are_written_before_their_gradient() -> None:
    """These are not copied: other structures that are computed of them are an error. Masks are kept."""
    memory = np.full(ROWS, -1.0)
    held = rg.from_lengths(memory, LENGTHS)
    result, pull = rg.vjp(lambda x: (x[x.max(axis=2) * held > 0] ** 2).sum(), abs(X))
    memory[:] = 1.0
    assert not pull(result)[0].values.any()
    memory[:] = -1.0
    counts = lambda x: (x.max(axis=2) * held > 0).astype(int)  # noqa: E731 - of another list each time
    result, pull = rg.vjp(lambda x: rg.softmax(rg.repeat(x, counts(x), 1), axis=1).sum(), abs(X))
    memory[:] = 1.0
    with pytest.raises(RuntimeCheckError, match="vjp: dim 0: expected extent 10, got 0"):
        pull(result)
    result, pull = rg.vjp(lambda x: (x[held > 0] ** 2).sum(), abs(X))
    memory[:] = -1.0
    with pytest.raises(RuntimeCheckError, match="vjp: dim 0: expected extent 0, got 10"):
        pull(result)


def test_extents_are_no_part_of_the_program() -> None:
    function = lambda x: np.tanh(x @ x.T).sum()  # noqa: E731 - one function for all calls
    for count in range(2, 6):
        x = np.random.default_rng(count).random((count, 3))
        expected = 2 * (1 - np.tanh(x @ x.T) ** 2) @ x
        np.testing.assert_allclose(rg.vjp(function, x)[1](np.float64(1))[0], expected)
    _, _, made = _valued(Static.of(function), True)(x)
    assert made.pull.compilations == 1


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", KEPT)
def test_gradients_in_other_programs(name: str) -> None:
    """A pullback is called in a traced function, whose arguments are none of the function's."""
    function, arguments, _ = KEPT[name]
    result, pull = rg.vjp(function, *arguments)
    cotangent = upstream(result)
    others = (2.0, rg.from_lengths(np.ones((3, 7)), [1, 2]), np.ones(5))
    made = rg.jit(lambda s, z, v, c: (z.sum() + v.sum(), pull(c * s)))(*others, cotangent)[1]
    for own, expected in zip(made, pull(cotangent), strict=True):
        np.testing.assert_allclose(parts(own), 2 * parts(expected), rtol=1e-12, atol=1e-12)


def test_what_is_held_in_other_programs() -> None:
    held, ids = rows(4, seed=5), rg.from_lengths(np.array([0, 1, 0, 4, 1]), [2, 0, 2, 1])
    result, pull = rg.vjp(lambda x, k: (np.tanh(x[ids]) * k).max(axis=1) + (x * held).sum(axis=1), X, 3.0)
    made = rg.jit(lambda c: pull(c)[0])(upstream(result))
    np.testing.assert_allclose(made.values, pull(upstream(result))[0].values, rtol=1e-12)


def test_what_is_computed_twice_is_kept_once() -> None:
    fixed = W.copy()
    fixed.flags.writeable = False
    function = lambda x, w: np.sign(x @ w) * x + np.abs(x @ w)  # noqa: E731 - it has two uses
    result, pull = rg.vjp(function, X, fixed)
    assert pull.kept_bytes == ROWS * 4 * 8
    again = rg.jit(lambda given, c: rg.vjp(function, *given)[1](c))((X, fixed), upstream(result))
    for own, expected in zip(pull(upstream(result)), again, strict=True):
        np.testing.assert_allclose(parts(own), parts(expected), rtol=1e-12, atol=1e-12)


def test_booleans_are_kept() -> None:
    """Of a product whose sign alone is read a byte for each number."""
    fixed = W.copy()
    fixed.flags.writeable = False
    function = lambda x, w: rg.where(x @ w > 0, x, 2.0 * x)  # noqa: E731 - it has two uses
    result, pull = rg.vjp(function, X, fixed)
    assert pull.kept_bytes in (ROWS * 4, ROWS * 4 * 8)  # as the comparison is an op of its own or part of a loop
    again = rg.jit(lambda given, c: rg.vjp(function, *given)[1](c))((X, fixed), upstream(result))
    np.testing.assert_allclose(pull(upstream(result))[0].values, again[0].values)


@pytest.mark.parametrize("changed", ["dense", "ragged"])
def test_tensors_that_are_changed(changed: str) -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    w, values = torch.tensor(W), torch.tensor(X.values)
    result, pull = rg.vjp(lambda x, w: rg.softmax(x @ w, axis=1), rg.from_lengths(values, LENGTHS), w)
    expected = pull(result)
    {"dense": w, "ragged": values}[changed].mul_(2)
    with pytest.raises(
        rg.ArgumentError, match=r"vjp: expected tensors as they were, got one of shape \(.*, 4\) of float64"
    ):
        pull(result)
    assert len(expected) == 2


@pytest.mark.parametrize("data", ["small", "transposed", "of another dtype"])
def test_tensors_of_other_memory(data: str) -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    w = torch.tensor(W)
    result, pull = rg.vjp(lambda x, w: np.tanh(x @ w), rg.from_lengths(torch.tensor(X.values), LENGTHS), w)
    w.data = {"small": w[:1, :1].clone(), "transposed": w.t().contiguous().t(), "of another dtype": w.float()}[data]
    with pytest.raises(rg.ArgumentError, match="vjp: expected tensors as they were"):
        pull(result)


def test_results_that_are_arguments() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    x = np.exp(rg.from_lengths(torch.tensor(X.values), LENGTHS))
    result, pull = rg.vjp(lambda x: x * x, x)
    x.values.mul_(2)
    with pytest.raises(rg.ArgumentError, match="vjp: expected tensors as they were"):
        pull(result)


def test_tensors_that_are_changed_between_calls_of_a_program() -> None:
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    x, w = rg.from_lengths(torch.tensor(X.values), LENGTHS), torch.tensor(W)
    result, pull = rg.vjp(lambda x, w: rg.softmax(x @ w, axis=1) * x, x, w)
    made = rg.jit(lambda c: pull(c))
    made(result)
    w.mul_(2)
    with pytest.raises(rg.ArgumentError, match="vjp: expected tensors as they were"):
        made(result)


def test_results_that_are_changed() -> None:
    """Those of PyTorch are not read-only: what is kept of them is a copy."""
    torch = pytest.importorskip("torch", reason="no torch (pip install torch)")
    result, pull = rg.vjp(lambda x: rg.softmax(x, axis=1), rg.from_lengths(torch.tensor(X.values), LENGTHS))
    cotangent = rg.from_lengths(torch.tensor(rows(4, seed=3).values), LENGTHS)
    expected = pull(cotangent)[0].values.clone()
    assert pull.kept_bytes == ROWS * 4 * 8
    result.values.mul_(2)
    assert torch.equal(pull(cotangent)[0].values, expected)
