"""Gradients of random programs, whose structures have empty components, against differences."""

import numpy as np
import pytest
from support import chunks
from support.gradient_programs import ROWS, check, rows_of, structures
from support.worker import Worker, answers

import ragged_dialect as rg

EACH = 500
"""Programs of one process."""
MANY = 10_000
COMPILED = 16
"""One in so many programs of a long run is compiled; the reference runs the others."""

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
            now = np.tanh(ROWS[name](now, x, w))
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


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(2))
def test_random_programs(seed):
    assert check(seed) is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 4))
def test_programs_of_several_chunks(seed, monkeypatch):
    monkeypatch.setenv("RAGGED_CACHE", "0")
    with chunks.of(8):
        assert check(seed) is None


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats(dtype):
    run_short(0, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MANY, EACH))
def test_many_random_programs(first):
    tasks = [[seed, seed // 2 % COMPILED == 0] for seed in range(first, first + EACH)]
    failures = answers(Worker("gradient_worker.py", {"RAGGED_CACHE": "0"}), tasks, 300)
    assert not failures, "\n".join(failures)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 30))
@pytest.mark.parametrize("dtype", EPS)
def test_more_short_floats(seed, dtype):
    run_short(seed, dtype)
