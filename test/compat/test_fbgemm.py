"""FBGEMM's operators by their names: the document's examples, and random structures against loops."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from support.jagged import (
    STRUCTURES,
    Components,
    add_dense_loop,
    components_of,
    dense_loop,
    padded_loop,
    random_jagged,
    unique_loop,
)

from ragged_dialect.compat import fbgemm
from ragged_dialect.errors import ArgumentError, LayoutError, RaggedError, RangeError, RuntimeCheckError

VALUES = np.array([[1, 1], [2, 2], [3, 3], [4, 4]])
OFFSETS = np.array([0, 1, 3])
SHORT = pytest.mark.parametrize("missing", [0, 2], ids=["long enough", "too short"])
SINGLE = ((3, 0, 5, 1), (), (0, 0), (4,), (1, 7, 0))


def _single(lengths: Sequence[int], width: int, seed: int = 0) -> tuple[Any, Any, Components]:
    offsets = np.cumsum([0, *lengths])
    values = np.random.default_rng(seed).standard_normal((sum(lengths), width))
    return values, offsets, components_of(values, offsets)


def _close(got: Any, expected: Any) -> None:
    wanted = np.asarray(expected, np.float64)
    assert got.shape == wanted.shape or wanted.size == got.size == 0
    np.testing.assert_allclose(got, wanted.reshape(got.shape), 1e-9, 1e-12)


# The document's examples ------------------------------------------------------------------------------


def test_example_of_jagged_2d_to_dense() -> None:
    got = fbgemm.jagged_2d_to_dense(VALUES, OFFSETS, 3)
    assert got.tolist() == [[[1, 1], [0, 0], [0, 0]], [[2, 2], [3, 3], [0, 0]]]


def test_example_of_jagged_1d_to_dense() -> None:
    got = fbgemm.jagged_1d_to_dense(np.array([1, 2, 3, 4]), OFFSETS, 3, 0)
    assert got.tolist() == [[1, 0, 0], [2, 3, 0]]


def test_example_of_dense_to_jagged() -> None:
    dense = np.array([[[1, 1], [0, 0], [0, 0]], [[2, 2], [3, 3], [0, 0]]])
    values, offsets = fbgemm.dense_to_jagged(dense, [OFFSETS])
    assert values.tolist() == [[1, 1], [2, 2], [3, 3]]
    assert offsets[0] is OFFSETS


def test_example_of_jagged_to_padded_dense() -> None:
    got = fbgemm.jagged_to_padded_dense(VALUES, [OFFSETS], [3], 7)
    assert got.tolist() == [[[1, 1], [7, 7], [7, 7]], [[2, 2], [3, 3], [7, 7]]]


def test_the_documents_jagged_tensor() -> None:
    # Three groups of 4, 2 and 1 inner ones, whose rows have 8, 4 or 0 numbers: 9 rows of 4. Longest: 4 and 2.
    outer, inner = np.array([0, 4, 6, 7]), np.array([0, 2, 3, 5, 6, 6, 7, 9])
    values = np.arange(36.0).reshape(9, 4)
    got = fbgemm.jagged_to_padded_dense(values, [outer, inner], [4, 2])
    assert got.shape == (3, 4, 2, 4)
    _close(got, padded_loop(components_of(values, outer, inner), (4, 2), 0, (4,)))
    back, _ = fbgemm.dense_to_jagged(got, [outer, inner])
    assert back.tolist() == values.tolist()


def test_truncation_of_a_peers_test() -> None:
    values = np.array([100, 3, 4, 5, 6])
    got = fbgemm.jagged_1d_to_dense(values, np.array([0, 1, 4, 4, 5]), 1, -1)
    assert got.tolist() == [[100], [3], [-1], [6]]


# Conversions against loops ----------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("width", [(), (3,)], ids=["scalars", "rows"])
@pytest.mark.parametrize(("levels", "seed"), STRUCTURES)
def test_padded(levels: int, seed: int, width: tuple[int, ...]) -> None:
    values, offsets, parts = random_jagged(levels, seed, width)
    for change in (0, 1, -1):
        maxima = tuple(max(0, math.ceil(3 / (k + 1)) + change) for k in range(levels))
        got = fbgemm.jagged_to_padded_dense(values, offsets, maxima, 2.5)
        _close(got, padded_loop(parts, maxima, 2.5, width))


@pytest.mark.sampled(12)
@SHORT
@pytest.mark.parametrize(("levels", "seed"), STRUCTURES)
def test_dense_to_jagged(levels: int, seed: int, missing: int) -> None:
    values, offsets, parts = random_jagged(levels, seed, (3,))
    extents = [max(0, int(np.diff(o).max(initial=0)) + 1 - missing) for o in offsets]
    dense = np.random.default_rng(seed).standard_normal((len(parts), *extents, 3))
    got, same = fbgemm.dense_to_jagged(dense, offsets, len(values))
    _close(got, dense_loop(parts, dense, (3,)))
    assert all(a is b for a, b in zip(same, offsets, strict=True))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_offsets_of_both_widths(dtype: Any) -> None:
    assert fbgemm.jagged_2d_to_dense(VALUES, OFFSETS.astype(dtype), 1).tolist() == [[[1, 1]], [[2, 2]]]


# Elementwise ------------------------------------------------------------------------------------------


@pytest.mark.sampled(12)
@SHORT
@pytest.mark.parametrize(("levels", "seed"), STRUCTURES[:-1])
def test_elementwise(levels: int, seed: int, missing: int) -> None:
    values, offsets, parts = random_jagged(levels, seed, (2,))
    extents = [max(0, int(np.diff(o).max(initial=0)) + 1 - missing) for o in offsets]
    rng = np.random.default_rng(seed)
    y, z = (rng.standard_normal((len(parts), *extents, 2)) for _ in range(2))
    a, b = dense_loop(parts, y, (2,)), dense_loop(parts, z, (2,))
    _close(fbgemm.jagged_dense_elementwise_add(values, offsets, y), add_dense_loop(parts, y))
    _close(fbgemm.jagged_dense_elementwise_add_jagged_output(values, offsets, y)[0], values + a)
    _close(fbgemm.jagged_dense_elementwise_mul(values, offsets, y)[0], values * a)
    _close(fbgemm.jagged_dense_dense_elementwise_add_jagged_output(values, offsets, y, z)[0], values + a + b)


# Products ---------------------------------------------------------------------------------------------


@pytest.mark.sampled(8)
@pytest.mark.parametrize("limit", [0, 2, 9])
@pytest.mark.parametrize("lengths", SINGLE)
def test_products(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets, parts = _single(lengths, 4)
    other, _, others = _single(lengths, 3, 1)
    y = np.random.default_rng(2).standard_normal((len(lengths), 4, 3))
    rows = [p[:limit] @ w for p, w in zip(parts, y, strict=True)]
    wanted = [np.concatenate([r, np.zeros((n - len(r), 3))]) for r, n in zip(rows, lengths, strict=True)]
    got, same = fbgemm.jagged_dense_bmm(values, offsets, y, limit)
    _close(got, np.concatenate([np.zeros((0, 3)), *wanted]))
    assert same is offsets
    squares = [p[:limit].T @ o[:limit] for p, o in zip(parts, others, strict=True)]
    _close(fbgemm.jagged_jagged_bmm(values, other, offsets, limit), np.reshape(squares, (len(lengths), 4, 3)))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("limit", [0, 2, 9])
@pytest.mark.parametrize("lengths", SINGLE)
def test_vectors_of_heads(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets, parts = _single(lengths, 6)
    v = np.random.default_rng(1).standard_normal((len(lengths) * 2, limit))
    wanted = [
        v[2 * b + h][: len(part)] @ part[:limit, 3 * h : 3 * h + 3] for b, part in enumerate(parts) for h in range(2)
    ]
    got = fbgemm.batched_dense_vec_jagged_2d_mul(v, values, offsets)
    _close(got, np.reshape(wanted, (len(lengths) * 2, 3)) if lengths else np.zeros((0, 6)))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [0, 2, 9])
@pytest.mark.parametrize("lengths", SINGLE)
def test_softmax(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets, parts = _single(lengths, 2)
    wanted = [np.zeros((0, 2))]
    for part in parts:
        powers = np.exp(part[:limit])
        wanted += [powers / powers.sum(0), np.zeros((max(0, len(part) - limit), 2))]
    _close(fbgemm.jagged_softmax(values, offsets, limit)[0], np.concatenate(wanted))


# Selecting --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 2, 9])
@pytest.mark.parametrize("lengths", SINGLE)
def test_slice(lengths: tuple[int, ...], limit: int) -> None:
    values, offsets, _ = _single(lengths, 1)
    flat = values[:, 0]
    start = np.array([(n + 1) // 2 for n in lengths], np.int64)
    parts = [p[s : s + limit] for p, s in zip(components_of(flat, offsets), start, strict=True)]
    got, sizes = fbgemm.jagged_slice(flat, np.array(lengths, np.int32), start, limit)
    _close(got, np.concatenate([[], *parts]))
    assert (sizes.tolist(), sizes.dtype) == ([len(p) for p in parts], np.int32)


@pytest.mark.parametrize("indices", [[2, 0], [], [1, 1, 2, 0, 1]])
def test_index_select(indices: list[int]) -> None:
    lengths = [2, 0, 3]
    values, _, parts = _single(lengths, 2)
    at = np.array(indices, np.int64)
    rows = sum(lengths[i] for i in indices)
    got, sizes = fbgemm.jagged_index_select(values, np.array(lengths), at, rows)
    _close(got, np.concatenate([np.zeros((0, 2)), *(parts[i] for i in indices)]))
    assert sizes.tolist() == [lengths[i] for i in indices]


def test_index_select_of_a_peers_test() -> None:
    values, lengths = np.arange(6).reshape(6, 1), np.array([2, 1, 3])
    got, sizes = fbgemm.jagged_index_select(values, lengths, np.array([2, 0]))
    assert (got[:, 0].tolist(), sizes.tolist()) == ([3, 4, 5, 0, 1], [3, 2])


@pytest.mark.parametrize("batch", [0, 1, 4])
@pytest.mark.parametrize(("sizes", "groups"), [([3, 5, 4], [0, 1, 2, 3]), ([10, 0, 10], [0, 1, 1, 3])])
def test_unique_indices(sizes: list[int], groups: list[int], batch: int) -> None:
    rng = np.random.default_rng(batch)
    sums = np.cumsum([0, *sizes])
    lengths = rng.integers(0, 6, 3 * batch)
    offsets = np.cumsum([0, *lengths])
    bounds = np.repeat([s or sizes[t + 1] for t, s in enumerate(sizes)], batch)
    indices = rng.integers(0, np.repeat(bounds, lengths)) if batch else np.zeros(0, np.int64)
    found, ends, unique, reverse = fbgemm.jagged_unique_indices(sums, np.array(groups), offsets, indices)
    assert (found.tolist(), unique.tolist()) == unique_loop(sums, groups, lengths, indices)
    assert ends.tolist() == np.cumsum([0, *found]).tolist()
    assert unique[reverse].tolist() == indices.tolist()


# Errors -----------------------------------------------------------------------------------------------

X = np.ones((3, 2))
Y = np.ones((2, 2, 2))
CASES: dict[str, tuple[type[RaggedError], str, Callable[[], Any]]] = {
    "no list": (
        ArgumentError,
        ": expected a list of offsets, got ndarray",
        lambda: fbgemm.jagged_to_padded_dense(X, OFFSETS, [3]),
    ),
    "no level": (
        ArgumentError,
        ": expected 1 to 5 offsets, got 0",
        lambda: fbgemm.jagged_to_padded_dense(X, [], []),
    ),
    "maxima": (
        ArgumentError,
        "expected 1 max_lengths, got 2",
        lambda: fbgemm.jagged_to_padded_dense(X, [OFFSETS], [3, 3]),
    ),
    "kind of maximum": (
        ArgumentError,
        "jagged_to_padded_dense: expected an integer for max_lengths, got float",
        lambda: fbgemm.jagged_to_padded_dense(X, [OFFSETS], [2.7]),  # pyright: ignore[reportArgumentType]
    ),
    "no values": (
        ArgumentError,
        "expected an array or nested lists of numbers, got NoneType",
        lambda: fbgemm.jagged_to_padded_dense(None, [OFFSETS], [3]),
    ),
    "kind of limit": (
        ArgumentError,
        "jagged_softmax: expected an integer for max_L, got str",
        lambda: fbgemm.jagged_softmax(X, OFFSETS, "a"),  # pyright: ignore[reportArgumentType]
    ),
    "negative maximum": (
        RuntimeCheckError,
        "to_padded: level 1: expected at least 0, got -1",
        lambda: fbgemm.jagged_to_padded_dense(X, [OFFSETS], [-1]),
    ),
    "rank 1": (
        ArgumentError,
        "jagged_1d_to_dense: expected values of rank 1, got rank 2",
        lambda: fbgemm.jagged_1d_to_dense(X, OFFSETS, 3, 0),
    ),
    "rank 2": (
        ArgumentError,
        "jagged_2d_to_dense: expected values of rank 2, got rank 1",
        lambda: fbgemm.jagged_2d_to_dense(X[:, 0], OFFSETS, 3),
    ),
    "decreasing": (
        RuntimeCheckError,
        r"component 1: expected offsets\[2\] >= offsets\[1\], got 1 < 2",
        lambda: fbgemm.jagged_to_padded_dense(X, [np.array([0, 2, 1, 3])], [3]),
    ),
    "behind the values": (
        RuntimeCheckError,
        r"expected offsets\[2\] == 3, got 4",
        lambda: fbgemm.jagged_2d_to_dense(X, np.array([0, 1, 4]), 3),
    ),
    "no offset": (
        RuntimeCheckError,
        "expected at least 1 offset, got 0",
        lambda: fbgemm.dense_to_jagged(Y, [np.array([], np.int64)]),
    ),
    "levels": (
        RuntimeCheckError,
        r"expected offsets\[2\] == 3, got 2",
        lambda: fbgemm.dense_to_jagged(Y, [np.array([0, 1, 2]), np.array([0, 1, 2, 3])]),
    ),
    "float offsets": (
        ArgumentError,
        "dense_to_jagged: offsets 0: expected integers, got dtype float64",
        lambda: fbgemm.dense_to_jagged(Y, [OFFSETS * 1.0]),
    ),
    "total": (
        RuntimeCheckError,
        "dense_to_jagged: expected total_L == 3, got 2",
        lambda: fbgemm.dense_to_jagged(Y, [OFFSETS], 2),
    ),
    "batch": (
        RuntimeCheckError,
        "from_padded: dim 0: expected extent 3, got 2",
        lambda: fbgemm.dense_to_jagged(np.ones((3, 2, 2)), [OFFSETS]),
    ),
    "early end": (
        RuntimeCheckError,
        r"expected offsets\[2\] == 4, got 3",
        lambda: fbgemm.jagged_softmax(VALUES * 1.0, OFFSETS, 3),
    ),
    "shape of y": (
        ArgumentError,
        r": expected y of shape \(2, 2, 2\), got \(1, 2, 2\)",
        lambda: fbgemm.jagged_dense_elementwise_add(X, [OFFSETS], Y[:1]),
    ),
    "rank of y": (
        ArgumentError,
        ": expected y of rank 2 or more, got rank 1",
        lambda: fbgemm.jagged_dense_elementwise_add(X, [OFFSETS], Y[0, 0]),
    ),
    "vectors": (
        ArgumentError,
        "expected a multiple of 2 vectors, got 3",
        lambda: fbgemm.batched_dense_vec_jagged_2d_mul(np.ones((3, 2)), X, OFFSETS),
    ),
    "vectors of nobody": (
        ArgumentError,
        "expected a multiple of 0 vectors, got 3",
        lambda: fbgemm.batched_dense_vec_jagged_2d_mul(np.ones((3, 2)), X[:0], [0]),
    ),
    "ranks": (
        ArgumentError,
        ": expected v and values of rank 2, got ranks 1 and 2",
        lambda: fbgemm.batched_dense_vec_jagged_2d_mul(np.ones(3), X, OFFSETS),
    ),
    "heads": (
        LayoutError,
        "reshape: expected extents with product 2, got",
        lambda: fbgemm.batched_dense_vec_jagged_2d_mul(np.ones((6, 2)), X, OFFSETS),
    ),
    "negative limit": (
        ArgumentError,
        "jagged_softmax: expected max_L >= 0, got -1",
        lambda: fbgemm.jagged_softmax(X, OFFSETS, -1),
    ),
    "weights": (
        RuntimeCheckError,
        "matmul: dim 0: expected extent 2, got 3",
        lambda: fbgemm.jagged_dense_bmm(X, OFFSETS, np.ones((3, 2, 2)), 3),
    ),
    "slice": (
        RangeError,
        r"jagged_slice: component 1: expected start in \[0, 2\], got 3",
        lambda: fbgemm.jagged_slice(X[:, 0], np.array([1, 2]), np.array([1, 3]), 7),
    ),
    "slice from below": (
        RangeError,
        r"jagged_slice: component 0: expected start in \[0, 1\], got -2",
        lambda: fbgemm.jagged_slice(X[:, 0], np.array([1, 2]), np.array([-2, 1]), 7),
    ),
    "slice of others": (
        RuntimeCheckError,
        "jagged_slice: expected 2 numbers for start, got 1",
        lambda: fbgemm.jagged_slice(X[:, 0], np.array([1, 2]), np.array([0]), 7),
    ),
    "slice length": (
        ArgumentError,
        "jagged_slice: expected slice_length >= 0, got -1",
        lambda: fbgemm.jagged_slice(X[:, 0], np.array([1, 2]), np.array([0, 0]), -1),
    ),
    "index": (
        RangeError,
        r"expected index in \[-2, 2\), got 2",
        lambda: fbgemm.jagged_index_select(X, np.array([1, 2]), np.array([0, 2])),
    ),
    "index of booleans": (
        ArgumentError,
        "jagged_index_select: indices: expected integers, got dtype bool",
        lambda: fbgemm.jagged_index_select(X, np.array([1, 2]), np.array([True, False])),
    ),
    "rows": (
        RuntimeCheckError,
        "jagged_index_select: expected num_dense_output_rows == 1, got 4",
        lambda: fbgemm.jagged_index_select(X, np.array([1, 2]), np.array([0]), 4),
    ),
    "features": (
        ArgumentError,
        "jagged_unique_indices: expected offsets for samples of 2 features, got 3 components",
        lambda: fbgemm.jagged_unique_indices(
            np.array([0, 5, 9]), np.array([0, 1, 2]), np.array([0, 1, 2, 3]), np.array([1, 2, 3])
        ),
    ),
    "hash size": (
        RangeError,
        r"jagged_unique_indices: indices\[1\]: expected an index in \[0, 4\), got 4",
        lambda: fbgemm.jagged_unique_indices(
            np.array([0, 5, 9]), np.array([0, 1, 2]), np.array([0, 1, 2]), np.array([1, 4])
        ),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(case: str) -> None:
    error, text, call = CASES[case]
    with pytest.raises(error, match=text):
        call()
