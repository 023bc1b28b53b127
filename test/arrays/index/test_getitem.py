"""Indexing as Python indexes the list of components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import NESTED, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)
S = slice
SLICES = (
    S(1, 3), S(None, None, -1), S(None, None, 2), S(-5000, 5000), S(3, 1), S(-1, 0, -2), S(-2, None), S(None, -3, -1),
)  # fmt: skip


@pytest.mark.parametrize("piece", SLICES)
def test_slice_of_the_batch(piece: slice) -> None:
    x = array(LENGTHS)
    assert_components(x[piece], components(x)[piece])


@pytest.mark.parametrize("piece", SLICES)
def test_slice_of_the_components(piece: slice) -> None:
    x = array(LENGTHS)
    assert_components(x[:, piece], [c[piece] for c in components(x)])


@pytest.mark.sampled(2)
@pytest.mark.parametrize("piece", SLICES)
def test_slice_of_features(piece: slice) -> None:
    x = array(LENGTHS)
    assert_components(x[..., piece], [c[:, piece] for c in components(x)])


@pytest.mark.parametrize("at", [0, 1, 3, -1, -4])
def test_one_component(at: int) -> None:
    x = array(LENGTHS)
    np.testing.assert_array_equal(x[at], components(x)[at])


@pytest.mark.parametrize("at", [0, 1, -1, -2])
def test_one_row_of_every_component(at: int) -> None:
    x = array((2, 3, 5))
    np.testing.assert_array_equal(x[:, at], [c[at] for c in components(x)])


def test_several_at_once() -> None:
    x = array(LENGTHS)
    c = components(x)
    assert_components(x[..., 0], [p[:, 0] for p in c])
    np.testing.assert_array_equal(x[2, 1:, 1], c[2][1:, 1])
    assert x[2, 0, 1] == c[2][0, 1]
    assert_components(x[::-1, ::-1, ::-1], [p[::-1, ::-1] for p in c[::-1]])
    assert x[None].shape == (1, 4, None, 4)
    assert x[:, :, None].shape == (4, None, 1, 4)
    assert_components(x[1:][:, 1:], [p[1:] for p in c[1:]])


def test_vectors_of_integers_and_booleans() -> None:
    x = array(LENGTHS)
    c = components(x)
    assert_components(x[[2, 0, -1, 2]], [c[2], c[0], c[3], c[2]])
    assert_components(x[np.array([True, False, True, False])], [c[0], c[2]])
    assert_components(x[:, :, [3, 0]], [p[:, [3, 0]] for p in c])
    assert_components(x[:, :, np.array([True, False, False, True])], [p[:, [0, 3]] for p in c])
    assert_components(x.take(np.array([1, 1])), [c[1], c[1]])
    assert_components(x[np.zeros(0, np.int64)], [])


def test_ragged_masks_keep_the_components() -> None:
    x = rg.ragged([[1, 2], [], [3, 4, 5]])
    assert x[x > 2].tolist() == [[], [], [3, 4, 5]]
    y = array(LENGTHS)
    assert_components(y[y[..., 0] > 0], [c[c[:, 0] > 0] for c in components(y)])
    assert rg.boolean_mask(x, x < 0).tolist() == [[], [], []]
    z = nested(NESTED[0])
    assert z[z > 0].tolist() == [[[v for v in i if v > 0] for i in r] for r in z.tolist()]


def test_ragged_indices_pick_from_every_component() -> None:
    x = array(LENGTHS)
    picks = [[2, 0, -1], [], [4, 4], [0]]
    index = rg.from_lengths(np.array([i for p in picks for i in p]), [len(p) for p in picks])
    expected = [c[np.array(p, int)] for c, p in zip(components(x), picks, strict=True)]
    assert_components(x[index], expected)
    assert_components(rg.gather(x, index), expected)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("lengths", NESTED)
@pytest.mark.parametrize("piece", [S(1, None), S(None, None, -1), S(None, 1), S(-1, None)])
def test_two_levels(lengths: Any, piece: slice) -> None:
    x = nested(lengths)
    rows = x.tolist()
    assert x[piece].tolist() == rows[piece]
    assert x[:, :, piece].tolist() == [[i[piece] for i in r] for r in rows]
    assert x[:, piece].tolist() == [r[piece] for r in rows]
    assert (x[piece] * 2).tolist() == [[[2 * v for v in i] for i in r] for r in rows[piece]]


def test_one_row_of_what_windows_show() -> None:
    """Components that no window shows may have none; those that are shown are counted."""
    x = rg.ragged([[[1.0], [2.0, 3.0]], [[4.0, 5.0, 6.0]]])
    assert x[:, -1:, 1].tolist() == [[3.0], [5.0]]
    assert x[:, -1:, -2].tolist() == [[2.0], [5.0]]
    assert x[np.array([1])][:, :, 2].tolist() == [[6.0]]
    assert [x[:, :0, at].tolist() for at in (7, 2**63 - 1, -(2**63))] == [[[], []]] * 3
    with pytest.raises(IndexError, match=r"level 2, component 1: expected index in \[-1, 1\), got 1"):
        _ = x[::-1][:, :1, 1]


def test_a_slice_is_a_view() -> None:
    x = array(LENGTHS)
    assert np.shares_memory(x[:, 1:].stored.values, x.values)
    assert np.shares_memory(x[[2, 0]].stored.values, x.values)


def test_numbers_of_a_program_are_taken_one_by_one() -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    found = rg.jit(lambda t, i, j, k: (t[i, j, k], t[i, j], t[1, j, k], t[i, -1, k], t[i, j, 1:]))(table, 1, 2, 3)
    wanted = (table[1, 2, 3], table[1, 2], table[1, 2, 3], table[1, -1, 3], table[1, 2, 1:])
    for made, of in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(made, of)
    apart = rg.jit(lambda t, i, j: (t[i, :, j], t[..., i, j], t[:, i, j], t[None, i, 1:, j], t[i, None, :, j]))
    wanted = (table[1, :, 2], table[..., 1, 2], table[:, 1, 2], table[None, 1, 1:, 2], table[1, None, :, 2])
    for made, of in zip(apart(table, 1, 2), wanted, strict=True):
        np.testing.assert_array_equal(made, of)
    lists = rg.from_lengths(np.arange(6.0), [2, 1, 3])
    element = rg.jit(lambda x, i, j: x[i, j])
    assert element(lists, 2, 1) == 4
    with pytest.raises(rg.RangeError, match=r"getitem: level 0: expected index in \[-3, 3\), got 3"):
        element(lists, 2, 3)


def test_pairs_of_indices() -> None:
    x, rows, places = array(LENGTHS), np.array([2, 0, 3, -2]), np.array([4, -1, 0, 1])
    expected = np.stack([components(x)[i][j] for i, j in zip(rows, places, strict=True)])
    for y, own in ((x, rows), (x[1:], np.array([1, -1, 2, 1]))):
        parts = components(y)
        want = np.stack([parts[i][j] for i, j in zip(own, places % [len(parts[i]) for i in own], strict=True)])
        np.testing.assert_array_equal(y[own, places % [len(parts[i]) for i in own]], want)
    np.testing.assert_array_equal(x[rows, places], expected)
    np.testing.assert_array_equal(x[rows, places, 1], expected[:, 1])
    np.testing.assert_array_equal(x[[2, 0], [4, -1], None], expected[:2, None])
    np.testing.assert_array_equal(rg.jit(lambda x, i, j: x[i, j], target="emulator")(x, rows, places), expected)
    gradient = rg.grad(lambda x: (x[rows, places] ** 2).sum())(x)
    sums = [np.zeros_like(c) for c in components(x)]
    for i, j in zip(rows, places, strict=True):
        sums[i][j] += 2 * components(x)[i][j]
    assert_components(gradient, sums)


def test_pairs_of_indices_of_inner_lists() -> None:
    x = rg.ragged([[[1, 2], [3]], [[4]], [[5, 6, 7], [], [8]]])
    assert x[np.array([2, 0, 2]), np.array([0, 1, -2])].tolist() == [[5, 6, 7], [3], []]
    for y in (x[:, :, 1:], x[[2, 0]], x[[2, 0], :, :-1], x[::2, 1:]):
        rows, places = np.array([1, 0, 0]), np.array([-1, 0, -1])
        expected = [y.tolist()[i][j] for i, j in zip(rows, places, strict=True)]
        assert y[rows, places].tolist() == expected
        assert rg.jit(lambda y, i, j: y[i, j] * 1)(y, rows, places).tolist() == expected


def test_other_indices_do_not_compile_again() -> None:
    x = array(LENGTHS)
    assert_components(x[1:3], components(x)[1:3])
    before = rg.compilations()
    assert_components(x[0:2], components(x)[0:2])
    y = array((1, 1))
    assert_components(y[-1:7], components(y)[-1:7])
    assert rg.compilations() == before


def test_numbers_of_a_program_beside_arrays() -> None:
    table = np.arange(24.0).reshape(2, 3, 4)
    taken = rg.jit(lambda t, i, a: (t[i, a], t[a, i], t[..., i, a], t[i, np.arange(3) > 0], t[a, :, i]))
    found = taken(table, 1, np.array([0, 1]))
    wanted = (table[1, [0, 1]], table[[0, 1], 1], table[..., 1, [0, 1]], table[1, 1:], table[[0, 1], :, 1])
    np.testing.assert_array_equal(rg.jit(lambda t, i: t[i, :, np.array(1)])(table, 1), table[1, :, 1])
    for made, of in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(made, of)
    x = array(LENGTHS)
    assert_components(rg.jit(lambda x, i: x[[2, 0], :, i])(x, 1), [components(x)[k][:, 1] for k in (2, 0)])


NUMBERS_BESIDE: list[tuple[Any, Any]] = [
    (lambda x, a, i: x[a, i], rg.ragged([[0, 1], [], [1], [0]], np.int64)),
    (lambda x, a, i: x[a, i], rg.from_lengths(np.arange(9) % 3 > 0, LENGTHS)),
    (lambda x, a, i: x[a, ..., i], rg.from_lengths(np.arange(9) % 3 > 0, LENGTHS)),
    (lambda x, a, i: x[a, i], np.array([0, 2])),
    (lambda x, a, i: x[a, i], np.array([True, False, True, False])),
    (lambda x, a, i: x[a, i, i], np.array([0, 2])),
    (lambda x, a, i: x[2:3, i, a], np.array([0, 2])),
    (lambda x, a, i: x[a, a, i], np.array([0, 2])),
    (lambda x, a, i: x[2:3, i - 1, i], np.array([0])),
    (lambda x, a, i: x[2:3, None, i, ..., i], np.array([0])),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(("function", "index"), NUMBERS_BESIDE)
def test_components_are_chosen_before_numbers_of_a_program_are_taken(function: Any, index: Any) -> None:
    """Others may be too short."""
    x = array(LENGTHS)
    assert rg.jit(function)(x, index, 1).tolist() == function(x, index, 1).tolist()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_extents_of_slices_are_known_in_programs(step: int) -> None:
    """What broadcasts, or is reshaped, asks for them."""
    x, table = array(LENGTHS), np.arange(24.0).reshape(2, 3, 4)
    bounds = [None, 0, 1, 4, 9, -1, -9]
    cuts = [slice(a, b, step) for a in bounds for b in bounds]

    def cut(x: Any, table: Any) -> Any:
        made = [(x[..., c], table[..., c]) for c in cuts]
        for c, (of_x, of_table) in zip(cuts, made, strict=True):
            assert of_x.shape[-1] == of_table.shape[-1] == len(range(*c.indices(4)))
        return made

    for c, (of_x, of_table) in zip(cuts, rg.jit(cut)(x, table), strict=True):
        np.testing.assert_array_equal(of_x.values, x.values[..., c])
        np.testing.assert_array_equal(of_table, table[..., c])


def test_slices_of_extent_1_broadcast_in_programs() -> None:
    x, table = array(LENGTHS), np.arange(24.0).reshape(2, 3, 4)
    made, dense, heads = rg.jit(lambda x, t: (x * x[..., :1], t / t[:, -1:], x[..., :4].reshape((2,), (2, 2))))(
        x, table
    )
    np.testing.assert_array_equal(made.values, x.values * x.values[:, :1])
    np.testing.assert_array_equal(dense, table / table[:, -1:])
    assert heads.shape == (4, None, 2, 2)


REFUSED: list[Refusal] = [
    (lambda x: x[4], IndexError, "getitem: level 0: expected index in [-4, 4), got 4"),
    (lambda x: x[-5], IndexError, "getitem: level 0: expected index in [-4, 4), got -5"),
    (lambda x: x[:, 1], IndexError,
     "getitem: level 1, component 1: expected an index of what has elements, got 1 of what is empty"),
    (lambda x: x[:, -1], IndexError,
     "getitem: level 1, component 1: expected an index of what has elements, got -1 of what is empty "
     "(x[x.lengths > 0] leaves out empty components, rg.to_padded fills them)"),
    (lambda x: x[0, 0, 0, 0], IndexError, "getitem: expected indices of at most 3 dims, got 4"),
    (lambda x: x[:, : np.array([1, 2])], TypeError,
     "getitem: expected an integer for a bound, got an array (x[rg.local_index(x) < stops[:, None]] has one"),
    (lambda x: x[:, :, 9], IndexError, "getitem: level 2: expected index in [-4, 4), got 9"),
    (lambda x: rg.gather(x[x.lengths > 0], np.array([[0, 2], [1, 9], [0, 0]])), IndexError,
     "gather: level 1, component 1: expected index in [-5, 5), got 9"),
    (lambda x: x[[0, 9]], IndexError, "getitem: level 0, component 1: expected index in [-4, 4), got 9"),
    (lambda x: x[[True, False]], rg.RuntimeCheckError, "getitem: dim 0: expected extent 4, got 2"),
    (lambda x: x[::0], TypeError, "getitem: expected a step other than 0, got 0"),
    (lambda x: x[..., ...], TypeError, "getitem: expected at most one ellipsis, got more"),
    (lambda x: x[:, [0]], IndexError,
     "getitem: level 1, component 1: expected an index of what has elements, got 0 of what is empty"),
    (lambda x: x[:, [[0]]], rg.LayoutError,
     'getitem: expected a vector, or a ragged index on dim 0, got rank 2 on dim 1 of layout "dr|d" '
     "(rg.gather and np.take_along_axis pick from each component)"),
    (lambda x: x[[0, 1], :, [0, 1]], TypeError,
     "getitem: expected one array among the indices, or vectors of integers for the first two dims, got others "
     "(of a table t[i, j] is rg.take_along_axis(rg.take(t, i), j[..., None], axis=-1)[..., 0])"),
    (lambda x: rg.jit(lambda t: t[1, :, np.array([0, 1])])(np.ones((2, 3, 4))), TypeError,
     "getitem: expected no slice between a number and an array among the indices, got one (use them one by one)"),
    (lambda x: rg.jit(lambda t, i: t[:, np.array([0, 2]), ..., i])(np.ones((2, 3, 4)), 1), TypeError,
     "getitem: expected no slice between a number and an array among the indices, got one (use them one by one)"),
    (lambda x: rg.jit(lambda x, i: x[[0, 2], i, [0, 1]])(x, 0), TypeError,
     "getitem: expected one array among the indices, or vectors of integers for the first two dims, got others "
     "(of a table t[i, j] is rg.take_along_axis(rg.take(t, i), j[..., None], axis=-1)[..., 0])"),
    (lambda x: x[np.array([10**12]), np.array([0])], IndexError,
     "getitem: level 0, component 0: expected index in [-4, 4), got 1000000000000"),
    (lambda x: x[[0, 1], [2, 0]], IndexError,
     "getitem: level 1, component 1: expected an index of what has elements, got 0 of what is empty"),
    (lambda x: x[[0, 2], [2]], rg.RuntimeCheckError, "getitem: dim 0: expected extent 2, got 1"),
    (lambda x: rg.stack([x, x])[[0], [0]], rg.LayoutError,
     'getitem: expected one array among the indices where dim 1 is not ragged, got 2 for layout "d|dr|d"'),
    (lambda x: x[np.array([0.5])], TypeError, "getitem: expected indices of integers or booleans, got float64"),
    (lambda x: x[rg.ragged([[0], [], [9], []])], IndexError,
     "getitem: level 1, component 2: expected index in [-5, 5), got 9"),
    (lambda x: x[rg.ragged([[0], []])], rg.RuntimeCheckError, "getitem: dim 0: expected extent 4, got 2"),
    (lambda x: x[rg.ragged([[True], []])], rg.RuntimeCheckError, "getitem: level 0: expected 4 components, got 2"),
    (lambda x: x[:, [True]], rg.LayoutError,
     'getitem: expected a vector on a dense dim, or a ragged mask on dim 0, got dim 1 of layout "dr|d"'),
    (lambda x: x[x.astype(np.int64)], rg.LayoutError,
     'getitem: expected a ragged index of one axis of a ragged array, got layout "dr|d"'),
    (lambda x: x[nested(NESTED[0]).astype(np.int64)], rg.LayoutError,
     'getitem: expected an index of leading levels of "dr|d", got "drr"'),
    (lambda x: nested(NESTED[0])[nested(NESTED[0])[:, 1:].astype(np.int64)], rg.RuntimeCheckError,
     "getitem: level 1, component 0: expected length 2, got 1"),
    (lambda x: rg.gather(x, np.zeros((3, 1), np.int64)), rg.RuntimeCheckError,
     "gather: dim 0: expected extent 4, got 3"),
    (lambda x: rg.gather(x, np.zeros((4, 1), np.int64)), IndexError,
     "gather: level 1, component 1: expected an index of what has elements, got 0 of what is empty"),
    (lambda x: rg.gather(x, np.zeros(4, np.int64)), rg.LayoutError,
     'gather: expected a ragged index, or a dense one of rank 2 for one ragged dim below dim 0, got rank 1 for'),
    (lambda x: x.split(1, 2).take([0], 0), rg.LayoutError,
     'take: expected a layout without tiles, got "drt|d" (merge it first)'),
]  # fmt: skip


test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_steps_beyond_everything() -> None:
    x = array(LENGTHS)
    for step in (2**63 - 1, 2**62, -(2**63), -(2**62)):
        assert x[:, ::step].tolist() == [part[::step] for part in x.tolist()]


def test_tiles_print() -> None:
    x = rg.split(rg.from_lengths(np.arange(8.0), [4, 4]), axis=1, factor=2)
    assert repr(x) == 'RaggedArray([2, ~, 2], float64, "drt")\n  lengths of dim 1: [4, 4]\n  … 2 more'
