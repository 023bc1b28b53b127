"""Values and index vectors of traced arrays, and arrays made of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

X = rg.from_lengths(np.arange(27.0).reshape(9, 3), [3, 0, 5, 1])
ARRAYS = {
    "features": X,
    "windows": X[::-1][:, 1:],
    "lists": rg.ragged([[[1.0, 2.0], []], [], [[3.0], [4.0, 5.0, 6.0]]]),
    "windows of lists": rg.ragged([[[1.0, 2.0], [7.0]], [[5.0]], [[3.0], [4.0, 5.0, 6.0]]])[1:, :, 1:],
    "tiles": rg.split(X, axis=1, factor=2),
    "nothing": rg.from_lengths(np.zeros(0), []),
}
PARTS: dict[str, Callable[[Any], Any]] = {
    "values": lambda x: x.values,
    "offsets": lambda x: x.offsets,
    "lengths": lambda x: x.lengths,
    "starts": lambda x: rg.compact(x).starts,
    "row_ids": lambda x: x.row_ids,
    "total": lambda x: x.total,
    "max_length": lambda x: x.max_length,
    "lengths_of": lambda x: x.lengths_of(-1 if x.nlevels > 1 else 1),
    "offsets_of": lambda x: x.offsets_of(x.nlevels),
    "row_ids_of": lambda x: x.row_ids_of(x.nlevels),
    "starts_of": lambda x: rg.compact(x).starts_of(x.nlevels),
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("name", ARRAYS)
def test_parts_are_those_of_arrays(name: str, part: str) -> None:
    x = ARRAYS[name]
    got, expected = rg.jit(PARTS[part])(x), PARTS[part](x)
    np.testing.assert_array_equal(got, expected)
    assert np.asarray(got).dtype == np.asarray(expected).dtype


def test_arrays_are_made_of_them() -> None:
    def shorter(x: Any) -> Any:
        return rg.from_lengths(x.values * 2, x.lengths)

    np.testing.assert_array_equal(rg.jit(shorter)(X).values, X.values * 2)
    lists = rg.jit(lambda x: rg.from_offsets(x.values, x.offsets, x.offsets_of(2)))(ARRAYS["lists"])
    assert lists.tolist() == ARRAYS["lists"].tolist()
    means = rg.jit(lambda x: x.sum(axis=1) / np.maximum(x.lengths, 1)[:, None])(X)
    np.testing.assert_allclose(means, [part.sum(0) / max(1, len(part)) for part in X])
    gradient = rg.grad(lambda x: (rg.from_lengths(x.values, np.array([4, 5])).sum(axis=1) ** 2).sum())(X)
    sums = np.add.reduceat(X.values, [0, 4])
    np.testing.assert_allclose(gradient.values, 2 * np.repeat(sums, [4, 5], axis=0))
    parts = rg.grad(lambda x: (x.values**2).sum())(ARRAYS["windows"])
    np.testing.assert_allclose(rg.compact(parts).values, 2 * ARRAYS["windows"].values)


def test_tiles_of_lists() -> None:
    tiles = rg.split(ARRAYS["lists"], axis=2, factor=2)
    assert rg.jit(lambda x: x.lengths_of(2))(tiles).tolist() == tiles.lengths_of(2).tolist() == [2, 0, 1, 3]


def test_lengths_that_do_not_fit() -> None:
    with pytest.raises(rg.RuntimeCheckError, match=r"^partition: level 1"):
        rg.jit(lambda x: rg.from_lengths(x.values, np.array([1, 2])))(X)
    with pytest.raises(rg.LayoutError, match=r'^lengths: expected a ragged dim, got dim 2 of layout "dr\|d"$'):
        rg.jit(lambda x: x.lengths_of(2))(X)
    with pytest.raises(rg.LayoutError, match=r'^lengths: expected an array with a ragged dim, got layout "d\|d"$'):
        rg.jit(lambda x: x.sum(axis=1).lengths)(X)
