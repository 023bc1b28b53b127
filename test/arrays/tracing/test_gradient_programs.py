"""Gradients of random programs, whose structures have empty components, against differences."""

import numpy as np
import pytest

import ragged_dialect as rg

STEPS = {
    "sin": lambda x, y, w: np.sin(x),
    "tanh": lambda x, y, w: np.tanh(x * 2.0),
    "product": lambda x, y, w: x * y,
    "quotient": lambda x, y, w: x / (1.0 + y * y),
    "choice": lambda x, y, w: rg.where(x > 0.3, x, y * 0.5),
    "linear": lambda x, y, w: np.tanh(x @ w),
    "centred": lambda x, y, w: x - 0.3 * x.sum(axis=1, keepdims=True),
    "largest": lambda x, y, w: x * x.max(axis=2, keepdims=True),
    "most": lambda x, y, w: x + x.sum(axis=2, keepdims=True) * y,
    "softmax": lambda x, y, w: rg.softmax(x, axis=1),
    "features": lambda x, y, w: rg.softmax(x, axis=2) * y,
    "norm": lambda x, y, w: rg.rms_norm(x, eps=0.1),
    "running": lambda x, y, w: np.tanh(rg.cumsum(x, axis=1)),
    "attention": lambda x, y, w: rg.attention(x, y, x),
}
"""What makes an array of two with its structure."""

CHANGES = {
    "reversed": lambda x: x[:, ::-1],
    "rest": lambda x: x[:, 1:],
    "twice": lambda x: rg.concat([x, np.sin(x)], axis=1),
    "some": lambda x: x[1:],
    "lists": lambda x: rg.concat([x, x[:, :1]], axis=0),
    "squared": lambda x: x * x,
}
"""What makes an array with a structure of its own."""


def program(rng):
    """A function of an array and a matrix to a number, and what it is made of."""
    first = rng.choice(list(STEPS), 3)
    change = rng.choice(list(CHANGES))
    last = rng.choice(list(STEPS), 2)

    def run(x, w):
        before, now = x, x
        for name in first:
            before, now = now, STEPS[name](now, before, w)
        now = CHANGES[change](now)
        before = now * 0.5
        for name in last:
            before, now = now, STEPS[name](now, before, w)
        return (now * np.sin(now)).sum() + (w * w).sum()

    return run, (*first, change, *last)


def structures(rng):
    """Lengths of batches: without an element, without a component, and with empty components."""
    return [[0, 0], [], *([*rng.integers(0, 4, rng.integers(1, 5)).tolist(), 0] for _ in range(2))]


def run_program(seed):
    rng = np.random.default_rng(seed)
    function, names = program(rng)
    gradient = rg.value_and_grad(function, argnums=(0, 1))
    jitted = rg.jit(function)
    for lengths in structures(rng):
        x = rg.from_lengths(rng.standard_normal((sum(lengths), 2)), lengths)
        w = rng.standard_normal((2, 2))
        dx, dw = rng.standard_normal(x.values.shape), rng.standard_normal(w.shape)
        value, (gx, gw) = gradient(x, w)
        step = 1e-6

        def at(amount, x=x, w=w, dx=dx, dw=dw):
            return jitted(rg.like(x, x.values + amount * dx), w + amount * dw)

        expected = (at(step) - at(-step)) / (2 * step)
        got = (gx.values * dx).sum() + (gw * dw).sum()
        assert np.isclose(value, jitted(x, w)), (seed, names, lengths)
        assert abs(got - expected) < 1e-6 * max(1, abs(expected), np.abs(gx.values).max(initial=0)), (
            seed, names, lengths, got, expected,
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    run_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 60))
def test_more_random_programs(seed):
    run_program(seed)
