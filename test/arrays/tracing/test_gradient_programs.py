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
    "tiles": lambda x: rg.merge(np.sin(rg.split(x, 1, 2)) * 2.0, axis=1),
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


LISTS = {
    "sin": lambda x, y, w: np.sin(x),
    "product": lambda x, y, w: x * y,
    "linear": lambda x, y, w: np.tanh(x @ w),
    "inner softmax": lambda x, y, w: rg.softmax(x, axis=2),
    "outer softmax": lambda x, y, w: rg.softmax(x, axis=(1, 2)) * y,
    "inner centred": lambda x, y, w: x - 0.3 * x.sum(axis=2, keepdims=True),
    "inner largest": lambda x, y, w: x * x.max(axis=3, keepdims=True),
    "norm": lambda x, y, w: rg.rms_norm(x, eps=0.1),
    "lists": lambda x, y, w: x + (x * y).sum(axis=2, keepdims=True),
    "running": lambda x, y, w: np.tanh(rg.cumsum(x, axis=2)),
}
"""What makes an array of two lists of lists with its structure."""

LIST_CHANGES = {
    "reversed": lambda x: x[:, :, ::-1],
    "some": lambda x: x[1:],
    "batches": lambda x: rg.concat([x, np.sin(x)], axis=0),
    "inner lists": lambda x: rg.concat([x, x * x], axis=2),
    "outer lists": lambda x: rg.concat([x, np.sin(x)], axis=1),
}

LAST = {
    "inner": lambda x: x.max(axis=2),
    "merged": lambda x: rg.softmax(rg.merge(x, axis=1), axis=1),
    "components": lambda x: rg.merge(x, axis=0).sum(axis=1),
    "both": lambda x: x.sum(axis=(1, 2)),
    "padded": rg.to_padded,
}


def list_program(rng):
    """As `program`, of lists of lists."""
    first, last = rng.choice(list(LISTS), 2), rng.choice(list(LISTS))
    change, end = rng.choice(list(LIST_CHANGES)), rng.choice(list(LAST))

    def run(x, w):
        before, now = x, x
        for name in first:
            before, now = now, LISTS[name](now, before, w)
        now = LIST_CHANGES[change](now)
        now = LAST[end](LISTS[last](now, now * 0.5, w))
        return np.tanh(now).sum()  # a max of nothing is -inf

    return run, (*first, change, last, end)


def structures(rng):
    """Lengths of batches: without an element, without a component, and with empty components."""
    return [[0, 0], [], *([*rng.integers(0, 4, rng.integers(1, 5)).tolist(), 0] for _ in range(2))]


def lists_of(rng, lengths):
    """Lists of lists of rows: inner lists of 0 to 2."""
    inner = rng.integers(0, 3, sum(lengths))
    return rg.from_lengths(rng.standard_normal((inner.sum(), 2)), lengths, inner)


def rows_of(rng, lengths):
    return rg.from_lengths(rng.standard_normal((sum(lengths), 2)), lengths)


def run_program(seed, make=program, array=rows_of):
    rng = np.random.default_rng(seed)
    function, names = make(rng)
    gradient = rg.value_and_grad(function, argnums=(0, 1))
    jitted = rg.jit(function)
    for lengths in structures(rng):
        x = array(rng, lengths)
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


SMOOTH = ["sin", "tanh", "product", "quotient", "linear", "centred", "softmax", "features", "norm", "running"]
"""Steps whose derivatives do not jump where numbers are rounded."""


def run_short(seed, name):
    """Gradients of short floats have the dtype, and those of the same numbers in float64 up to rounding."""
    dtype = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name) if name == "bfloat16" else name)
    rng = np.random.default_rng(seed)
    names = rng.choice(SMOOTH, 2)

    @rg.value_and_grad
    def gradient(x, w):
        now = x
        for name in names:
            now = np.tanh(STEPS[name](now, x, w))
        return (now * now).sum()

    for lengths in structures(rng):
        x, w = rows_of(rng, lengths).astype(dtype), rng.standard_normal((2, 2)).astype(dtype)
        _, short = gradient(x, w)
        _, exact = gradient(x.astype("float64"), w.astype("float64"))
        assert short.dtype == dtype
        wanted = exact.values
        error = np.abs(short.values.astype("float64") - wanted).max(initial=0)
        assert error < 20 * EPS[name] * max(1, np.abs(wanted).max(initial=0)), (seed, list(names), lengths, error)


EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-20}


@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    run_program(seed)


def test_random_programs_on_lists():
    run_program(0, list_program, lists_of)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(dtype):
    run_short(0, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 60))
def test_more_random_programs(seed):
    run_program(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 60))
def test_more_random_programs_on_lists(seed):
    run_program(seed, list_program, lists_of)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 30))
@pytest.mark.parametrize("dtype", EPS)
def test_more_short_floats(seed, dtype):
    run_short(seed, dtype)
