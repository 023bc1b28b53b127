"""Shape ops, joining, and conversion from and to padded arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg
from ragged_dialect.arrays.core.structure import Structure

LENGTHS = (3, 0, 5, 1)


def padded(parts: list[Any], extent: int, pad: float = 0) -> Any:
    """Components behind one another, each in a row of its own."""
    made = np.full((len(parts), extent, 4), pad, np.float32)
    for row, part in zip(made, parts, strict=True):
        row[: min(len(part), extent)] = part[:extent]
    return made


def test_an_extent_that_is_given_is_known() -> None:
    """So that one of 1 broadcasts in a program too."""
    x = rg.ragged([[1.0, 2.0], [], [3.0]])
    for first in (
        lambda x: rg.to_padded(x[:, :1], 0.0, max_lengths=1),
        lambda x: rg.to_padded(x, 0.0, max_lengths=3)[:, :1],
        lambda x: x.to_padded(0.0, 1, truncate=True),
    ):
        for function in (lambda x, first=first: x - first(x), rg.jit(lambda x, first=first: x - first(x))):
            assert function(x).tolist() == [[0.0, 1.0], [], [0.0]]


@pytest.mark.parametrize("lengths", NESTED)
def test_merge(lengths: Any) -> None:
    x = nested(lengths)
    rows = x.tolist()
    assert x.merge(0).tolist() == [i for r in rows for i in r]
    assert x.merge(1).tolist() == [[v for i in r for v in i] for r in rows]
    np.testing.assert_array_equal(x.merge(0).merge(0), x.values)


def test_merge_with_features() -> None:
    x = array(LENGTHS)
    assert_components(x.merge(1), [c.reshape(-1) for c in components(x)])


def test_partition() -> None:
    v = np.arange(8.0)
    assert rg.partition(v, np.array([0, 2, 8])).tolist() == [[0, 1], [2, 3, 4, 5, 6, 7]]
    assert rg.partition(v, np.array([3, 5]), lengths=True).tolist() == [[0, 1, 2], [3, 4, 5, 6, 7]]
    x = rg.from_lengths(v, [3, 0, 5]).partition(np.array([0, 1, 3]))
    assert x.tolist() == [[[0, 1, 2]], [[], [3, 4, 5, 6, 7]]]
    y = rg.from_lengths(v, [4, 4]).partition(np.array([[0, 1, 4], [0, 4, 4]]), axis=1)
    assert (str(y.layout), y.tolist()) == ("ddr", [[[0], [1, 2, 3]], [[4, 5, 6, 7], []]])


def test_levels_regrouped_are_views() -> None:
    v = np.arange(8.0)
    x = rg.partition(v, np.array([0, 2, 8]))
    assert np.shares_memory(x.values, v)
    for made in (x.partition(np.array([0, 2])), x.split(0, 2), x.partition(np.array([0, 2])).merge(0)):
        assert np.shares_memory(made.values, v)
    assert not np.shares_memory(x.merge(0), v)


def test_split_and_merge_again() -> None:
    x = rg.from_lengths(np.arange(10), [3, 5, 2])
    tiles = x.split(1, 2)
    assert (str(tiles.layout), tiles.shape) == ("drt", (3, None, 2))
    assert (tiles + 1).merge(1).tolist() == (x + 1).tolist()


def test_select_and_transpose() -> None:
    x = array(LENGTHS)
    np.testing.assert_array_equal(x.select(2, 0), components(x)[2])
    assert_components(x.select(1, 2), [c[:, 1] for c in components(x)])
    np.testing.assert_array_equal(x.select(-1, 0), components(x)[-1])
    y = rg.reshape(x, dims=(2,), shape=(2, 2))
    assert_components(y.transpose(0, 1, 3, 2), [c.reshape(-1, 2, 2).swapaxes(1, 2) for c in components(x)])
    z = y.transpose(2, 0, 1, 3)
    assert (str(z.layout), z.shape) == ("d|dr|d", (2, 4, None, 2))
    assert_components(z[1], [c.reshape(-1, 2, 2)[:, 1] for c in components(x)])


def test_transpose_of_batch_dims() -> None:
    x = rg.from_lengths(np.arange(8), [4, 4]).partition(np.array([[0, 1, 4], [0, 4, 4]]), axis=1)
    assert x.transpose(1, 0, 2).tolist() == [[[0], [4, 5, 6, 7]], [[1, 2, 3], []]]


@pytest.mark.parametrize("axis", [0, 1, 2, 3, -1])
def test_unsqueeze(axis: int) -> None:
    x = array((3, 0, 5))
    made = x.unsqueeze(axis)
    assert made.shape[axis] == 1
    np.testing.assert_array_equal((made * 1).values.reshape(-1), x.values.reshape(-1))
    if axis != 1:
        assert_components(made.squeeze(axis), components(x))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("shape", [(2, 3), (-1, 3), (2, -1), (6,), (-1,), (3, -1, 1)])
def test_reshape_of_an_extent_that_calls_know(shape: tuple[int, ...]) -> None:
    """Weights may have any number of rows: whether extents fit is asked in calls."""
    function = rg.jit(lambda x, w: rg.reshape(x @ w.T, dims=(2,), shape=shape), dynamic_dims=())
    x, rng = array(LENGTHS), np.random.default_rng(0)
    weights = rng.standard_normal((6, 4)).astype(np.float32)
    wanted = [(c @ weights.T).reshape(-1, *np.empty(6).reshape(shape).shape) for c in components(x)]
    assert_components(function(x, weights), wanted)
    if shape != (-1,):
        with pytest.raises(
            rg.RuntimeCheckError,
            match=r"^reshape: (dim 2: expected extent 6|level 2: expected a multiple of [23]), got 5",
        ):
            function(x, weights[:5])


def test_transpose_as_numpy() -> None:
    dense = np.arange(24).reshape(2, 3, 4)
    for transposed in (
        lambda x: x.T,
        lambda x: x.transpose(),
        lambda x: x.transpose((1, 0, 2)),
        lambda x: x.transpose(2, 0, 1),
    ):
        np.testing.assert_array_equal(rg.jit(transposed)(dense), transposed(dense))


@pytest.mark.parametrize("shape", [(-1,), (2, -1), ((3, 8),), ([4, 6],), (4, 3, 2)])
def test_reshape_as_numpy(shape: tuple[object, ...]) -> None:
    """Dense tracers, as the arrays that they are outside."""
    dense = np.arange(24).reshape(4, 6)
    np.testing.assert_array_equal(rg.jit(lambda x: (x * 1).reshape(*shape))(dense), dense.reshape(*shape))


def test_reshape() -> None:
    x = array(LENGTHS)
    made = rg.reshape(x, dims=(2,), shape=(2, -1))
    assert_components(made, [c.reshape(-1, 2, 2) for c in components(x)])
    assert_components(made.reshape((2, 3), (4,)), components(x))
    assert np.shares_memory(made.values, x.values)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bool", "int64"])
@pytest.mark.parametrize("width", [None, 0, 3])
def test_long_copies_are_compiled(dtype: str, width: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is inside windows, by a program and without."""
    rng = np.random.default_rng(0)
    lengths, order = rng.integers(0, 9, 40), rng.integers(0, 40, 70)
    rows = int(lengths.sum())
    x = rg.from_lengths(rng.integers(-5, 5, (rows,) if width is None else (rows, width)).astype(dtype), lengths)

    lists = rg.partition(x, np.array([0, 3, 3, 25, 40]), 0)

    def copies() -> list[rg.RaggedArray]:
        views = (
            x[order],
            x[:, 1:4],
            x[order[:0]],
            lists[[2, 0, 1, 2]],
            lists[:, 1:3],
            lists[:, :, ::2],
            lists[::2, 1:],
        )
        return [view.compacted for view in views]

    wanted = copies()
    monkeypatch.setattr("ragged_dialect.arrays.core.array._LONG_COPY", 0)
    before = rg.compilations()
    for got, want in zip(copies(), wanted, strict=True):
        assert got.spec == want.spec
        assert got.values.tobytes() == want.values.tobytes()
        for dim in range(1, got.ndim - (width is not None)):
            np.testing.assert_array_equal(got.offsets_of(dim), want.offsets_of(dim))
    assert rg.compilations() > before


def test_long_copies_above_a_dense_level(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs have no such layout."""
    monkeypatch.setattr("ragged_dialect.arrays.core.array._LONG_COPY", 0)
    axis = Structure("dwd", [np.array([2, 0]), np.array([1, 2])], (2, None, 2))
    x = rg.RaggedArray.of(np.arange(6), [axis], op="test")
    assert x.tolist() == [[[4, 5]], [[0, 1], [2, 3]]]


def test_short_copies_are_compiled_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once NumPy has copied so many rows that a program would have paid."""
    monkeypatch.setattr("ragged_dialect.arrays.core.array._OFTEN", 100)
    monkeypatch.setattr("ragged_dialect.arrays.core.array._copied_rows", {})
    x = rg.from_lengths(np.arange(40, dtype=np.int16), [7, 0, 23, 10])
    made: list[int] = []
    for _ in range(5):  # of 30 rows each
        before = rg.compilations()
        assert x[[2, 1, 0]].values.tolist() == [*range(7, 30), *range(7)]
        made.append(rg.compilations() - before)
    assert made[1:] == [0, 0, 1, 0]  # the first one makes the selection


def test_compact() -> None:
    x = array(LENGTHS)[:, 1:]
    made = rg.compact(x)
    assert (str(x.layout), str(made.layout), made.total) == ("dw|d", "dr|d", 6)
    assert_components(made, components(x))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lengths", STRUCTURES)
def test_padded(lengths: tuple[int, ...]) -> None:
    x = array(lengths)
    parts = components(x)
    extent = max(lengths, default=0)
    np.testing.assert_array_equal(x.to_padded(-1.0), padded(parts, extent, -1))
    np.testing.assert_array_equal(x.to_padded(max_lengths=9), padded(parts, 9))
    np.testing.assert_array_equal(x.to_padded(max_lengths=2, truncate=True), padded(parts, 2))
    assert_components(rg.from_padded(padded(parts, 9), np.array(lengths, np.int64)), parts)
    assert_components(rg.from_padded(padded(parts, 9, 7), pad_value=7), parts)


def test_padded_two_levels_and_masks() -> None:
    x = rg.ragged([[[1, 2], []], [[3]]])
    assert x.to_padded(0).tolist() == [[[1, 2], [0, 0]], [[3, 0], [0, 0]]]
    assert x.to_padded(0, (3, 2)).shape == (2, 3, 2)
    dense = np.arange(9).reshape(3, 3)
    mask = np.array([[False, False, True], [True, False, True], [False, False, True]])
    made = rg.from_padded(dense, mask=mask)
    assert (made.offsets.tolist(), made.values.tolist()) == ([0, 1, 3, 4], [2, 3, 5, 8])
    assert rg.from_padded(np.array([[1.0, np.nan], [np.nan, np.nan]]), pad_value=np.nan).tolist() == [[1], []]


def test_padded_extents_are_not_compiled() -> None:
    x = rg.from_lengths(np.ones((3, 2)), [1, 2])
    calls: list[Callable[[int], Any]] = [
        lambda n: x * np.full((2, n, 2), n),
        lambda n: rg.from_padded(np.ones((2, n)), np.array([1, 2])).lengths,
        lambda n: rg.from_padded(np.ones((2, n)), mask=np.ones((2, n), bool)).lengths,
    ]
    for call in calls:
        call(3)
    before = rg.compilations()
    product, _, kept = (call(5) for call in calls)
    assert rg.compilations() == before
    np.testing.assert_array_equal(product.values, np.full((3, 2), 5))
    np.testing.assert_array_equal(kept, [5, 5])


REFUSED: list[Refusal] = [
    (lambda x: x.to_padded(max_lengths=2), rg.RuntimeCheckError,
     "to_padded: level 1, component 0: expected extent >= length 3, got 2"),
    (lambda x: x.to_padded(max_lengths=-1, truncate=True), rg.RuntimeCheckError,
     "to_padded: level 1: expected at least 0, got -1"),
    (lambda x: x.to_padded(truncate=True), TypeError, "to_padded: expected max_lengths with truncate, got none"),
    (lambda x: x.to_padded(max_lengths=(1, 2)), TypeError, "to_padded: expected 1 max_lengths, got 2"),
    (lambda x: rg.from_padded(x, np.array([1])), TypeError, "from_padded: expected a dense array of rank 2 or more"),
    (lambda x: rg.from_padded(np.zeros((2, 3))), TypeError, 
     "from_padded: expected one of lengths, pad_value and mask, got none"),
    (lambda x: rg.from_padded(np.zeros((2, 3)), np.array([1, 4])), rg.RuntimeCheckError,
     "from_padded: level 1, component 1: expected extent >= length 4, got 3"),
    (lambda x: rg.from_padded(np.zeros((2, 3)), np.array([1, -1])), rg.RuntimeCheckError,
     "from_padded: level 1, component 1: expected at least 0, got -1"),
    (lambda x: rg.from_padded(np.zeros((2, 3)), np.array([1, 1, 1])), rg.RuntimeCheckError,
     "from_padded: dim 0: expected extent 2, got 3"),
    (lambda x: rg.from_padded(np.zeros((2, 3)), mask=np.zeros((2, 3))), TypeError,
     "from_padded: expected a mask of booleans of rank 2, got another array"),
    (lambda x: rg.concat([]), TypeError, "concat: expected at least one array, got none"),
    (lambda x: rg.concat([x, array((1, 2))], axis=1), rg.RuntimeCheckError, "concat: dim 0: expected extent 4, got 2"),
    (lambda x: rg.concat([x, array((3, 0, 4, 2))], axis=2), rg.RuntimeCheckError,
     "concat: level 1, component 2: expected length 5, got 4"),
    (lambda x: rg.concat([x, x[..., 0]]), rg.LayoutError, 'concat: expected arrays of one layout, got "dr|d" and "dr"'),
    (lambda x: rg.chunk(x, 0), TypeError, "chunk: expected chunks in [1, 1048576], got 0"),
    (lambda x: x.squeeze(2), rg.LayoutError, "squeeze: expected a dense dim of extent 1, got dim 2 of extent 4"),
    (lambda x: x.squeeze(1), rg.LayoutError, 'squeeze: expected a dense dim of extent 1, got dim 1 of layout "dr|d"'),
    (lambda x: np.stack([x, x], axis=7), IndexError, "stack: expected axis in [-4, 4), got 7"),
    (lambda x: rg.stack([x, x], axis=-9), IndexError, "stack: expected axis in [-4, 4), got -9"),
    (lambda x: x.unsqueeze(5), IndexError, "unsqueeze: expected axis in [-4, 4), got 5"),
    (lambda x: rg.reshape(x, dims=(2,), shape=(3, -1)), rg.LayoutError, "reshape: expected extents with product 4"),
    (lambda x: rg.reshape(x, dims=(1, 2), shape=(4,)), rg.LayoutError, 
     'reshape: expected adjacent plain dims, got (1, 2) of layout "dr|d"'),
    (lambda x: rg.reshape(x, dims=(2,), shape=(-1, -1)), rg.LayoutError, 
     "reshape: expected at most one extent of -1, got (-1, -1)"),
    (lambda x: x.transpose(1, 0, 2), rg.LayoutError, "transpose: expected whole nested axes, got (1, 0, 2)"),
    (lambda x: x.transpose(0, 1), IndexError, "transpose: expected a permutation of 3 axes, got (0, 1)"),
    (lambda x: x.select(4, 0), IndexError, "select: level 0: expected index in [-4, 4), got 4"),
    (lambda x: x.partition(np.array([0, 2])), rg.RuntimeCheckError,
     "partition: level 1, component 0: expected offsets[1] == 4, got 2"),
    (lambda x: x.partition(np.array([[0, 3], [0, 0], [0, 4], [0, 1]]), axis=1), rg.RuntimeCheckError,
     "partition: level 2, component 2: expected the row of offsets to end at 5, got 4"),
    (lambda x: rg.partition(np.zeros(4), np.array([0, 3])), rg.RuntimeCheckError,
     "partition: level 1, component 0: expected offsets[1] == 4, got 3"),
    (lambda x: rg.concat([np.ones((3, 1, 4)), x], axis=1), rg.RuntimeCheckError,
     "concat: dim 0: expected extent 3, got 4"),
    (lambda x: rg.concat([np.ones((4, 1)), x], axis=1), rg.LayoutError, 'expected arrays of one layout, got "d|d" and'),
    (lambda x: rg.concat(x, x), TypeError, "concat: expected a list of arrays, got RaggedArray"),
    (lambda x: rg.stack(x), TypeError, "stack: expected a list of arrays, got RaggedArray"),
    (lambda x: rg.stack([x, np.arange(3)], axis=-1), ValueError, "stack: expected arrays of one rank, got 3 and 1"),
    (lambda x: rg.stack([x, 2.0]), ValueError, "stack: expected arrays of one rank, got 3 and 0"),
    (lambda x: rg.stack([]), TypeError, "stack: expected at least one array, got none"),
    (lambda x: rg.jit(lambda a: rg.chunk(a, 2))(x), rg.LayoutError,
     "chunk: expected an extent that is known when the function is traced, got dim 0"),
    (lambda x: x.split(0, 3), rg.RuntimeCheckError, "split: level 0: expected a multiple of 3, got 4"),
    (lambda x: rg.reshape(np.ones((4, 2)), dims=(0, 1), shape=(3, -1)), rg.RuntimeCheckError,
     "reshape: level 0: expected a multiple of 3, got 8"),
    (lambda x: rg.reshape(np.ones((4, 2)), dims=(0, 1), shape=(7,)), rg.RuntimeCheckError,
     "reshape: dim 0: expected extent 7, got 8"),
    (lambda x: rg.reshape(np.ones((4, 2)), dims=(0,), shape=(0, -1)), rg.LayoutError,
     "reshape: expected extents that fit (None,) for any batch, got (0, -1)"),
    (lambda x: rg.reshape(np.ones((4, 2)), dims=(0, 1), shape=(2**40, 2**40)), rg.LayoutError,
     "reshape: expected extents that fit (None, 2) for any batch, got (1099511627776, 1099511627776)"),
    (lambda x: rg.reshape(np.ones((4, 2)), dims=(0, 1), shape=(2**62, 2)), rg.LayoutError,
     "reshape: expected extents that fit (None, 2) for any batch, got"),
    (lambda x: rg.reshape(x, dims=(2,), shape=(-2, -2)), rg.LayoutError,
     "reshape: expected extents of at least -1, got (-2, -2)"),
    (rg.jit(lambda x: x.T), rg.LayoutError, "transpose: expected whole nested axes, got (2, 1, 0)"),
    (lambda x: rg.from_padded(np.ones(3), np.array([1])), TypeError,
     'from_padded: expected a dense array of rank 2 or more, got layout "d"'),
    (lambda x: rg.from_padded(np.ones((2, 3)), np.ones(2)), TypeError,
     "from_padded: expected a vector of integers for lengths, got float64 of rank 1"),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


def grid(*rows: tuple[int, ...]) -> Any:
    """Lists below two dense dims, [n, k, ~]."""
    x = rg.from_lengths(np.arange(float(sum(map(sum, rows)))), [sum(row) for row in rows])
    return rg.partition(x, np.array([np.cumsum([0, *row]) for row in rows]), axis=1)


GRID = grid((1, 2, 0), (3, 1, 1))


def test_joined_below_dense_levels() -> None:
    rows = GRID.tolist()
    stacked = [[[row, row] for row in part] for part in rows]
    assert rg.stack([GRID, GRID], axis=2).tolist() == stacked
    assert rg.concat([GRID[:, :, None], GRID[:, :, None]], axis=2).tolist() == stacked
    assert rg.jit(lambda d: rg.concat([d[:, :, None], d[:, :, None] * 1], axis=2))(GRID).tolist() == stacked


def test_tiles_made_in_traced_code() -> None:
    halves = rg.jit(lambda a, b: rg.split(a * 1, axis=0, factor=2) + rg.split(b * 1, axis=0, factor=2))
    assert halves(np.arange(5), np.arange(5)).values.tolist() == [0, 2, 4, 6, 8]


BELOW: list[Refusal] = [
    (lambda x: rg.stack([x, grid((1, 2), (1, 0))], axis=2), ValueError, "stack: dim 1: expected extent 3, got 2"),
    (lambda x: rg.concat([x, grid((1, 2), (1, 0))], axis=2), ValueError, "concat: dim 1: expected extent 3, got 2"),
    (lambda x: rg.gather(x, grid((0, 0), (0, 0), (0, 0)).astype("i8")), ValueError,
     "gather: dim 0: expected extent 2, got 3"),
    (lambda x: rg.jit(lambda a, b: rg.split(a * 1, axis=0, factor=2) + rg.split(b * 1, axis=0, factor=2))(
        np.arange(5), np.arange(6)), ValueError, "add: level 1, component 2: expected length 1, got 2"),
]  # fmt: skip

test_refused_below_dense_levels = refused(BELOW, lambda: GRID)


def test_a_number_is_one_element() -> None:
    for shape in ((-1,), (1,), (1, -1), ()):
        found = rg.jit(lambda x, shape=shape: x.reshape(shape))(np.float32(3))
        assert np.asarray(found).shape == np.float32(3).reshape(shape).shape
