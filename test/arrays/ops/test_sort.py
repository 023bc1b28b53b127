"""`sort` and `argsort` against NumPy's, component by component."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.refusals import refused

import ragged_dialect as rg
from ragged_dialect.arrays.ops import sorting

RNG = np.random.default_rng(0)
LENGTHS = np.array([0, 5, 1, 0, 13, 2, 300])
DTYPES = [np.float32, np.float64, np.float16, ml_dtypes.bfloat16, np.int8, np.int16, np.int32, np.int64, np.bool_]


def numbers(dtype: Any, shape: tuple[int, ...]) -> np.ndarray:
    """Few different ones, so that some are equal, and the extremes of the dtype."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.integers(0, 2, shape).astype(bool)
    made = RNG.integers(-20, 20, shape)
    if dtype.kind == "i":
        info = np.iinfo(dtype)
        return np.where(RNG.random(shape) < 0.2, RNG.choice([info.min, info.max], shape), made).astype(dtype)
    special = RNG.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32), shape)
    return np.where(RNG.random(shape) < 0.2, special, made / np.float32(3)).astype(dtype)


def in_order(x: np.ndarray, axis: int, descending: bool) -> np.ndarray:
    """The indices that sort, of equal elements the first one first."""
    wide = x.astype(np.float64) if x.dtype.kind not in "iub" else x.astype(np.int64)
    if not descending:
        return np.argsort(wide, axis, kind="stable")
    back = np.flip(np.argsort(np.flip(wide, axis), axis, kind="stable"), axis)
    return x.shape[axis] - 1 - back


@pytest.mark.sampled(72)
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("features", [(), (3,), (2, 2)])
def test_components_are_sorted_by_themselves(dtype: Any, features: tuple[int, ...], descending: bool) -> None:
    argsort = rg.jit(lambda x: rg.argsort(x, axis=1, descending=descending))
    for lengths in (LENGTHS, np.minimum(LENGTHS, 70)):  # by digits, and by ranks
        x = rg.from_lengths(numbers(dtype, (int(lengths.sum()), *features)), lengths)
        order, made = argsort(x), rg.sort(x, axis=1, descending=descending)
        assert (made.dtype, order.dtype, made.shape) == (np.dtype(dtype), np.int64, x.shape)
        for got, indices, part in zip(made, order, x, strict=True):
            expected = in_order(part, 0, descending)
            np.testing.assert_array_equal(indices, expected)
            wanted = np.take_along_axis(part, expected, 0)
            wide = got.dtype if got.dtype.kind in "iubf" else np.float32
            np.testing.assert_array_equal(got.astype(wide), wanted.astype(wide))


@pytest.mark.sampled(10)
@pytest.mark.parametrize("lengths", [[1000], [700, 0, 300]])
@pytest.mark.parametrize("bits", [5, 10, 32])
@pytest.mark.parametrize("dtype", [np.float32, np.int16, np.float64])
def test_more_elements_than_places_have_bits(
    dtype: Any, bits: int, lengths: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorting.digits, "PLACE", bits)
    x = rg.from_lengths(numbers(dtype, (1000,)), lengths)
    for order, part in zip(rg.jit(lambda x: rg.argsort(x, axis=1))(x), x, strict=True):
        np.testing.assert_array_equal(order, in_order(part, 0, False))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("dtype", "step"), [(np.int32, 2**20), (np.int64, 2**45), (np.float64, 1), (np.float32, 1)])
def test_keys_whose_low_digits_are_equal(dtype: Any, step: int) -> None:
    x = rg.from_lengths((RNG.integers(-500, 500, 2000) * step).astype(dtype), [1500, 0, 500])
    for order, part in zip(rg.argsort(x, axis=1), x, strict=True):
        np.testing.assert_array_equal(order, in_order(part, 0, False))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_dense_dims(axis: int) -> None:
    x = numbers(np.float32, (4, 7, 5))
    np.testing.assert_array_equal(rg.argsort(x, axis=axis), in_order(x, axis, False))
    np.testing.assert_array_equal(rg.sort(x, axis=axis), np.sort(x, axis))
    rows = rg.from_lengths(x, [3, 1])
    np.testing.assert_array_equal(rg.sort(rows, axis=2).values, np.sort(x, 1))
    np.testing.assert_array_equal(rg.sort(rows, axis=-1).values, np.sort(x, 2))


def test_lists_of_lists_and_windows() -> None:
    x = rg.ragged([[[3, 1, 2], []], [], [[9, 8], [7], [5, 6]]])
    assert rg.sort(x, axis=2).tolist() == [[[1, 2, 3], []], [], [[8, 9], [7], [5, 6]]]
    assert rg.sort(x[::-1][:, :, ::-1], axis=2, descending=True).tolist() == [
        [[9, 8], [7], [6, 5]],
        [],
        [[3, 2, 1], []],
    ]
    assert rg.sort(rg.ragged([[3, 2, 1], [5, 4]])[:, 1:], axis=1).tolist() == [[1, 2], [4]]
    assert rg.sort(rg.from_lengths(np.zeros(0), []), axis=1).tolist() == []
    assert rg.sort(rg.from_lengths(np.zeros((3, 0)), [2, 1]), axis=1).shape == (2, None, 0)


def test_indices_pick_what_is_sorted() -> None:
    x = rg.from_lengths(RNG.standard_normal(40), [10, 0, 30])
    np.testing.assert_array_equal(x[rg.argsort(x, axis=1)].values, rg.sort(x, axis=1).values)
    best = rg.sort(x, axis=1, descending=True)[:, :3]
    assert best.tolist() == [sorted(part.tolist(), reverse=True)[:3] for part in x]


def test_numpys_functions() -> None:
    x = rg.from_lengths(numbers(np.float32, (20,)), [7, 0, 13])
    np.testing.assert_array_equal(np.sort(x, axis=1).values, rg.sort(x, axis=1).values)
    np.testing.assert_array_equal(np.argsort(x, axis=1, kind="stable").values, rg.argsort(x, axis=1).values)
    np.testing.assert_array_equal(np.sort(x).values, rg.sort(x).values)


def test_gradients_go_where_elements_are_from() -> None:
    x = rg.from_lengths(RNG.standard_normal((20, 2)), [7, 0, 13])
    weights = rg.like(x, RNG.standard_normal((20, 2)))
    gradient = rg.grad(lambda x: (rg.sort(x, axis=1) * weights).sum())(x)
    for got, part, weight in zip(gradient, x, weights, strict=True):
        expected = np.zeros_like(part)
        np.put_along_axis(expected, np.argsort(part, 0), weight, 0)
        np.testing.assert_allclose(got, expected)


def test_indices_are_sorted_for_gradients_only() -> None:
    """In a program, too: values alone take half the time."""
    x = rg.ragged([[3.0, 1.0, 2.0], [], [5.0, 4.0]])
    short = x.astype(np.float32)
    sort = rg.jit(lambda x: rg.sort(x, axis=1))
    assert "arith.shli" in rg.jit(lambda x: rg.argsort(x, axis=1)).lower(short).source  # keys in front of indices
    assert "arith.shli" not in sort.lower(short).source
    weights = rg.ragged([[1.0, 2.0, 3.0], [], [4.0, 5.0]])
    for of in (rg.grad(lambda x: (sort(x) * weights).sum()), rg.jit(rg.grad(lambda x: (sort(x) * weights).sum()))):
        assert of(x).tolist() == [[3.0, 1.0, 2.0], [], [5.0, 4.0]]
    _, pull = rg.vjp(sort, x)
    assert pull(weights)[0].tolist() == [[3.0, 1.0, 2.0], [], [5.0, 4.0]]


@pytest.mark.parametrize("axis", [0, 1])
def test_dims_above_a_ragged_one_are_refused(axis: int) -> None:
    x = rg.ragged([[[1], [2, 3]]])
    text = f'^sort: expected an innermost ragged dim, or a dense one of its own, got dim {axis} of layout "drr"$'
    with pytest.raises(rg.LayoutError, match=text):
        rg.sort(x, axis=axis)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("features", [(), (3,)])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_several_keys(target: str, features: tuple[int, ...]) -> None:
    """The last one is the first that is asked; `np.lexsort` of each component is the reference."""
    first, second, third = (
        rg.from_lengths(RNG.integers(0, 3, (int(LENGTHS.sum()), *features)).astype(dtype), LENGTHS)
        for dtype in ("i8", "f4", "?")
    )
    made = rg.jit(lambda *keys: np.lexsort(keys, axis=1), target=target)(first, second, third)
    for got, *keys in zip(made, first, second, third, strict=True):
        np.testing.assert_array_equal(got, np.lexsort([np.asarray(key) for key in keys], axis=0))
    for got, key in zip(rg.lexsort([first], axis=1), first, strict=True):
        np.testing.assert_array_equal(got, np.argsort(key, axis=0, kind="stable"))
    lists = rg.ragged([[[2, 1, 1], [4]], [], [[3, 3]]])
    assert rg.lexsort((-lists, lists[:, :, ::-1] < 2)).tolist() == [[[2, 0, 1], [0]], [], [[0, 1]]]


test_keys_that_do_not_fit = refused(
    [
        (lambda: rg.lexsort([]), rg.ArgumentError, "lexsort: expected at least one key, got none"),
        (lambda: rg.lexsort(np.ones(3)), rg.ArgumentError, "lexsort: expected a list of keys, got ndarray"),
        (
            lambda: rg.lexsort([rg.ragged([[1]]), np.ones((1, 1))]),
            rg.LayoutError,
            'lexsort: expected arrays of one layout, got "dr" and "d|d"',
        ),
        (
            lambda: rg.lexsort([rg.ragged([[1], [2]]), rg.ragged([[1, 2], []])]),
            rg.RuntimeCheckError,
            "lexsort: level 1, component 0: expected length 1, got 2",
        ),
    ]
)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("features", [(2,), (8,), (3, 4)])
@pytest.mark.parametrize("longest", [4, 30, 90])
def test_columns_of_rows(longest: int, features: tuple[int, ...]) -> None:
    """By ranks or as lists of columns, as lengths and columns have it; the first few of each, and batches of none."""
    lengths = RNG.integers(0, longest, 12)
    for own in (lengths, lengths * 0, lengths[:0]):
        x = rg.from_lengths(numbers(np.float32, (int(own.sum()), *features)), own)
        order, few = rg.argsort(x, axis=1, descending=True), rg.top_k(x, 3, axis=1)[1]
        made = rg.sort(x, axis=1)
        assert order.lengths.tolist() == made.lengths.tolist() == own.tolist()
        assert few.lengths.tolist() == np.minimum(own, 3).tolist()
        for part, indices, first, values in zip(x, order, few, made, strict=True):
            expected = in_order(part, 0, descending=True)
            np.testing.assert_array_equal(indices, expected)
            np.testing.assert_array_equal(first, expected[:3])
            np.testing.assert_array_equal(values, np.sort(part, axis=0))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("features", [(2,), (8,), (3, 4)])
def test_columns_of_rows_are_sorted_by_one_op(features: tuple[int, ...]) -> None:
    """Whose results have the structure of what is sorted."""
    x = rg.from_lengths(numbers(np.float32, (8, *features)), [3, 0, 5])
    for run in (lambda x: rg.sort(x, axis=1) - x, lambda x: rg.argsort(x, axis=1) * x):
        assert "assert_conform" not in str(rg.jit(run).lower(x).source)
    stages = rg.jit(lambda x: rg.sort(x, axis=1)).lower(x).stages["ragged"]
    assert "ragged.sort" in str(stages)
    assert "ragged.group_by" not in str(stages)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16, np.int64])
def test_first_few_alone(dtype: Any) -> None:
    """What slices of a sort leave over is not sorted, unless something else reads it."""
    x = rg.from_lengths(numbers(dtype, (int(LENGTHS.sum()),)), LENGTHS)

    def first(x: Any) -> Any:
        return rg.concat([rg.sort(x, axis=1)[:, :3], x[rg.argsort(x, axis=1, descending=True)[:, :2]]], 1)

    def inner(x: Any) -> Any:
        return (rg.argsort(x, axis=2)[:, :, :4] + 1).sum(axis=2)

    np.testing.assert_array_equal(rg.jit(first)(x).values, first(x).values)
    below = rg.partition(x, np.array([0, 3, 3, 7]))
    np.testing.assert_array_equal(rg.jit(inner)(below).values, inner(below).values)

    def beside_all(x: Any) -> Any:
        return rg.sort(x, axis=1)[:, :3] + rg.sort(x, axis=1).sum()

    for run, limits in ((first, 2), (beside_all, 0)):
        assert str(rg.jit(run).lower(x).stages["ragged"]).count("limit = ") == limits
