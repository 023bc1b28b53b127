"""Products against loops over the components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, dense
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
OTHER = (2, 4, 0, 3)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_matmul_with_weights(lengths: tuple[int, ...]) -> None:
    x, w = array(lengths), dense((4,), (5,), seed=1)
    parts = components(x)
    assert_components(x @ w, [c @ w for c in parts])
    assert_components(x @ w[:, 0], [c @ w[:, 0] for c in parts])
    own = np.random.default_rng(2).standard_normal((len(lengths), 4, 3)).astype(np.float32)
    assert_components(x @ own, [c @ m for c, m in zip(parts, own, strict=True)])


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "?"])
def test_matmul_of_other_dtypes(dtype: str) -> None:
    x, w = array((3, 0, 5), dtype=dtype), dense((4,), (5,), dtype, 1)
    got = x @ w
    assert got.dtype == (x.values @ w).dtype
    np.testing.assert_allclose(got.values.astype(np.float64), (x.values @ w).astype(np.float64), 2e-3, 2e-3)


def test_transposed_matmul_and_einsum() -> None:
    x, y = array(LENGTHS), array(LENGTHS, (3,), seed=1)
    expected = [a.T @ b for a, b in zip(components(x), components(y), strict=True)]
    np.testing.assert_allclose(rg.transposed_matmul(x, y), expected, 1e-5, 1e-5)
    np.testing.assert_allclose(rg.einsum("blk,bln->bkn", x, y), expected, 1e-5, 1e-5)
    assert not rg.transposed_matmul(x, y)[1].any()
    np.testing.assert_allclose(rg.einsum("blk->bk", x), x.sum(1), 1e-5, 1e-5)
    assert_components(rg.einsum("blk,k->bl", x, np.ones(4, np.float32)), [c.sum(1) for c in components(x)])


def test_scores_are_ragged_in_both() -> None:
    q, k = array(LENGTHS), array(OTHER, seed=1)
    got = rg.einsum("bid,bjd->bij", q, k)
    assert str(got.layout) == "drr"
    expected = [a @ b.T for a, b in zip(components(q), components(k), strict=True)]
    for part, scores in zip(got.unbind(), expected, strict=True):
        np.testing.assert_allclose(part.values.reshape(scores.shape), scores, 1e-5, 1e-5)


def attend(q: Any, k: Any, v: Any, causal: bool) -> Any:
    """Attention within one component."""
    if not len(k):
        return np.zeros((len(q), v.shape[1]), np.float32)
    scores = q @ k.T / np.sqrt(q.shape[1])
    scores = np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf) if causal else scores
    e = np.exp(scores - scores.max(1, keepdims=True, initial=-np.inf))
    return e / e.sum(1, keepdims=True) @ v


@pytest.mark.parametrize("causal", [False, True])
def test_attention(causal: bool) -> None:
    q, k, v = array(LENGTHS), array(OTHER, seed=1), array(OTHER, (6,), seed=2)
    parts = zip(components(q), components(k), components(v), strict=True)
    assert_components(rg.attention(q, k, v, causal=causal), [attend(*p, causal) for p in parts])


def test_attention_with_heads() -> None:
    q, k, v = array(LENGTHS, (2, 4)), array(OTHER, (2, 4), seed=1), array(OTHER, (2, 3), seed=2)
    expected = [
        np.stack([attend(a[:, h], b[:, h], c[:, h], False) for h in range(2)], 1)
        for a, b, c in zip(components(q), components(k), components(v), strict=True)
    ]
    assert_components(rg.attention(q, k, v), expected)


@pytest.mark.parametrize("causal", [False, True])
def test_attention_with_fewer_heads_of_keys(causal: bool) -> None:
    q, k, v = array(LENGTHS, (6, 4)), array(OTHER, (2, 4), seed=1), array(OTHER, (2, 3), seed=2)
    expected = [
        np.stack([attend(a[:, h], b[:, h // 3], c[:, h // 3], causal) for h in range(6)], 1)
        for a, b, c in zip(components(q), components(k), components(v), strict=True)
    ]
    assert_components(rg.attention(q, k, v, causal=causal), expected)


REFUSED: list[Refusal] = [
    (lambda x: x @ np.ones((5, 2), np.float32), rg.RuntimeCheckError, "matmul: dim 0: expected extent 4, got 5"),
    (lambda x: x @ np.ones((3, 4, 2), np.float32), rg.RuntimeCheckError, "matmul: dim 0: expected extent 4, got 3"),
    (lambda x: x @ np.ones((1, 1, 1, 4, 2)), TypeError,
     "matmul: expected a second array of rank 4 at most, got rank 5"),
    (lambda x: x @ 2.0, TypeError, "matmul: expected arrays of rank 1 or more, got a number"),
    (lambda x: rg.transposed_matmul(x, array(OTHER)), rg.RuntimeCheckError,
     "transposed_matmul: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.attention(x, array((1, 2)), array((1, 2))), rg.RuntimeCheckError,
     "attention: dim 0: expected extent 4, got 2"),
    (lambda x: rg.attention(x, x, array(OTHER)), rg.RuntimeCheckError,
     "attention: level 1, component 0: expected length 3, got 2"),
    (lambda x: rg.attention(x, x, x[..., 0]), TypeError,
     "attention: expected arrays of rank 3 or 4, got ranks 3, 3 and 2"),
    (lambda x: rg.einsum("bll->bl", x), TypeError, "einsum: expected subscripts of 1 operands, got 'bll->bl'"),
    (lambda x: rg.einsum("blk->bz", x), TypeError, 
     "einsum: expected a result of letters of the operands, got 'blk->bz'"),
    (lambda x: rg.einsum("bk->b", x), TypeError, "einsum: expected an array of rank 2, got rank 3"),
    (lambda x: rg.einsum("blk->lk", x), rg.LayoutError, "batch of ragged dim 'l' before it in the result, got none"),
    (lambda x: rg.attention(array(LENGTHS, (3, 4)), array(LENGTHS, (2, 4)), array(LENGTHS, (2, 4))), rg.LayoutError,
     "attention: expected heads of q that are a multiple of 2, got 3"),
    (lambda x: rg.jit(lambda a: rg.attention(a, a, a), dynamic_dims=(2,))(x), TypeError,
     "attention: expected a scale for a dynamic feature dim, got none"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))
