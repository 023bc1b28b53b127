"""Elements by the groups that data puts them in, there and back, against NumPy."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from support.refusals import Refusal, refused

import ragged_dialect as rg

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["int64", "int32", "int8"])
@pytest.mark.parametrize(("count", "size"), [(3, 7), (7, 3), (1, 4), (2, 0)])
def test_the_places_of_every_key(dtype: str, count: int, size: int) -> None:
    keys = RNG.integers(0, count, size).astype(dtype)
    places = rg.group_by(keys, count)
    assert places.tolist() == [np.flatnonzero(keys == k).tolist() for k in range(count)]
    assert places.dtype == np.int64


@pytest.mark.sampled(3)
@pytest.mark.parametrize("shape", [(), (3,), (2, 4)])
def test_there_and_back(shape: tuple[int, ...]) -> None:
    keys, values = RNG.integers(0, 5, 40), RNG.standard_normal((40, *shape))
    places = rg.group_by(keys, 5)
    grouped = rg.take(values, places)
    np.testing.assert_array_equal(grouped.values, values[np.argsort(keys, kind="stable")])
    np.testing.assert_array_equal(rg.ungroup(grouped, places), values)
    gradient = rg.grad(lambda x: (rg.ungroup(rg.take(x, places) ** 2.0, places) * values).sum())(values)
    np.testing.assert_allclose(gradient, 2 * values * values)


@cache
def ungroup_for(target: str) -> Any:
    """One for all sizes."""
    return rg.jit(rg.ungroup, target=target)


@pytest.mark.parametrize("shape", [(), (4,)])
@pytest.mark.parametrize("size", [5, 49, 4402])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_places_twice_are_refused(target: str, size: int, shape: tuple[int, ...]) -> None:
    """Before a row is read at a sum of places, and whatever was in memory."""
    x, order = rg.from_lengths(RNG.standard_normal((size, *shape)), [size]), RNG.permutation(size)
    ungroup = ungroup_for(target)
    for last in (order[0], order[size // 2]):
        assert (rg.from_lengths(np.ones(8 * size, np.int8), [8 * size]) * 3).values[0] == 3  # memory without zeros
        twice = np.append(order[:-1], last)
        with pytest.raises(rg.RuntimeCheckError, match=f"component {order[-1]}: expected at least 1, got 0$"):
            ungroup(x, rg.from_lengths(twice, [size]))
    if target == "emulator":  # which takes long
        return
    same = rg.from_lengths(np.full(200_000, 199_999), [200_000])
    with pytest.raises(rg.RuntimeCheckError, match=r"component 0: expected at least 1, got 0$"):
        ungroup(rg.from_lengths(np.ones((200_000, *shape)), [200_000]), same)


LISTS = np.array([3, 0, 25, 1, 11])


@pytest.mark.sampled(160)
@pytest.mark.parametrize("structure", ["rows", "lists", "lists of lists", "turned"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int32", "bool"])
@pytest.mark.parametrize("features", [(), (2,), (8,), (3, 4)])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_segment_sums(structure: str, dtype: str, features: tuple[int, ...], target: str) -> None:
    values = RNG.integers(-3, 4, (40, *features)).astype(dtype)
    ids = RNG.integers(0, 7, 40).astype(np.int32 if dtype == "float32" else np.int64)
    expected = np.zeros((7, *features), np.float64 if values.dtype.kind == "f" else np.int64)
    np.add.at(expected, ids, values)
    x, of = values, ids
    if structure != "rows":
        x, of = (rg.from_lengths(each, LISTS) for each in (values, ids))
    if structure == "lists of lists":
        x, of = (rg.partition(each, np.array([0, 2, 2, 5]), axis=0) for each in (x, of))
    if structure == "turned":
        x, of = x[::-1], of[::-1]
    found = rg.jit(rg.segment_sum, target=target)(x, of, 7)
    np.testing.assert_array_equal(found, expected)
    assert found.dtype == (values.dtype if values.dtype.kind == "f" else np.int64)
    if target == "cpu":
        np.testing.assert_array_equal(rg.segment_sum(x, of, 7), expected)


@pytest.mark.parametrize("features", [(), (8,)])
def test_gradients_of_segment_sums(features: tuple[int, ...]) -> None:
    values, ids = RNG.standard_normal((40, *features)), RNG.integers(0, 7, 40)
    upstream = RNG.standard_normal((7, *features))
    x, of = (rg.from_lengths(each, LISTS) for each in (values, ids))
    found = rg.grad(lambda x: (rg.segment_sum(x, of, 7) ** 2.0 * upstream).sum())(x)
    sums = np.zeros((7, *features))
    np.add.at(sums, ids, values)
    np.testing.assert_allclose(found.values, (2 * sums * upstream)[ids])


def test_sums_by_key_are_those_of_bincount() -> None:
    keys, values = RNG.integers(0, 50, 1000), RNG.random(1000)
    sums = rg.jit(lambda values, keys: rg.take(values, rg.group_by(keys, 50)).sum(axis=1))(values, keys)
    np.testing.assert_allclose(sums, np.bincount(keys, values, 50))


KEYS = np.array([2, 0, 2])
PLACES = [[1], [], [0, 2]]


def places() -> rg.RaggedArray:
    return rg.ragged(PLACES)


KEY = "group_by: expected a vector of integers as keys, got "
PLACE = "ungroup: expected places as group_by gives them, got "
STRUCTURE = 'ungroup: expected an array of the structure of its places, got layout "'

REFUSED: list[Refusal] = [
    (lambda p: rg.group_by(KEYS, 2), IndexError, "group_by: level 0, component 0: expected index in [0, 2), got 2"),
    (lambda p: rg.group_by(-KEYS, 3), IndexError, "group_by: level 0, component 0: expected index in [0, 3), got -2"),
    (lambda p: rg.group_by(KEYS, -1), rg.RuntimeCheckError, "group_by: level 0: expected at least 0, got -1"),
    (
        lambda p: rg.group_by(KEYS, 2.0),
        rg.ArgumentError,
        "group_by: expected an integer as the number of keys, got float64",
    ),
    (lambda p: rg.group_by(KEYS * 1.0, 3), rg.ArgumentError, f"{KEY}float64 of rank 1"),
    (lambda p: rg.group_by(KEYS[None], 3), rg.ArgumentError, f"{KEY}int64 of rank 2"),
    (lambda p: rg.group_by(p, 3), rg.ArgumentError, f'{KEY}int64 of rank 2 and layout "dr"'),
    (lambda p: rg.ungroup(p, KEYS), rg.ArgumentError, f"{PLACE}int64 of rank 1"),
    (lambda p: rg.ungroup(p, p * 1.0), rg.ArgumentError, f"{PLACE}float64"),
    (lambda p: rg.ungroup(KEYS, p), rg.LayoutError, f'{STRUCTURE}d"'),
    (lambda p: rg.ungroup(p[1:], p), rg.RuntimeCheckError, "ungroup: level 0: expected "),
    (
        lambda p: rg.ungroup(rg.ragged([[1, 2], [], [3]]), p),
        rg.RuntimeCheckError,
        "ungroup: level 1, component 0: expected length 1, got 2",
    ),
    (lambda p: rg.ungroup(p, p + 1), IndexError, "expected index in [0, 3), got 3"),
    (
        lambda p: rg.ungroup(p, p * 0),
        rg.RuntimeCheckError,
        "ungroup: places of each row: level 0, component 1: expected at least 1, got 0",
    ),
    (
        lambda p: rg.segment_sum(p, p, 2),
        IndexError,
        "segment_sum: level 1, component 2: expected index in [0, 2), got 2",
    ),
    (
        lambda p: rg.segment_sum(KEYS, -KEYS, 3),
        IndexError,
        "segment_sum: level 0, component 0: expected index in [0, 3), got -2",
    ),
    (lambda p: rg.segment_sum(p, p, -1), rg.RuntimeCheckError, "segment_sum: level 0: expected at least 0, got -1"),
    (
        lambda p: rg.segment_sum(KEYS, p, 3),
        rg.LayoutError,
        'segment_sum: expected elements for ids of layout "dr", got layout "d"',
    ),
    (
        lambda p: rg.segment_sum(KEYS[1:], KEYS, 3),
        rg.RuntimeCheckError,
        "segment_sum: dim 0: expected extent 3, got 2",
    ),
    (
        lambda p: rg.segment_sum(rg.ragged([[1, 2], [], [3]]), p, 3),
        rg.RuntimeCheckError,
        "segment_sum: level 1, component 0: expected length 1, got 2",
    ),
    (
        lambda p: rg.segment_sum(p.split(1, 2), p.split(1, 2), 3),
        rg.LayoutError,
        'segment_sum: expected ids without tiles, got layout "drt"',
    ),
    (
        lambda p: rg.segment_sum(p, p * 1.0, 3),
        rg.ArgumentError,
        'segment_sum: expected a vector or lists of integers as ids, got float64 of rank 2 and layout "dr"',
    ),
]

test_what_is_refused = refused(REFUSED, places)
