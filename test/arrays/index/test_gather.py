"""Indices of levels above others, and of every component, as of lists of lists."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from support.components import lists

import ragged_dialect as rg

S = slice
SLICES = (S(None, None, -1), S(None, None, 2), S(3, 0, -2), S(-1, None, -1), S(1, None), S(-2, -1), S(9, 5))


@pytest.mark.sampled(16)
@pytest.mark.parametrize("piece", SLICES)
@pytest.mark.parametrize("seed", [0, 1])
def test_steps_of_lists_of_lists(piece: slice, seed: int) -> None:
    x, y = lists(2, seed, (2,)), lists(3, seed)
    a, b = x.tolist(), y.tolist()
    assert x[:, piece].tolist() == [r[piece] for r in a]
    assert (x[:, piece] * 1).tolist() == [r[piece] for r in a]
    assert x[piece, piece, piece].tolist() == [[q[piece] for q in r[piece]] for r in a[piece]]
    assert y[:, piece].tolist() == [r[piece] for r in b]
    assert y[:, :, piece].tolist() == [[q[piece] for q in r] for r in b]
    assert y[:, 1:][:, piece].tolist() == [r[1:][piece] for r in b]


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_masks_of_rows(seed: int) -> None:
    x = lists(3, seed)
    for levels in (1, 2, 3):
        rng = np.random.default_rng(seed)
        offsets = [x.offsets_of(dim) for dim in range(1, levels + 1)]
        mask = rg.from_offsets(rng.random(offsets[-1][-1]) < 0.5, *offsets)
        assert x[mask].tolist() == kept(x.tolist(), mask.tolist())
        assert (x[mask] + 0).tolist() == kept(x.tolist(), mask.tolist())


def kept(rows: list[Any], mask: list[Any]) -> list[Any]:
    """Items of nested lists where a mask, of leading levels, is true."""
    if all(isinstance(flag, bool) for flag in mask):
        return [row for row, flag in zip(rows, mask, strict=True) if flag]
    return [kept(row, own) if own else [] for row, own in zip(rows, mask, strict=True)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_indices_of_rows(seed: int) -> None:
    x = lists(3, seed)
    rows = x.tolist()
    rng = np.random.default_rng(seed)
    picks = [[int(i) for i in rng.integers(-len(r), len(r), 3 if r else 0)] for r in rows]
    assert x[flat(picks)].tolist() == [[r[i] for i in own] for r, own in zip(rows, picks, strict=True)]
    inner = [[[int(i) for i in rng.integers(-len(q), len(q), 2 if q else 0)] for q in r] for r in rows]
    offsets = [x.offsets, [0, *accumulate(len(own) for r in inner for own in r)]]
    index = rg.from_offsets(np.array([i for r in inner for own in r for i in own], np.int64), *offsets)
    expected = [
        [[q[i] for i in own] for q, own in zip(r, mine, strict=True)] for r, mine in zip(rows, inner, strict=True)
    ]
    assert rg.gather(x, index).tolist() == expected
    assert (x[index] * 1).tolist() == expected
    traced = rg.jit(lambda a, i: a[i] * 1)
    assert traced(x, index).tolist() == expected


def flat(picks: list[list[int]]) -> rg.RaggedArray:
    """Indices of one level."""
    return rg.from_lengths(np.array([i for own in picks for i in own], np.int64), [len(own) for own in picks])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_a_vector_of_indices_of_every_component(target: str) -> None:
    one, two, three = (lists(levels, levels, least=2) for levels in (1, 2, 3))
    pick = rg.jit(lambda a, at: a[..., at], target=target)
    at = np.array([1, -1, 0])
    for x in (one, two, three):
        assert pick(x, at).tolist() == last(x.tolist(), at.tolist(), x.ndim)
    assert two[:, at].tolist() == [[r[i] for i in at] for r in two.tolist()]
    assert two[:, [0]].shape == (4, 1, None)
    assert three[:, at].tolist() == [[r[i] for i in at] for r in three.tolist()]
    assert three[:, :, at].tolist() == [[[q[i] for i in at] for q in r] for r in three.tolist()]
    assert (three[:, :, at] + 0).tolist() == [[[q[i] for i in at] for q in r] for r in three.tolist()]


def last(rows: Any, at: list[int], depth: int) -> Any:
    """Items of the innermost lists."""
    return [rows[i] for i in at] if depth == 1 else [last(row, at, depth - 1) for row in rows]


def test_a_vector_of_indices_below_a_dense_dim_and_windows() -> None:
    x = rg.partition(rg.from_lengths(np.arange(12.0), [6, 6]), [[2, 4], [3, 3]], axis=1, lengths=True)
    assert x[:, :, [1, 0]].tolist() == [[[1, 0], [3, 2]], [[7, 6], [10, 9]]]
    y = lists(1, 3, (2,), least=2)
    assert y[:, 1:][:, [0, 0]].tolist() == [[r[1], r[1]] for r in y.tolist()]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("piece", SLICES[:4])
def test_dense_dims_of_nested_axes(piece: slice) -> None:
    x = rg.partition(rg.from_lengths(np.arange(12.0), [6, 6]), [[1, 2, 3], [4, 0, 2]], axis=1, lengths=True)
    y, z = rg.transpose(lists(1, 0, (2,)), axes=(2, 0, 1)), lists(2, 1)[:, :, None]
    for a in (x, y):
        rows = a.tolist()
        assert a[:, piece].tolist() == [r[piece] for r in rows]
        assert (a[:, [1, 0, 1]] * 1).tolist() == [[r[1], r[0], r[1]] for r in rows]
    assert (z[:, :, [0, 0]] * 1).tolist() == [[[q[0], q[0]] for q in r] for r in z.tolist()]
    assert z[:0][:, :, [0, 0]].shape == (0, None, 2, None)


def test_a_row_of_indices_for_every_component() -> None:
    x, y = lists(1, 0, (2,), least=2), lists(2, 0, (), least=2)
    index = np.array([[0, -1, 1], [1, 1, 1], [0, 0, -2], [-1, 0, 1]])
    for z in (x, y):
        expected = [[r[i] for i in own] for r, own in zip(z.tolist(), index.tolist(), strict=True)]
        assert rg.gather(z, index).tolist() == expected
    assert isinstance(rg.gather(x, index), np.ndarray)


def test_nothing_to_pick() -> None:
    y = lists(1, 0, (2,))
    assert y[[]].tolist() == []
    assert y[:, []].shape == (4, 0, 2)
    assert y[..., []].shape == (4, None, 0)
    x = lists(2, 0, (2,))[:0]
    assert x[:, ::-1].tolist() == []
    assert x[:, [0, 1]].shape == (0, 2, None, 2)
    assert rg.from_lengths(np.zeros(0), [])[:, [0, 1]].shape == (0, 2)


def filled(row: list[Any], index: list[Any], fill: object) -> list[Any]:
    """Elements of a list by indices, and `fill` where there is none."""
    return [row[i] if -len(row) <= i < len(row) else fill for i in index]


@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("lengths", [[3, 0, 7, 1], [0, 0], []])
def test_fill_stands_where_there_is_no_element(lengths: list[int], target: str) -> None:
    rng = np.random.default_rng(0)
    x = rg.from_lengths(rng.integers(0, 9, sum(lengths)).astype(np.int32), lengths)
    places = rg.from_lengths(rng.integers(-9, 9, 5 * len(lengths)).astype(np.int8), [5] * len(lengths))
    gather = rg.jit(lambda x, at: rg.gather(x, at, fill=-1), target=target)
    for index in (places, places[:, ::-2], rng.integers(-9, 9, (len(lengths), 2))):
        for given in (x, x[:, 1:]):
            pairs = zip(given.tolist(), index.tolist(), strict=True)
            found = gather(given, index)
            assert found.dtype == np.int32
            assert found.tolist() == [filled(row, own, -1) for row, own in pairs]
    rows = rg.like(x, rng.random((x.total, 2)))
    pairs = zip(rows.tolist(), places.tolist(), strict=True)
    assert rg.gather(rows, places, fill=9).tolist() == [filled(row, own, [9, 9]) for row, own in pairs]


def test_fill_of_lists_of_lists_and_gradients() -> None:
    x = rg.ragged([[[1.0, 2.0], []], [], [[3.0]]])
    index = rg.ragged([[[1, 2], [0]], [], [[-1, -2, 0]]], dtype=np.int64)
    assert rg.gather(x, index, fill=7).tolist() == [[[2.0, 7.0], [7.0]], [], [[3.0, 7.0, 3.0]]]
    lists, dense = x.merge(0), np.array([[0, -1, -1, 5]] * 3)
    loss = rg.value_and_grad(lambda v, fill: (rg.gather(rg.like(lists, v), dense, fill) ** 2).sum(), argnums=(0, 1))
    value, (gradient, by_fill) = loss(lists.values, 10.0)
    assert (value, gradient.tolist(), by_fill) == (636.0, [2.0, 8.0, 18.0], 120.0)
    with pytest.raises(
        rg.LayoutError, match='gather: expected elements to fill, got lists below an index "dr" of them'
    ):
        rg.gather(x, rg.ragged([[0, 1], [], [0]]), fill=0)
    with pytest.raises(rg.RuntimeCheckError, match=r"gather: expected a number in \[-128, 127\], got 300"):
        rg.gather(lists.astype(np.int8), dense, fill=300)
