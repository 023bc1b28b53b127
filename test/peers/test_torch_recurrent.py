"""Recurrent networks as `rg.scan` against PyTorch's on packed sequences: results, last states, gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

torch: Any = pytest.importorskip("torch")

LENGTHS = (3, 17, 1, 40, 5, 5)
INPUTS, HIDDEN = 5, 8


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def lstm(weights: Any, state: Any, x: Any) -> Any:
    wi, wh, bi, bh = weights
    h, c = state
    i, f, g, o = (((x @ wi.T + bi) + (h @ wh.T + bh))[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(4))
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return (h, c), h


def gru(weights: Any, state: Any, x: Any) -> Any:
    wi, wh, bi, bh = weights
    (h,) = state
    a, b = x @ wi.T + bi, h @ wh.T + bh
    (ra, za, na), (rb, zb, nb) = ([y[:, k * HIDDEN : (k + 1) * HIDDEN] for k in range(3)] for y in (a, b))
    z = sigmoid(za + zb)
    h = (1 - z) * np.tanh(na + sigmoid(ra + rb) * nb) + z * h
    return (h,), h


@pytest.mark.parametrize(("name", "cell", "states"), [("LSTM", lstm, 2), ("GRU", gru, 1)])
def test_a_recurrent_network(name: str, cell: Any, states: int) -> None:
    rng = np.random.default_rng(0)
    net = getattr(torch, "nn").__dict__[name](INPUTS, HIDDEN, dtype=torch.float64)
    weights = tuple(p.detach().numpy().copy() for p in net.parameters())
    x = rg.from_lengths(rng.standard_normal((sum(LENGTHS), INPUTS)), LENGTHS)
    upstream = rg.from_lengths(rng.standard_normal((sum(LENGTHS), HIDDEN)), LENGTHS)
    ends = rng.standard_normal((states, len(LENGTHS), HIDDEN))

    def loss(x: Any, weights: Any) -> Any:
        start = tuple(np.zeros((len(LENGTHS), HIDDEN)) for _ in range(states))
        last, h = rg.scan(lambda state, x: cell(weights, state, x), start, x)
        return (h * upstream).sum() + sum((a * b).sum() for a, b in zip(last, ends, strict=True))

    value, (by_x, by_weights) = rg.value_and_grad(loss, argnums=(0, 1))(x, weights)
    parts = [torch.from_numpy(np.array(x[k])).requires_grad_() for k in range(len(LENGTHS))]
    packed, last = net(torch.nn.utils.rnn.pack_sequence(parts, enforce_sorted=False))
    rows = torch.cat(torch.nn.utils.rnn.unpack_sequence(packed))
    last = torch.stack([s[0] for s in (last if states == 2 else [last])])
    wanted = (rows * torch.from_numpy(upstream.values)).sum() + (last * torch.from_numpy(ends)).sum()
    wanted.backward()
    np.testing.assert_allclose(value, wanted.item())
    for found, p in zip(by_weights, net.parameters(), strict=True):
        np.testing.assert_allclose(found, p.grad.numpy(), rtol=1e-9, atol=1e-12)
    for k, part in enumerate(parts):
        np.testing.assert_allclose(by_x[k], part.grad.numpy(), rtol=1e-9, atol=1e-12)
