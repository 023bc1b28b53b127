"""`rg.repeat` and `np.repeat`: elements and inner lists several times, beside plain loops over lists."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import lists

import ragged_dialect as rg


def again(rows: list[Any], counts: list[Any]) -> list[Any]:
    """Items of nested lists as often as numbers of leading levels say."""
    if all(isinstance(count, int) for count in counts):
        return [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    return [again(row, own) if own else [] for row, own in zip(rows, counts, strict=True)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("features", [(), (2,)], ids=str)
def test_numbers_of_each_element(seed: int, features: tuple[int, ...]) -> None:
    x = lists(3, seed, features)
    rng = np.random.default_rng(seed)
    for levels in (1, 2, 3):
        offsets = [x.offsets_of(dim) for dim in range(1, levels + 1)]
        counts = rg.from_offsets(rng.integers(0, 4, offsets[-1][-1]).astype([np.int64, np.int8][seed % 2]), *offsets)
        found = rg.repeat(x, counts, axis=levels)
        assert found.tolist() == again(x.tolist(), counts.tolist())
        assert (found + 0).tolist() == found.tolist()
        assert np.repeat(x, 2, axis=levels).tolist() == rg.repeat(x, counts * 0 + 2, axis=levels).tolist()


def test_components_and_features() -> None:
    x, dense = lists(2, 0, (2,)), np.arange(6.0).reshape(3, 2)
    counts = np.array([2, 0, 1, 3])
    assert np.repeat(x, counts, axis=0).tolist() == again(x.tolist(), counts.tolist())
    assert np.repeat(x, 0, axis=0).tolist() == []
    np.testing.assert_array_equal(np.repeat(x, [1, 2], axis=-1).values, np.repeat(x.values, [1, 2], axis=-1))
    np.testing.assert_array_equal(rg.repeat(dense, np.array([1, 0, 2]), axis=0), np.repeat(dense, [1, 0, 2], axis=0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("number", [0, 1, 3])
@pytest.mark.parametrize("features", [(), (3,), (2, 2)], ids=str)
def test_a_number_of_all(number: int, features: tuple[int, ...]) -> None:
    """One that the trace knows, and one that it does not."""
    x, dense = lists(1, 3, features), np.arange(12.0).reshape(4, 3)
    for traced in (lambda _: rg.repeat(x, number, axis=1), lambda n: rg.repeat(x, n, axis=1)):
        found = rg.jit(traced)(number)
        assert found.tolist() == again(x.tolist(), [[number] * int(n) for n in x.lengths])
        np.testing.assert_array_equal(found.offsets, np.asarray(x.offsets) * number)
    made = rg.grad(lambda x: (rg.repeat(x, number, axis=1) ** 2).sum())(x * 1.0)
    np.testing.assert_allclose(made.values, 2.0 * x.values * number)
    np.testing.assert_array_equal(rg.repeat(dense, number, axis=0), np.repeat(dense, number, axis=0))


def test_windows_and_nothing() -> None:
    x = rg.ragged([[1, 2, 3], [], [4, 5]])
    assert rg.repeat(x[:, 1:], rg.ragged([[2, 1], [], [0]]), axis=1).tolist() == [[2, 2, 3], [], []]
    assert rg.repeat(x[:0], 3, axis=1).tolist() == []


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs_with_gradients(target: str) -> None:
    values, lengths = np.arange(1.0, 7.0, dtype=np.float32), np.array([3, 0, 1, 2])
    x = rg.from_lengths(values, lengths)
    counts = rg.from_lengths(np.array([0, 2, 1, 3, 1, 1]), lengths)
    function = rg.jit(lambda x, counts: (rg.repeat(x, counts, axis=1) ** 2).sum(1), target=target)
    squares = rg.from_lengths(values**2 * counts.values, lengths).sum(1)
    np.testing.assert_allclose(function(x, counts), squares, rtol=1e-6)
    made = rg.grad(lambda x: (rg.repeat(x, counts, axis=1) ** 2).sum())(x)
    np.testing.assert_allclose(made.values, 2 * values * counts.values, rtol=1e-6)


@pytest.mark.parametrize(
    ("repeats", "axis", "error", "text"),
    [
        (-1, 1, rg.RuntimeCheckError, "repeat: level 1: expected at least 0, got -1"),
        (
            rg.ragged([[1, -2], []]),
            1,
            rg.RuntimeCheckError,
            "level 1, component 1: expected at least 0, got -2",
        ),
        (1.5, 1, rg.ArgumentError, "repeat: expected integers for repeats, got float64 of rank 0"),
        (np.array([1, 2]), 1, rg.LayoutError, 'structure of dims 0 to 1 for repeats of dim 1, got layout "d"'),
        (rg.ragged([[1, 1], []]), 0, rg.LayoutError, 'a number or a vector for repeats of dim 0, got layout "dr"'),
        (np.array([1, 2, 3]), 0, rg.RuntimeCheckError, "repeat: dim 0: expected extent 2, got 3"),
        (rg.ragged([[1], []]), 1, rg.RuntimeCheckError, "repeat: level 1, component 0: expected length 2, got 1"),
    ],
    ids=str,
)
def test_errors(repeats: Any, axis: int, error: type[Exception], text: str) -> None:
    with pytest.raises(error) as found:
        rg.repeat(rg.ragged([[1.0, 2.0], []]), repeats, axis=axis)
    assert text in str(found.value)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("counts", [2**62, 2**63 - 1, "each"], ids=str)
def test_more_rows_than_offsets_hold(counts: Any, target: str) -> None:
    """Sums that wrap around ended the process."""
    x = rg.ragged([[1.0, 2.0], [], [3.0, 4.0]])
    given = rg.like(x, np.array([2**62, 2**62, 2**62, 2**62])) if counts == "each" else counts
    with pytest.raises(rg.RuntimeCheckError, match="repeat: all: level 1: expected at most 4611686018427387904, got"):
        rg.jit(lambda x, given: rg.repeat(x, given, axis=1), target=target)(x, given)
    with pytest.raises(rg.RuntimeCheckError, match="repeat: all: level 0: expected at most"):
        rg.repeat(x, np.array([2**62] * 3), axis=0)


def test_an_axis_is_needed() -> None:
    with pytest.raises(rg.ArgumentError, match="repeat: expected an axis, got none"):
        np.repeat(rg.ragged([[1.0], []]), 2)
    vector, counts = np.array([1.0, 2.0, 3.0]), np.array([2, 0, 1])
    assert rg.jit(lambda x, k: np.repeat(x, k))(vector, counts).tolist() == [1.0, 1.0, 3.0]


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5, 9])
def test_short_runs(most: int) -> None:
    rng = np.random.default_rng(most)
    for size in (1, 3, 4, 7, 8, 9, 15, 16, 17, 40, 1000):
        counts = rng.integers(0, most + 1, size)
        x = rg.from_lengths(np.arange(size, dtype=np.float32), [size])
        found = rg.repeat(x, rg.from_lengths(counts, [size]), axis=1)
        np.testing.assert_array_equal(found.values, np.repeat(np.arange(size, dtype=np.float32), counts))
        ids = rg.from_lengths(np.zeros(int(counts.sum())), counts).row_ids
        np.testing.assert_array_equal(ids, np.repeat(np.arange(size), counts))
