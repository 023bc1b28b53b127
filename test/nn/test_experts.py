"""A mixture of experts against a loop over tokens in float64, and against torch."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from support.refusals import Refusal, refused

import ragged_dialect as rg


class Layer(NamedTuple):
    """What `moe` takes, as arrays."""

    x: Any
    scores: Any
    gate: Any
    up: Any
    down: Any


def made(tokens: int, experts: int, hidden: int = 6, inner: int = 9, dtype: str = "float64", seed: int = 0) -> Layer:
    rng = np.random.default_rng(seed)
    shapes = [(tokens, hidden), (tokens, experts), *[(experts, hidden, inner)] * 2, (experts, inner, hidden)]
    return Layer(*(rng.standard_normal(shape).astype(dtype) for shape in shapes))


ACTIVATIONS = {"silu": lambda z: z / (1 + np.exp(-z)), "relu": lambda z: np.maximum(z, 0)}


def loop(layer: Layer, k: int, activation: str = "silu", normalized: bool = True) -> Any:
    """Token by token, expert by expert."""
    x, scores, gate, up, down = (a if a is None else a.astype("float64") for a in layer)
    out = np.zeros_like(x)
    for token, row in enumerate(scores):
        chosen = sorted(range(len(row)), key=lambda expert: (-row[expert], expert))[:k]
        shares = np.exp(row - row.max())
        shares /= shares[chosen].sum() if normalized else shares.sum()
        for expert in chosen:
            inner = x[token] @ up[expert]
            act = ACTIVATIONS[activation]
            inner = act(inner) if gate is None else act(x[token] @ gate[expert]) * inner
            out[token] += shares[expert] * (inner @ down[expert])
    return out


@pytest.mark.sampled(6)
@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_tokens_are_sums_of_what_experts_make_of_them(k: int, gated: bool) -> None:
    normalized, activation = k != 2, "relu" if gated else "silu"

    @rg.jit
    def call(*given: Any) -> Any:
        return rg.nn.moe(*given, k=k, activation=activation, normalized=normalized)

    for tokens, experts in ((40, 5), (1, 4), (0, 4), (9, 32)):
        layer = made(tokens, experts)
        layer = layer if gated else layer._replace(gate=None)
        expected = loop(layer, k, activation, normalized)
        np.testing.assert_allclose(call(*layer), expected, atol=1e-12)
    found = rg.nn.moe(*layer, k=k, activation=activation, normalized=normalized)
    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("dtype", "limit"), [("float32", 1e-5), ("float16", 2e-2)])
def test_short_floats_stay_what_they_are(dtype: str, limit: float) -> None:
    layer = made(30, 4, dtype=dtype)
    found = rg.nn.moe(*layer, k=2)
    assert found.dtype == dtype
    expected = loop(layer, 2)
    np.testing.assert_allclose(found.astype("float64"), expected, atol=limit * np.abs(expected).max())


@pytest.mark.slow
def test_ragged_tokens_keep_their_structure() -> None:
    layer, lengths = made(20, 4), np.array([0, 13, 0, 7])
    x, scores = (rg.from_lengths(a, lengths) for a in (layer.x, layer.scores))
    for given in (scores, layer.scores):
        found = rg.jit(lambda *given: rg.nn.moe(*given, k=2))(x, given, *layer[2:])
        assert found.lengths.tolist() == lengths.tolist()
        np.testing.assert_allclose(found.values, loop(layer, 2), atol=1e-12)
    cut = rg.nn.moe(x[:, 1:], scores[:, 1:], *layer[2:], k=2)
    np.testing.assert_allclose(cut.values, np.delete(loop(layer, 2), [0, 13], axis=0), atol=1e-12)


def test_all_tokens_may_go_to_one_expert_and_some_have_nan() -> None:
    layer = made(12, 4)
    layer.scores[:, 2] = 50
    layer.scores[3, 1] = np.nan
    found, expected = rg.nn.moe(*layer, k=1), loop(layer._replace(scores=np.nan_to_num(layer.scores)), 1)
    assert np.isnan(found[3]).all()
    np.testing.assert_allclose(np.delete(found, 3, 0), np.delete(expected, 3, 0), atol=1e-12)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("normalized", [False, True])
def test_its_gradients_are_those_of_finite_differences(normalized: bool) -> None:
    layer, upstream = made(9, 4), np.random.default_rng(1).standard_normal((9, 6))

    def loss(layer: Any) -> Any:
        return (rg.nn.moe(*layer, k=2, normalized=normalized) * upstream).sum()

    gradients = rg.grad(loss)(tuple(layer))
    rng, step = np.random.default_rng(2), 1e-6
    for number, gradient in enumerate(gradients):
        for _ in range(6):
            at = tuple(rng.integers(0, n) for n in gradient.shape)
            ends = []
            for sign in (1, -1):
                moved = layer[number].copy()
                moved[at] += sign * step
                value = loop(layer._replace(**{layer._fields[number]: moved}), 2, "silu", normalized)
                ends.append(float((value * upstream).sum()))
            np.testing.assert_allclose(gradient[at], (ends[0] - ends[1]) / (2 * step), atol=1e-6)


@pytest.mark.slow
def test_it_is_what_torch_makes() -> None:
    torch = pytest.importorskip("torch", reason="needs torch")
    layer, k = made(50, 6), 2
    x, scores, gate, up, down = (torch.tensor(a, requires_grad=True) for a in layer)
    best, chosen = scores.topk(k, dim=1)
    shares, expected = best.softmax(1), torch.zeros_like(x)
    for expert in range(6):
        rows, choice = torch.nonzero(chosen == expert, as_tuple=True)
        inner = torch.nn.functional.silu(x[rows] @ gate[expert]) * (x[rows] @ up[expert])
        expected = expected.index_add(0, rows, shares[rows, choice, None] * (inner @ down[expert]))
    (expected**2).sum().backward()
    found, gradients = rg.value_and_grad(lambda layer: (rg.nn.moe(*layer, k=k) ** 2.0).sum())(tuple(layer))
    np.testing.assert_allclose(found, float((expected**2).sum().detach()), rtol=1e-12)
    for ours, theirs in zip(gradients, (x, scores, gate, up, down), strict=True):
        np.testing.assert_allclose(ours, theirs.grad.numpy(), rtol=1e-9, atol=1e-9 * float(theirs.grad.abs().max()))


def layer() -> Layer:
    return made(5, 3)


def cut(layer: Layer, name: str, *at: Any) -> tuple[Any, ...]:
    return tuple(layer._replace(**{name: getattr(layer, name)[at]}))


ALL = slice(None)
REFUSED: list[Refusal] = [
    (
        lambda x: rg.nn.moe(
            rg.from_lengths(x.x, [5]), rg.partition(rg.from_lengths(x.scores, [2, 3]), [0, 2]), *x[2:], k=1
        ),
        rg.LayoutError,
        'moe: expected scores of the structure of the tokens, "dr|d", got "drr|',
    ),
    (lambda x: rg.nn.moe(*x, k=4), rg.RuntimeCheckError, "moe: k = 4: level 1: expected at least 4, got 3"),
    (lambda x: rg.nn.moe(*x, k=True), rg.ArgumentError, "moe: expected an integer for k, got bool"),
    (lambda x: rg.nn.moe(*x, k=2**63), rg.RuntimeCheckError, "moe: expected k in [-2**63, 2**63), got 922"),
    (lambda x: rg.nn.moe(*x, k=0), rg.ArgumentError, "moe: expected k of at least 1, got 0"),
    # one of extent 1, which is static, against one that is not
    (
        lambda x: rg.nn.moe(*cut(x, "gate", slice(1)), k=1),
        rg.RuntimeCheckError,
        "moe: gate: dim 0: expected extent 3, got 1",
    ),
    (
        lambda x: rg.nn.moe(*x, k=1, activation="swish"),
        rg.ArgumentError,
        "moe: expected an activation among gelu, relu, silu, got 'swish'",
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "x", 0), k=1),
        rg.LayoutError,
        'moe: expected tokens of layout "d|d" or ragged with one dense dim, got layout "d"',
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "up", 0), k=1),
        rg.ArgumentError,
        "moe: expected up of rank 3, a matrix for every expert, got float64 of rank 2",
    ),
    (lambda x: rg.nn.moe(*cut(x, "scores", ALL, 0), k=1), rg.LayoutError, 'moe: expected scores of layout "d|d"'),
    (
        lambda x: rg.nn.moe(*cut(x, "x", slice(4)), k=1),
        rg.RuntimeCheckError,
        "moe: scores: dim 0: expected extent 4, got 5",
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "gate", slice(2)), k=1),
        rg.RuntimeCheckError,
        "moe: gate: dim 0: expected extent 3, got 2",
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "down", ALL, slice(2)), k=1),
        rg.RuntimeCheckError,
        "moe: down: dim 1: expected extent 9, got 2",
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "x", ALL, slice(2)), k=1),
        rg.RuntimeCheckError,
        "moe: up: dim 1: expected extent 2, got 6",
    ),
    (
        lambda x: rg.nn.moe(rg.from_lengths(x.x, [2, 3]), rg.from_lengths(x.scores, [3, 2]), *x[2:], k=1),
        rg.RuntimeCheckError,
        "moe: scores: level 1, component 0: expected length ",
    ),
    (
        lambda x: rg.nn.moe(*cut(x, "down", ALL, ALL, slice(2)), k=1),
        rg.RuntimeCheckError,
        "moe: down: dim 2: expected extent 6, got 2",
    ),
    *(
        (
            lambda x, owned=owned, chunks=chunks: rg.nn.moe(*x, k=1, owned=(owned,), chunks=chunks),
            rg.RuntimeCheckError,
            f"moe: scores, beside owned ({owned},): dim 1: expected extent {owned}, got 3",
        )
        for owned in (2, 4)
        for chunks in (1, 2)
    ),
]

test_what_is_refused = refused(REFUSED, layer)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("skewed", [False, True])
def test_memory_is_that_of_the_rows(skewed: bool) -> None:
    """What is between the products is not kept for all tokens, whether experts have the same or one has all of them."""
    tokens, k, hidden, inner = 4096, 2, 64, 128
    layer = made(tokens, 16, hidden, inner, "float32")
    if skewed:
        layer.scores[:, 3:5] += 20
    use = rg.jit(lambda *given: rg.nn.moe(*given, k=k)).memory(*layer)
    assert use.peak <= 1.05 * tokens * k * (hidden + inner) * 4
