"""`rg.unique` beside `np.unique` of each component."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

LENGTHS = ([3, 0, 2, 5, 40], [0, 0], [], [700, 1, 0, 1500], [1] * 300)
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "bool")


@pytest.mark.sampled(40)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lengths", LENGTHS, ids=lambda lengths: str(len(lengths)))
def test_beside_numpy(lengths: list[int], dtype: str) -> None:
    rng = np.random.default_rng(len(lengths))
    values = rng.integers(-3, 4, sum(lengths)).astype(dtype)
    if dtype.startswith("float"):
        values[rng.random(len(values)) < 0.2] = np.nan
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    asked = dict.fromkeys(("return_index", "return_inverse", "return_counts"), True)
    found, index, inverse, counts = rg.unique(rg.from_offsets(values, offsets), **asked)
    of_numpy = [np.unique(values[a:b], **asked) for a, b in pairwise(offsets)]
    rows = [(row, own) for row, _, _, own in of_numpy]
    for made, at in ((index, 1), (inverse, 2)):
        assert made.dtype == np.int64
        np.testing.assert_array_equal(made.values, np.concatenate([offsets[:0], *(one[at] for one in of_numpy)]))
    assert (index.lengths.tolist(), inverse.lengths.tolist()) == (found.lengths.tolist(), lengths)
    np.testing.assert_array_equal(found.values, np.concatenate([values[:0], *(row for row, _ in rows)]))
    np.testing.assert_array_equal(counts.values, np.concatenate([offsets[:0], *(own for _, own in rows)]))
    assert found.lengths.tolist() == counts.lengths.tolist() == [len(row) for row, _ in rows]
    assert (found.dtype, counts.dtype) == (values.dtype, np.int64)
    np.testing.assert_array_equal(rg.unique(rg.from_offsets(values, offsets), axis=1).values, found.values)


def test_lists_of_lists_and_windows() -> None:
    x = rg.ragged([[[1, 1], [3, 2, 3]], [], [[4]]])
    assert rg.unique(x).tolist() == [[[1], [2, 3]], [], [[4]]]
    assert rg.unique(x[:, :, 1:]).tolist() == [[[1], [2, 3]], [], [[]]]
    asked = rg.unique(x, return_index=True, return_inverse=True, return_counts=True)[1:]
    assert asked[0].tolist() == [[[0], [1, 0]], [], [[0]]]
    assert asked[1].tolist() == [[[0, 0], [1, 0, 1]], [], [[0]]]
    assert asked[2].tolist() == [[[2], [1, 2]], [], [[1]]]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs(target: str) -> None:
    x = rg.ragged([[2.0, 1.0, 2.0], [], [5.0]])
    found, counts = rg.jit(lambda x: rg.unique(x, return_counts=True), target=target)(x)
    assert (found.tolist(), counts.tolist()) == ([[1.0, 2.0], [], [5.0]], [[1, 2], [], [1]])
    kinds = rg.jit(lambda x: rg.unique(x).lengths, target=target)(x)
    assert kinds.tolist() == [2, 0, 1]


def test_gradients_go_to_the_first() -> None:
    x = rg.ragged([[2.0, 1.0, 2.0], []])
    assert rg.grad(lambda x: (rg.unique(x) ** 2).sum())(x).tolist() == [[4.0, 2.0, 0.0], []]


@pytest.mark.parametrize(
    ("x", "axis", "text"),
    [
        (rg.from_lengths(np.ones((3, 2)), [3]), -1, 'the last dim of lists of numbers, got dim 2 of layout "dr|d"'),
        (rg.ragged([[[1]]]), 1, 'expected the last dim of lists of numbers, got dim 1 of layout "drr"'),
        (np.ones(3), 0, 'unique: expected the last dim of lists of numbers, got dim 0 of layout "d"'),
    ],
    ids=str,
)
def test_errors(x: Any, axis: int, text: str) -> None:
    with pytest.raises(rg.LayoutError) as found:
        rg.unique(x, axis=axis)
    assert text in str(found.value)
