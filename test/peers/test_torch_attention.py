"""Attention with scores of functions, and with masks, against PyTorch's `flex_attention` of each component; gradients,
which that has not on CPUs, against those of products and a softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

torch = pytest.importorskip("torch")
flex: Any = pytest.importorskip("torch.nn.attention.flex_attention").flex_attention

LENGTHS = (3, 17, 1, 64)
HEADS, DIM = 4, 16
RNG = np.random.default_rng(0)
SLOPES = RNG.random(HEADS).astype(np.float32)
TABLE = RNG.standard_normal((HEADS, 17)).astype(np.float32)
BIAS = RNG.standard_normal((HEADS, 64, 64)).astype(np.float32)
SLOPES_OF_TORCH, TABLE_OF_TORCH, BIAS_OF_TORCH = map(torch.from_numpy, (SLOPES, TABLE, BIAS))

Score = Callable[..., Any]

CASES: dict[str, tuple[Score, Score]] = {
    "alibi": (
        lambda s, b, h, i, j: s - rg.take(SLOPES, h) * (i - j),
        lambda s, b, h, i, j: s - SLOPES_OF_TORCH[h] * (i - j),
    ),
    "relative": (
        lambda s, b, h, i, j: s + rg.take(rg.take(TABLE, h), rg.clip(i - j, -8, 8) + 8),
        lambda s, b, h, i, j: s + TABLE_OF_TORCH[h, torch.clamp(i - j, -8, 8) + 8],
    ),
    "softcap": (lambda s, *_: 2 * np.tanh(s / 2), lambda s, *_: 2 * torch.tanh(s / 2)),
    "sliding": (
        lambda s, b, h, i, j: rg.where((i >= j) & (i - j <= 5), s, -np.inf),
        lambda s, b, h, i, j: torch.where((i >= j) & (i - j <= 5), s, -torch.inf),
    ),
    "bias": (
        lambda s, b, h, i, j: s + rg.take(rg.take(rg.take(BIAS, h), i), j),
        lambda s, b, h, i, j: s + BIAS_OF_TORCH[h, i, j],
    ),
}


def arrays() -> list[Any]:
    return [RNG.standard_normal((sum(LENGTHS), HEADS, DIM)).astype(np.float32) for _ in range(3)]


def of_torch(given: list[Any], attend: Callable[..., Any]) -> Any:
    """The results of all components, of tensors [rows, heads, dim]."""
    parts = [[p.transpose(0, 1)[None] for p in x.split(LENGTHS)] for x in given]
    return torch.cat([attend(*one)[0].transpose(0, 1) for one in zip(*parts, strict=True)])


@pytest.mark.filterwarnings("ignore")  # PyTorch warns that it is slow where it is not compiled
@pytest.mark.parametrize("name", CASES)
def test_scores(name: str) -> None:
    given, (ours, theirs) = arrays(), CASES[name]
    ragged = [rg.from_lengths(x, LENGTHS) for x in given]
    wanted = of_torch([torch.from_numpy(x) for x in given], lambda *one: flex(*one, score_mod=theirs))
    np.testing.assert_allclose(rg.attention(*ragged, score=ours).values, wanted, rtol=1e-4, atol=1e-5)
    if name == "bias":
        np.testing.assert_allclose(rg.attention(*ragged, mask=BIAS).values, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", CASES)
def test_gradients(name: str) -> None:
    given, (ours, theirs) = arrays(), CASES[name]

    def attend(q: Any, k: Any, v: Any) -> Any:
        head, i, j = (torch.arange(n).reshape(shape) for n, shape in
                      ((HEADS, (-1, 1, 1)), (q.shape[2], (-1, 1)), (k.shape[2], (1, -1))))  # fmt: skip
        scores = theirs(q @ k.transpose(2, 3) * DIM**-0.5, 0, head, i, j)
        return torch.softmax(scores, -1) @ v

    tensors = [torch.from_numpy(x).requires_grad_() for x in given]
    (of_torch(tensors, attend) ** 2).sum().backward()
    ragged = [rg.from_lengths(x, LENGTHS) for x in given]
    found = rg.grad(lambda q, k, v: (rg.attention(q, k, v, score=ours) ** 2).sum(), argnums=(0, 1, 2))(*ragged)
    for made, of in zip(found, tensors, strict=True):
        np.testing.assert_allclose(made.values, of.grad, rtol=1e-3, atol=1e-4)
