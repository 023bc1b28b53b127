"""What is computed of slices and other windows, in one program as by one operation after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

X = rg.ragged([[1.0, 2.0, 3.0], [], [4.0, 5.0]])
OVERLAPPING = rg.from_starts_lengths(np.arange(5.0), np.array([1, 1, 0, 2]), np.array([3, 2, 0, 3]))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("x", [X, OVERLAPPING, X[[2, 0, 2]]], ids=["lists", "windows", "chosen"])
@pytest.mark.parametrize(
    "function",
    [
        lambda x: -(-x),
        lambda x: -(-x[:, 1:]),
        lambda x: np.maximum(x[:, 1:], x[:, 1:]),
        lambda x: rg.where(x[:, 1:] > 0, x[:, 1:], x[:, 1:]),
        lambda x: ~~x[:, :-1].astype(np.int64),
        lambda x: x[[1, 0]].astype(np.float32).astype(np.float64),
        lambda x: rg.sort(-(-x[:, 1:]), axis=1),
        lambda x: (-(-x[:, 1:]))[:, :1],
        lambda x: (x[:, 1:] - x[:, :-1]) * x[:, 1:].sum(axis=1)[:, None],
        lambda x: np.exp(x[:, 1:] + 1) + (x[:, 1:] + 1).sum(axis=1)[:, None],
        lambda x: (x[:, 1:] * 2).cumsum(axis=1) - x[:, 1:],
    ],
)
def test_in_one_program(function: Callable[[Any], Any], x: rg.RaggedArray) -> None:
    """What only copies, once it is folded, does so too."""
    found, wanted = rg.jit(function)(x), function(x)
    assert found.lengths.tolist() == wanted.lengths.tolist()
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-12)


def test_lengths_that_differ() -> None:
    for add in (lambda x: x[:, 1:] + x, rg.jit(lambda x: x[:, 1:] + x)):
        with pytest.raises(rg.RuntimeCheckError, match="add: level 1, component 0: expected length 2, got 3"):
            add(X)


@pytest.mark.parametrize("lengths", [([2, 0, 1],), ([2, 1], [2, 0, 1])])
def test_a_gpu_is_not_asked_how_many_are_turned_round(lengths: tuple[list[int], ...]) -> None:
    x = rg.from_lengths(np.arange(3.0), *lengths)
    lowered = rg.jit(lambda x: x[..., ::-1]).lower(x)
    turned = rg.compile(lowered.source, target="emulator", sync="forbid")(*x.stored.vectors, x.values)
    np.testing.assert_array_equal(turned, x[..., ::-1].values)
