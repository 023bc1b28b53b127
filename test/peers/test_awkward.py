"""Side by side with Awkward Array, as lists. Where it overflows, or gives None, the loops decide."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_nearly, nested

import ragged_dialect as rg

ak: Any = pytest.importorskip("awkward", reason="Awkward Array is not installed")


def _peer(x: rg.RaggedArray) -> Any:
    found = ak.Array(np.asarray(x.values))
    for dim in reversed(x.ragged_dims):
        lengths = np.asarray(x.lengths_of(dim))
        found = ak.unflatten(found, lengths) if len(lengths) else ak.Array([found])[:0]
    return found


Both = tuple[Callable[[Any], Any], Callable[[Any], Any]]
ONE_LEVEL: dict[str, Both] = {
    "sin": (np.sin, np.sin),
    "sum": (lambda x: x.sum(axis=1), lambda x: ak.sum(x, axis=1)),
    "prod": (lambda x: x.prod(axis=1), lambda x: ak.prod(x, axis=1)),
    "any": (lambda x: (x > 0).any(axis=1), lambda x: ak.any(x > 0, axis=1)),
    "all": (lambda x: (x > 0).all(axis=1), lambda x: ak.all(x > 0, axis=1)),
    "slice": (lambda x: x[:, 1:4], lambda x: x[:, 1:4]),
    "reversed": (lambda x: x[::-1, ::-1], lambda x: x[::-1, ::-1]),
    "steps": (lambda x: x[:, 2::-2], lambda x: x[:, 2::-2]),
    "from the end": (lambda x: x[:, -2:], lambda x: x[:, -2:]),
    "mask": (lambda x: x[x > 0], lambda x: x[x > 0]),
    "concat": (lambda x: rg.concat([x, x * 2], axis=1), lambda x: ak.concatenate([x, x * 2], axis=1)),
    "concat of batches": (lambda x: rg.concat([x, x * 2]), lambda x: ak.concatenate([x, x * 2])),
    "merged": (lambda x: rg.merge(x, axis=0), lambda x: ak.flatten(x, axis=1)),
    "lengths": (lambda x: x.lengths, lambda x: ak.num(x, axis=1)),
    "where": (lambda x: rg.where(x > 0, x, 0.0), lambda x: ak.where(x > 0, x, 0.0)),
}


@pytest.mark.parametrize("name", ONE_LEVEL)
@pytest.mark.parametrize("lengths", STRUCTURES)
def test_one_level(lengths: tuple[int, ...], name: str) -> None:
    x = array(lengths, ())
    ours, theirs = ONE_LEVEL[name]
    assert_nearly(ours(x).tolist(), theirs(_peer(x)).to_list())


@pytest.mark.parametrize("name", ["argmax", "argmin", "max", "min"])
@pytest.mark.parametrize("lengths", STRUCTURES)
def test_where_nothing_is_largest(lengths: tuple[int, ...], name: str) -> None:
    x = array(lengths, ())
    nothing = {"argmax": -1, "argmin": -1, "max": -np.inf, "min": np.inf}[name]
    expected = [nothing if e is None else e for e in getattr(ak, name)(_peer(x), axis=1).to_list()]
    assert_nearly(getattr(x, name)(axis=1).tolist(), expected)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_padded(lengths: tuple[int, ...]) -> None:
    x = array(lengths, ())
    expected = ak.fill_none(ak.pad_none(_peer(x), 2, axis=1, clip=True), 7.0)
    assert_nearly(rg.to_padded(x, 7.0, 2, truncate=True).tolist(), expected.to_list())


def test_softmax_of_large_numbers() -> None:
    x = rg.ragged([[1.0, 2.0], [], [3.0, 4.0, 5.0]])
    assert_nearly(rg.softmax(x, axis=1).tolist(), ak.softmax(_peer(x), axis=-1).to_list())
    large = rg.ragged([[1000.0, 1000.0], [0.0]])  # awkward overflows here
    assert rg.softmax(large, axis=1).tolist() == [[0.5, 0.5], [1.0]]


def test_unflatten_of_negative_lengths() -> None:
    with pytest.raises(rg.RuntimeCheckError, match=r"expected lengths\[0\] >= 0, got -2"):  # awkward takes them
        rg.from_lengths(np.arange(6), [-2, 5, 3])


TWO_LEVELS: dict[str, Both] = {
    "outer merged": (lambda x: rg.merge(x, axis=0), lambda x: ak.flatten(x, axis=1)),
    "inner merged": (lambda x: rg.merge(x, axis=1), lambda x: ak.flatten(x, axis=2)),
    "inner sum": (lambda x: x.sum(axis=2), lambda x: ak.sum(x, axis=2)),
    "slice": (lambda x: x[:, 1:], lambda x: x[:, 1:]),
    "inner slice": (lambda x: x[:, :, :2], lambda x: x[:, :, :2]),
    "inner mask": (lambda x: x[x > 0], lambda x: x[x > 0]),
    "exp": (np.exp, np.exp),
}


@pytest.mark.parametrize("name", TWO_LEVELS)
@pytest.mark.parametrize("lengths", [n for n in NESTED if n])
def test_two_levels(lengths: Any, name: str) -> None:
    x = nested(lengths)
    ours, theirs = TWO_LEVELS[name]
    assert_nearly(ours(x).tolist(), theirs(_peer(x)).to_list())
