"""The largest elements along a dim, against a sort of Python's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.refusals import Refusal, refused

import ragged_dialect as rg

RNG = np.random.default_rng(0)
X = RNG.integers(-3, 4, (20, 7)).astype(np.float32)
X[3, 2] = X[4, 1] = X[4, 3] = np.nan
X[5], X[6, 3] = -np.inf, -np.inf


def largest(x: Any, k: int) -> tuple[Any, Any]:
    """Of every row: nan first, then by size, then by place."""
    wide = x.astype(np.float64)
    rows = [sorted(range(x.shape[1]), key=lambda j: (not np.isnan(r[j]), -np.nan_to_num(r[j]), j))[:k] for r in wide]
    places = np.array(rows, np.int64)
    return np.take_along_axis(wide, places, 1), places


@pytest.mark.sampled(10)
@pytest.mark.parametrize("k", [1, 2, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int64])
def test_rows(dtype: Any, k: int) -> None:
    x = (X if np.dtype(dtype).kind != "i" else np.nan_to_num(X, neginf=-9)).astype(dtype)
    values, indices = rg.top_k(x, k)
    expected, places = largest(x, k)
    assert values.dtype == dtype
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(values.astype(np.float64), expected)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", [1, 7])
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.int64])
def test_smallest(dtype: Any, k: int) -> None:
    """In ascending order, nan last, of dense rows and of components."""
    x = X if np.dtype(dtype).kind == "f" else np.nan_to_num(X, neginf=-9)
    x = x.astype(dtype)
    places = np.argsort(x, axis=1, kind="stable")[:, :k]
    values, indices = rg.top_k(x, k, largest=False)
    np.testing.assert_array_equal(indices, places)
    np.testing.assert_array_equal(values, np.take_along_axis(x, places, 1))
    ragged = rg.ragged([*x[:4], x[0, :0], x[5, :3]])
    values, indices = rg.top_k(ragged, k, largest=False)
    for b, row in enumerate([*x[:4], x[0, :0], x[5, :3]]):
        wanted = np.argsort(row, kind="stable")[:k]
        np.testing.assert_array_equal(indices[b], wanted)
        np.testing.assert_array_equal(values[b], row[wanted])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_many_of_a_row(dtype: str) -> None:
    """Beyond what is kept in order while a row is read once."""
    x = RNG.integers(0, 9, (6, 40)).astype(dtype)
    if dtype == "float32":
        x[1, 3], x[2], x[3, ::2] = np.nan, -np.inf, np.nan
    for k in (17, 40):
        values, indices = rg.top_k(x, k)
        expected, places = largest(x, k)
        np.testing.assert_array_equal(indices, places)
        np.testing.assert_array_equal(values, expected)
    ragged = rg.from_lengths(x, [2, 0, 4])
    np.testing.assert_array_equal(rg.top_k(ragged, 17)[1].values, largest(x, 17)[1])
    np.testing.assert_array_equal(rg.top_k(x.T.copy(), 17, axis=0)[1].T, largest(x, 17)[1])
    if dtype == "float32":
        gradient = rg.grad(lambda x: rg.top_k(x, 17)[0].sum())(x)
        np.testing.assert_array_equal(gradient.sum(1), [17.0] * 6)


@pytest.mark.sampled(48)
@pytest.mark.parametrize("k", [1, 5, 40, 1025])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16"])
@pytest.mark.parametrize("order", ["random", "falling", "rising", "equal"])
def test_long_rows(order: str, dtype: str, k: int) -> None:
    """Rows of several blocks: of components, and of a dense array."""
    rows = RNG.integers(-900, 900, (3, 1500)).astype(dtype)
    if dtype != "int16":
        rows[0, 7:900:50], rows[1, ::3], rows[2, 1490:] = np.nan, -np.inf, np.inf
    rows = {"falling": np.sort(rows)[:, ::-1], "rising": np.sort(rows), "equal": np.zeros_like(rows)}.get(order, rows)
    lists = [rows[0], rows[1, :0], rows[1, : k + 1], rows[2], rows[2, : k // 2]]
    for x in (rows.copy(), rg.ragged(lists)):
        values, indices = rg.top_k(x, k)
        for row, own, at in zip(rows if isinstance(x, np.ndarray) else lists, values, indices, strict=True):
            expected, places = largest(row[None], k)
            np.testing.assert_array_equal(at, places[0])
            np.testing.assert_array_equal(own, expected[0])


def test_other_dims_and_ragged_arrays() -> None:
    expected, places = largest(X, 2)
    values, indices = rg.top_k(X.T.copy(), 2, axis=0)
    np.testing.assert_array_equal(values, expected.T)
    np.testing.assert_array_equal(indices, places.T)
    ragged = rg.from_lengths(X, [5, 0, 15])
    for values, indices in (rg.top_k(ragged, 2), rg.jit(lambda x: rg.top_k(x, 2))(ragged)):
        np.testing.assert_array_equal(values.values, expected)
        np.testing.assert_array_equal(indices.values, places)
        np.testing.assert_array_equal(indices.lengths, [5, 0, 15])


def test_the_gradient_goes_where_the_values_are_from() -> None:
    x = RNG.standard_normal((5, 7))
    gradient = rg.grad(lambda x: (rg.top_k(x, 2)[0] ** 2.0).sum())(x)
    values, places = largest(x, 2)
    expected = np.zeros_like(x)
    np.put_along_axis(expected, places, 2 * values, 1)
    np.testing.assert_allclose(gradient, expected)


def test_ragged_dims_have_fewer() -> None:
    x = rg.ragged([[3.0, 1.0, 2.0], [], [5.0]])
    for values, indices in (rg.top_k(x, 2, axis=1), rg.jit(lambda x: rg.top_k(x, 2, axis=1))(x)):
        assert (values.tolist(), indices.tolist()) == ([[3.0, 2.0], [], [5.0]], [[0, 2], [], [0]])
    assert rg.top_k(x, 2**40, axis=1)[0].tolist() == [[3.0, 2.0, 1.0], [], [5.0]]


REFUSED: list[Refusal] = [
    (lambda: rg.top_k(X, 8), rg.RuntimeCheckError, "top_k: k = 8: level 1: expected at least 8, got 7"),
    (lambda: rg.top_k(X, 2**62), rg.RuntimeCheckError, f"level 1: expected at least {2**62}, got 7"),
    (lambda: rg.top_k(X[0], 2**62 + 3), rg.ArgumentError, "top_k: expected k of at most 2147483647, got 461"),
    (lambda: rg.top_k(X, 0), rg.ArgumentError, "top_k: expected k of at least 1, got 0"),
    (lambda: rg.top_k(X, True), rg.ArgumentError, "top_k: expected an integer for k, got bool"),
    (lambda: rg.top_k(X, 1.5), rg.ArgumentError, "top_k: expected an integer for k, got float"),
    (lambda: rg.top_k(X, 1, axis=2), rg.AxisError, "top_k: "),
    (
        lambda: rg.top_k(rg.ragged([[[1], [2]]]), 1, axis=1),
        rg.LayoutError,
        'top_k: expected an innermost ragged dim, or a dense one of its own, got dim 1 of layout "drr"',
    ),
]

test_what_is_refused = refused(REFUSED)
