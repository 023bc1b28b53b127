"""A recurrent network beside PyTorch and JAX: `python benchmarks/recurrent.py`.

An LSTM over sequences of lognormal lengths, float32: its states, and loss and gradients by its weights. Ours is
`rg.scan` in one program, PyTorch's `nn.LSTM` of a packed sequence, JAX's `lax.scan` of padded sequences with a mask.
The least of some calls in turn, after the results were found equal.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from common import Array, compared, describe, lognormal_lengths

MEAN, SIGMA = 56.0, 0.5

Weights = tuple[Array, ...]
Step = Callable[[], Any]


class Problem:
    """Sequences, their lengths, what the states are multiplied by, and weights in PyTorch's order of gates."""

    def __init__(self, sequences: int, inputs: int, hidden: int) -> None:
        rng = np.random.default_rng(0)
        self.lengths = np.maximum(lognormal_lengths(sequences, MEAN, SIGMA), 1)
        self.hidden, total = hidden, int(self.lengths.sum())
        shapes = (total, inputs), (total, hidden), (inputs, 4 * hidden), (hidden, 4 * hidden), (4 * hidden,)
        self.rows, self.upstream, *given = (rng.standard_normal(shape).astype(np.float32) for shape in shapes)
        self.weights: Weights = tuple(np.float32(0.1) * w for w in given)
        self.start = np.zeros((sequences, hidden), np.float32)


def ours(problem: Problem) -> tuple[Step, Step]:
    """The states, and a step of training, as one program each."""
    import ragged_dialect as rg

    hidden = problem.hidden
    x, upstream = (rg.from_lengths(rows, problem.lengths) for rows in (problem.rows, problem.upstream))

    def sigmoid(x: Any) -> Any:
        return 1 / (1 + np.exp(-x))

    def states(weights: Weights, x: Any) -> Any:
        by_x, by_h, bias = weights

        def cell(state: Any, given: Any) -> Any:
            h, c = state
            i, f, u, o = (z[:, k * hidden : (k + 1) * hidden] for z in [given + h @ by_h] for k in range(4))
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(u)
            h = sigmoid(o) * np.tanh(c)
            return (h, c), h

        return rg.scan(cell, (problem.start, problem.start), x @ by_x + bias)[1]

    forward = rg.jit(states)
    step = rg.value_and_grad(lambda weights, x: (states(weights, x) * upstream).sum())
    return lambda: forward(problem.weights, x).values, lambda: step(problem.weights, x)


def pytorch(problem: Problem) -> tuple[Step, Step]:
    """Those of a packed sequence."""
    import torch

    torch.set_num_threads(int(os.environ["RAGGED_NUM_THREADS"]))
    nn: Any = torch.nn
    by_x, by_h, bias = problem.weights
    net = nn.LSTM(by_x.shape[0], problem.hidden)
    with torch.no_grad():
        for own, w in zip(net.parameters(), (by_x.T, by_h.T, bias, 0 * bias), strict=True):
            own.copy_(torch.tensor(np.ascontiguousarray(w)))

    def packed(rows: Array) -> Any:
        parts = [torch.tensor(part) for part in np.split(rows, np.cumsum(problem.lengths)[:-1])]
        return nn.utils.rnn.pack_sequence(parts, enforce_sorted=False)

    x, upstream = packed(problem.rows), packed(problem.upstream)

    def forward() -> Array:
        with torch.no_grad():
            return torch.cat(nn.utils.rnn.unpack_sequence(net(x)[0])).numpy()

    def step() -> tuple[float, Weights]:
        net.zero_grad()
        loss = (net(x)[0].data * upstream.data).sum()
        loss.backward()
        w, u, b, _ = (p.grad.numpy() for p in net.parameters())
        return loss.item(), (w.T, u.T, b)

    return forward, step


def jax(problem: Problem) -> tuple[Step, Step]:
    """Those of padded sequences."""
    os.environ["XLA_FLAGS"] = f"--xla_cpu_multi_thread_eigen={os.environ['RAGGED_NUM_THREADS'] != '1'}".lower()
    import jax
    import jax.numpy as jnp

    lengths, longest = problem.lengths, int(problem.lengths.max())
    there = np.arange(longest) < lengths[:, None]
    mask = jnp.asarray(there.T[:, :, None].astype(np.float32))

    def padded(rows: Array) -> Any:
        whole = np.zeros((len(lengths), longest, rows.shape[1]), np.float32)
        whole[there] = rows
        return jnp.asarray(whole.swapaxes(0, 1))

    x, upstream, weights = padded(problem.rows), padded(problem.upstream), tuple(map(jnp.asarray, problem.weights))

    def states(weights: Any, x: Any) -> Any:
        by_x, by_h, bias = weights

        def cell(state: Any, given: Any) -> Any:
            h, c = state
            i, f, u, o = jnp.split(given + h @ by_h, 4, axis=1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(u)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h

        start = jnp.asarray(problem.start)
        return jax.lax.scan(cell, (start, start), x @ by_x + bias)[1] * mask

    forward = jax.jit(states)
    step = jax.jit(jax.value_and_grad(lambda weights, x: (states(weights, x) * upstream).sum()))
    return (
        lambda: np.asarray(forward(weights, x).block_until_ready()),
        lambda: jax.block_until_ready(step(weights, x)),
    )


def main() -> None:
    """Print a row for each problem."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", default=["8,32,32", "64,32,32", "256,64,64", "256,64,128"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=5)
    options = parser.parse_args()
    os.environ["RAGGED_NUM_THREADS"] = str(options.threads)
    print("| sequences, inputs, hidden | | ours, ms | PyTorch packed | JAX padded |\n|---|---|---|---|---|")
    for size in options.sizes:
        problem = Problem(*map(int, size.split(",")))
        print(describe(problem.lengths), file=sys.stderr)
        made = {"ours": ours(problem)}
        for name, peer in (("PyTorch", pytorch), ("JAX", jax)):
            try:
                made[name] = peer(problem)
            except ImportError:
                print(f"{name} is not installed", file=sys.stderr)
        (value, gradients), *others = (steps[1]() for steps in made.values())
        for other, found in others:
            np.testing.assert_allclose(value, other, rtol=1e-3, atol=1e-2)
            for own, w in zip(gradients, found, strict=True):
                np.testing.assert_allclose(own, np.asarray(w), atol=1e-3 * float(abs(own).max()))
        for k, kind in enumerate(("states", "training")):
            cells = compared({name: steps[k] for name, steps in made.items()}, options.repetitions)
            print(f"| {size} | {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
