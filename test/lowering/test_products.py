"""Products on the CPU against NumPy, whichever loop is ragged, with extents that are no multiple of anything."""

from __future__ import annotations

import itertools
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.components import rows as values
from support.cpu_features import levels, mask

import ragged_dialect as rg

OFFSETS = np.array([0, 0, 1, 9, 9, 26, 300, 300])  # 0, 1, 8, 0, 17, 274 and 0 rows
EXTENTS = [(1, 32), (7, 10), (130, 50), (16, 8), (260, 33), (0, 16), (64, 3)]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("depth", "columns"), EXTENTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_shared_weights(depth: int, columns: int, dtype: Any) -> None:
    x, w = values(300, depth, dtype=dtype), values(depth, columns, dtype=dtype)
    found = rg.jit(lambda a, b: a @ b)(rg.from_offsets(x, OFFSETS), w).values
    bound = depth * np.finfo(dtype).eps
    np.testing.assert_allclose(found, x.astype(np.float64) @ w.astype(np.float64), atol=4 * bound, rtol=4 * bound)


@pytest.mark.parametrize("columns", [pytest.param(32, marks=pytest.mark.slow), 13])
def test_weights_of_each_component(columns: int) -> None:
    x, w = values(300, 9, dtype=np.float32), values(7, 9, columns, dtype=np.float32)
    found = rg.jit(lambda a, b: rg.einsum("bik,bkn->bin", a, b))(rg.from_offsets(x, OFFSETS), w).values
    for b, (low, high) in enumerate(itertools.pairwise(OFFSETS)):
        np.testing.assert_allclose(found[low:high], x[low:high] @ w[b], atol=1e-5)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("columns", [2, 4, 7, 64, 256])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_few_rows(columns: int, dtype: Any) -> None:
    """Wider blocks take up to 8; a row has the same bits among any number of them, over sums of several stretches."""
    x, w = values(18, 300, dtype=dtype), values(19, 300, columns, dtype=dtype)
    multiply = rg.jit(lambda x, w: rg.ragged_dot(x, w))
    counts = np.arange(19)
    rows = np.concatenate([np.arange(count) for count in counts])
    found = multiply(rg.from_lengths(x[rows], counts), w).values
    expected = np.einsum("ik,ikn->in", x[rows].astype(np.float64), w[np.repeat(np.arange(19), counts)])
    bound = 300 * np.finfo(dtype).eps
    np.testing.assert_allclose(found, expected, atol=4 * bound, rtol=4 * bound)
    same = multiply(rg.from_lengths(x[rows], counts), np.broadcast_to(w[0], w.shape).copy()).values
    np.testing.assert_array_equal(same, same[-18:][rows])


def test_tiles_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is between two products is kept for a tile of rows of a component: of lengths about one, of one that is much
    longer, of none; and the rows of a gradient."""
    lengths = [127, 0, 128, 129, 1, 0, 0, 700, 256, 255, 257, 0]
    x = rg.from_lengths(values(sum(lengths), 9, dtype=np.float32), np.array(lengths))
    gate, up = (0.3 * values(12, 9, 40, dtype=np.float32) for _ in range(2))
    down = values(12, 40, 17, dtype=np.float32)

    @rg.jit
    def layer(x: Any, gate: Any, up: Any, down: Any) -> Any:
        inner = rg.nn.silu(rg.ragged_dot(x, gate)) * rg.ragged_dot(x, up)
        return rg.ragged_dot(inner, down)

    found = layer(x, gate, up, down)
    for b, part in enumerate(x.unbind()):
        rows = np.asarray(part, np.float64)
        scores = rows @ gate[b]
        expected = (scores / (1 + np.exp(-scores)) * (rows @ up[b])) @ down[b]
        np.testing.assert_allclose(np.asarray(found.unbind()[b]), expected, atol=1e-4, rtol=1e-4)
    monkeypatch.setenv("RAGGED_NUM_THREADS", "3")
    np.testing.assert_array_equal(layer(x, gate, up, down).values, found.values)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("longest", [3, 1000])
def test_more_tiles_than_parts(longest: int) -> None:
    """A thread has tiles of several components one after the other, and of one that is long."""
    lengths = np.random.default_rng(1).integers(0, 4, 900)
    lengths[[0, 451, 899]] = longest
    x = rg.from_lengths(values(lengths.sum(), 5, dtype=np.float32), lengths)
    w = values(900, 5, 16, dtype=np.float32)
    found = rg.jit(lambda x, w: rg.ragged_dot(x, w))(x, w).values
    expected = np.einsum("ik,ikn->in", x.values, w[np.repeat(np.arange(900), lengths)])
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize("dtype", [np.float16, pytest.param(ml_dtypes.bfloat16, marks=pytest.mark.slow)])
def test_short_floats(dtype: Any) -> None:
    """They are widened once, and their products added in float32."""
    x, w = values(300, 130, dtype=dtype), values(7, 130, 40, dtype=dtype)
    found = rg.jit(lambda a, b: rg.ragged_dot(a, b))(rg.from_offsets(x, OFFSETS), w)
    assert found.dtype == dtype
    eps = float(ml_dtypes.finfo(dtype).eps)
    for b, (low, high) in enumerate(itertools.pairwise(OFFSETS)):
        expected = x[low:high].astype(np.float64) @ w[b].astype(np.float64)
        np.testing.assert_allclose(found.values[low:high].astype(np.float64), expected, rtol=eps, atol=1e-4)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("depth", "columns"), [(7, 10), (130, 50), (33, 260), (16, 32), (0, 16), (300, 20)])
def test_transposed_weights(depth: int, columns: int) -> None:
    """Their rows are an extent that is known when the program runs."""
    x, w = values(300, depth, dtype=np.float32), values(columns, depth, dtype=np.float32)
    found = rg.jit(lambda a, b: rg.einsum("bik,nk->bin", a, b))(rg.from_offsets(x, OFFSETS), w).values
    np.testing.assert_allclose(found, x.astype(np.float64) @ w.T, atol=1e-4)


def test_both_extents_are_ragged() -> None:
    """Scores of every component, transposed and not: a row, a column, nothing, and ends of any length."""
    x, y = values(300, 21, dtype=np.float32), values(75, 21, dtype=np.float32)
    given = [rg.from_offsets(x, OFFSETS), rg.from_lengths(y, np.array([3, 5, 1, 0, 40, 26, 0]))]
    found = rg.jit(lambda a, b: rg.einsum("bik,bjk->bij", a, b))(*given)
    back = rg.jit(lambda a, b: rg.einsum("bij,bjk->bik", a, b))(found, given[1])
    for one, own, other, sums in zip(found.unbind(), *(g.unbind() for g in given), back.unbind(), strict=True):
        scores = own.astype(np.float64) @ other.T
        np.testing.assert_allclose(one.values, scores.ravel(), atol=1e-4)
        np.testing.assert_allclose(sums, scores @ other, atol=1e-2, rtol=1e-4)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_more_rows_than_a_strip(dtype: Any) -> None:
    """Sums over components, of more rows and more products than stay in the second cache."""
    rng, lengths = np.random.default_rng(0), (300, 0, 3)
    x, y = (rng.standard_normal((sum(lengths), width)).astype(dtype) for width in (1100, 33))
    parts = [np.split(a, np.cumsum(lengths)[:-1]) for a in (x, y)]
    got = rg.transposed_matmul(rg.from_lengths(x, lengths), rg.from_lengths(y, lengths))
    expected = [a.T.astype(np.float64) @ b for a, b in zip(*parts, strict=True)]
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-4)


def test_ragged_sums() -> None:
    x, y = values(300, 11, dtype=np.float32), values(300, 40, dtype=np.float32)
    given = [rg.from_offsets(part, OFFSETS) for part in (x, y)]
    found = np.asarray(rg.jit(lambda a, b: rg.einsum("bik,bin->bkn", a, b))(*given))
    for b, (low, high) in enumerate(itertools.pairwise(OFFSETS)):
        np.testing.assert_allclose(found[b], x[low:high].T @ y[low:high], atol=1e-4)


@pytest.mark.parametrize("level", levels("SSE2", "no AVX-512"))
def test_processors(level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mask(level, monkeypatch)
    x = values(300, 21, dtype=np.float32)
    for columns in (16, 19):
        w = values(21, columns, dtype=np.float32)
        found = rg.jit(lambda a, b: a @ b)(rg.from_offsets(x, OFFSETS), w).values
        np.testing.assert_allclose(found, x @ w, atol=1e-4)


def test_threads_make_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    x, w = values(9000, 70, dtype=np.float32), values(70, 70, dtype=np.float32)
    made = []
    for threads in (1, 3):
        monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
        made.append(rg.jit(lambda a, b: a @ b)(rg.from_offsets(x, np.array([0, 4000, 9000])), w).values.tobytes())
    assert made[0] == made[1]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("depth", [1, 16, 70])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("level", levels("host", "no AVX-512"))
def test_lists_of_one_length_are_matrices(depth: int, dtype: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All pairs of rows of two arrays, and sums of rows weighted by what there is for each pair."""
    mask(level, monkeypatch)
    left, right = np.array([3, 0, 40, 1, 0, 9, 130]), np.array([5, 2, 17, 0, 0, 33, 64])
    x, y = (rg.from_lengths(values(sum(count), depth, dtype=dtype), count) for count in (left, right))
    scores = rg.jit(lambda x, y: rg.einsum("bik,bjk->bij", x, y))
    weighted = rg.jit(lambda s, y: rg.einsum("bij,bjk->bik", s, y))
    both = rg.jit(lambda x, y: rg.einsum("bij,bjk->bik", rg.nn.relu(rg.einsum("bik,bjk->bij", x, y)), y))
    made = scores(x, y)
    found = [made, weighted(made, y), both(x, y)]
    exact = np.float64 if dtype == np.float64 else np.float32
    bound = {"rtol": 130 * depth * np.finfo(exact).eps, "atol": 1e-4 if dtype == np.float32 else 1e-11}
    if dtype == ml_dtypes.bfloat16:
        bound = {"rtol": 2**-6, "atol": 2.0}
    for b, (p, q) in enumerate(zip(x.unbind(), y.unbind(), strict=True)):
        rows, columns = (np.asarray(part).astype(np.float64) for part in (p, q))
        pairs = rows @ columns.T
        lists = [np.asarray(part).astype(np.float64) for part in found[0][b].unbind()] if len(rows) else []
        np.testing.assert_allclose(np.array(lists).reshape(pairs.shape), pairs, **bound)
        if dtype != ml_dtypes.bfloat16:
            for result, weights in ((found[1], pairs), (found[2], np.maximum(pairs, 0))):
                np.testing.assert_allclose(np.asarray(result.unbind()[b]), weights @ columns, **bound)
    monkeypatch.setenv("RAGGED_NUM_THREADS", "3")
    for before, after in zip(found, (scores(x, y), weighted(made, y), both(x, y)), strict=True):
        np.testing.assert_array_equal(before.values.astype(np.float64), after.values.astype(np.float64))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("depth", [3, 16, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16])
@pytest.mark.parametrize("level", levels("host", "no AVX-512"))
def test_heads_along_memory(depth: int, dtype: Any, level: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Products of each head are matrices too, whose elements are apart by the heads; 300 terms are added in parts."""
    mask(level, monkeypatch)
    left, right = np.array([3, 0, 40, 1, 19]), np.array([5, 2, 17, 0, 70])
    x, y = (rg.from_lengths(values(sum(count), 3, depth, dtype=dtype), count) for count in (left, right))
    product = rg.jit(lambda x, y: rg.einsum("bihd,bjhd->bijh", x, y))
    made = product(x, y)
    bound = {"rtol": 0, "atol": 1e-11 if dtype == np.float64 else 1e-3 if dtype == np.float32 else 2.0}
    for b, (p, q) in enumerate(zip(x.unbind(), y.unbind(), strict=True)):
        rows, columns = (np.asarray(part).astype(np.float64) for part in (p, q))
        lists = [np.asarray(part).astype(np.float64) for part in made[b].unbind()] if len(rows) else []
        expected = np.einsum("ihd,jhd->ijh", rows, columns)
        np.testing.assert_allclose(np.array(lists).reshape(expected.shape), expected, **bound)
    monkeypatch.setenv("RAGGED_NUM_THREADS", "3")
    np.testing.assert_array_equal(made.values.astype(np.float64), product(x, y).values.astype(np.float64))


def test_lists_of_any_length_times_a_longer_matrix() -> None:
    """A dense dim may be longer than the lists, which need not be of one length then."""
    s = rg.from_lengths(values(10), np.array([2, 0, 1]), np.array([4, 1, 5]))
    w, each = values(6, 9), values(3, 6, 9)
    shared = rg.jit(lambda s, w: rg.einsum("bij,jk->bik", s, w))(s, w).values
    own = rg.jit(lambda s, w: rg.einsum("bij,bjk->bik", s, w))(s, each).values
    for row, (b, low, high) in enumerate([(0, 0, 4), (0, 4, 5), (2, 5, 10)]):
        np.testing.assert_allclose(shared[row], s.values[low:high] @ w[: high - low], rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(own[row], s.values[low:high] @ each[b, : high - low], rtol=1e-12, atol=1e-12)


def test_lists_of_other_lengths_are_refused() -> None:
    """What is taken for a matrix has the lengths of another operand, or nothing is computed."""
    s = rg.from_lengths(values(9), np.array([2, 1]), np.array([3, 3, 3]))
    y = rg.from_lengths(values(6, 4), np.array([3, 3]))
    weighted = rg.jit(lambda s, y: rg.einsum("bij,bjk->bik", s, y))
    assert weighted(s, y).lengths.tolist() == [2, 1]
    uneven = rg.from_lengths(values(9), np.array([2, 1]), np.array([4, 2, 3]))
    with pytest.raises(rg.RuntimeCheckError, match="einsum"):
        weighted(uneven, y)
