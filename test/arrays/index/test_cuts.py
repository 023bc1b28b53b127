"""`rg.split_before` beside loops over components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, array
from support.refusals import Refusal, refused

import ragged_dialect as rg


def parts(component: list[Any], begins: list[bool]) -> list[list[Any]]:
    """A component cut before each element that begins a part, and at its first one."""
    found: list[list[Any]] = []
    for at, element in enumerate(component):
        if not at or begins[at]:
            found.append([])
        found[-1].append(element)
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("lengths", [*STRUCTURES, (0,), (), (1, 1, 40)])
@pytest.mark.parametrize("features", [(), (2,)])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_parts(lengths: tuple[int, ...], features: tuple[int, ...], target: str) -> None:
    x, mask = array(lengths, features), array(lengths, (), seed=1) > 0
    expected = [parts(c, m) for c, m in zip(x.tolist(), mask.tolist(), strict=True)]
    assert rg.split_before(x, mask).tolist() == expected
    assert rg.jit(rg.split_before, target=target)(x, mask).tolist() == expected
    later = rg.split_before(x[:, 1:], mask[:, 1:])
    assert later.tolist() == [parts(c[1:], m[1:]) for c, m in zip(x.tolist(), mask.tolist(), strict=True)]


def test_parts_of_two_levels() -> None:
    x = rg.ragged([[[1, 2], [], [3]], [], [[4], [5, 6, 7], [8]]])
    lists = rg.ragged([[False, True, False], [], [True, False, True]])
    assert rg.split_before(x, lists).tolist() == [[[[1, 2]], [[], [3]]], [], [[[4], [5, 6, 7]], [[8]]]]
    numbers = rg.split_before(x, x % 2 == 1)
    assert numbers.tolist() == [[[[1, 2]], [], [[3]]], [], [[[4]], [[5, 6], [7]], [[8]]]]


def test_gradients_of_parts() -> None:
    x, begins = rg.ragged([[1.0, 2.0, 3.0], [], [4.0]]), rg.ragged([[False, False, True], [], [False]])
    assert rg.grad(lambda x: rg.split_before(x, begins).max(2).sum())(x).tolist() == [[0.0, 1.0, 1.0], [], [1.0]]


X = rg.ragged([[1, 2], [], [3]])

REFUSED: list[Refusal] = [
    (lambda: rg.split_before(X, X), rg.ArgumentError, "split_before: expected a mask of booleans, got int64 of rank 2"),
    (lambda: rg.split_before(X, np.ones(3, bool)), rg.LayoutError, "split_before: expected a ragged index of one axis"),
    (
        lambda: rg.split_before(X, X[:2] > 1),
        rg.RuntimeCheckError,
        "split_before: level 0: expected 3 components, got 2",
    ),
    (lambda: rg.split_before(X, X[:, 1:] > 1), rg.RuntimeCheckError, "split_before: level 1, component 0: expected "),
]


test_refused = refused(REFUSED)
