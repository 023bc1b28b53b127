"""Joining arrays, and cutting them in pieces, beside NumPy's functions of components."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_components, components, nested

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)


@pytest.mark.parametrize("lengths", STRUCTURES)
def test_concat(lengths: tuple[int, ...]) -> None:
    x, y = array(lengths), array(tuple(reversed(lengths)), seed=1)
    a, b = components(x), components(y)
    assert_components(rg.concat([x, y]), a + b)
    assert_components(rg.concat([x, y, x], axis=1), [np.concatenate([p, q, p]) for p, q in zip(a, b, strict=True)])
    assert_components(rg.concat([x, x * 2], axis=2), [np.concatenate([p, 2 * p], 1) for p in a])
    assert_components(np.concatenate([x, y]), a + b)


def test_concat_of_two_levels_and_dtypes() -> None:
    x = nested(NESTED[0])
    rows = x.tolist()
    assert rg.concat([x, x], axis=1).tolist() == [r + r for r in rows]
    assert rg.concat([x, x], axis=2).tolist() == [[i + i for i in r] for r in rows]
    assert rg.concat([array((1, 2), dtype=np.int32), array((1, 2), dtype=np.float32)]).dtype == np.float64


def test_concat_of_dense_dims_beside_inner_lists() -> None:
    """A number, or as many, for each inner list; lists of one length for each component."""
    x = nested(NESTED[0])
    rows, first = x.tolist(), x.sum(axis=2)[:, :, None]
    wanted = [[[sum(own), *own] for own in row] for row in rows]
    assert rg.concat([first, x], axis=2).tolist() == wanted
    assert rg.jit(lambda x: rg.concat([x.sum(axis=2)[:, :, None], x], axis=2))(x).tolist() == wanted
    more = np.ones((len(rows), 1, 2), x.dtype)
    assert rg.concat([x, more], axis=1).tolist() == [[*row, [1, 1]] for row in rows]
    with pytest.raises(rg.RuntimeCheckError, match="concat: level 1, component 0: expected length "):
        rg.concat([x, more], axis=2)


@pytest.mark.sampled(90)
@pytest.mark.parametrize("dtypes", list(product(["?", "i2", "f2", "f4", "f8"], repeat=3)), ids=" ".join)
def test_concat_has_the_dtype_of_all(dtypes: tuple[str, ...]) -> None:
    """Whatever their order: no later one takes back what an earlier one asks for."""
    arrays = [array((1, 2), (), dtype) for dtype in dtypes]
    got = rg.concat(arrays)
    assert got.dtype == np.result_type(*dtypes)
    np.testing.assert_array_equal(got.values, np.concatenate([x.values for x in arrays]))


@pytest.mark.parametrize("batch", [1, 2])
def test_dense_arrays_of_a_batch_of_one(batch: int) -> None:
    """Their extents are all static, and those of what they become are not."""
    ones = np.ones((batch, 2))
    x = rg.from_lengths(np.zeros(3 * batch), [3] * batch)
    assert rg.concat([ones, x, ones], axis=1).tolist() == [[1.0] * 2 + [0.0] * 3 + [1.0] * 2] * batch
    masked = rg.from_padded(ones, mask=np.array([[False, True]] * batch))
    assert masked.tolist() == [[1.0]] * batch


@pytest.mark.sampled(2)
@pytest.mark.parametrize("features", [(), (3,)])
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_concat_of_slices(features: tuple[int, ...], target: str) -> None:
    x, y = array((3, 0, 5, 1), features), array((2, 4, 0, 1), features, seed=1)
    joined = rg.jit(lambda x, y: rg.concat([x[:, ::2], y, x[:, 1:], y[:, :-1] * 2], axis=1), target=target)
    expected = [
        np.concatenate([a[::2], b, a[1:], b[:-1] * 2]) for a, b in zip(components(x), components(y), strict=True)
    ]
    assert_components(joined(x, y), expected)
    weights, other = array([len(c) for c in expected], features, seed=2), array((3, 0, 5, 1), features, seed=3)
    gradient = rg.grad(lambda x: (joined(x, y) * weights).sum())(x)
    np.testing.assert_allclose((gradient * other).sum(), (weights * joined(other, y * 0)).sum(), 1e-4)


def test_concat_of_slices_of_two_levels() -> None:
    x = rg.ragged([[[1, 2], [], [3]], [], [[4], [5, 6, 7], [8]]])
    cases: list[tuple[Callable[[Any], Any], Callable[[Any], Any]]] = [
        (lambda x: rg.concat([x[:, 1:], x[:, :1]], axis=1), lambda c: c[1:] + c[:1]),
        (lambda x: rg.concat([x[:, :, 1:], x[:, :, :1]], axis=2), lambda c: [r[1:] + r[:1] for r in c]),
        (lambda x: rg.concat([x[:, :, 1:], x], axis=1), lambda c: [r[1:] for r in c] + c),
        (lambda x: rg.concat([x[:, 1:, 1:], x[:, 1:]], axis=2), lambda c: [r[1:] + r for r in c[1:]]),
        (lambda x: np.roll(x, 1, axis=1), lambda c: c[-1:] + c[:-1]),
    ]
    for function, expected in cases:
        for run in (function, rg.jit(function)):
            assert run(x).tolist() == [expected(c) for c in x.tolist()]
            assert run(x)[:, :, 0:].tolist() == [expected(c) for c in x.tolist()]
            assert run(x).sum(axis=2).tolist() == [[sum(r) for r in expected(c)] for c in x.tolist()]


def test_concat_of_windows_that_overlap() -> None:
    x = rg.ragged([[[1, 2], []], [[3]]])[[0, 1, 0, 0, 1] * 40]
    for run in (lambda x: rg.concat([x, x], axis=1), rg.jit(lambda x: rg.concat([x, x], axis=1))):
        made = run(x)
        assert made.stored.vectors[1].size == 1 + 40 * 16
        assert made.tolist() == [c + c for c in x.tolist()]


def test_concat_of_dense_arrays() -> None:
    x, first = array(LENGTHS), np.arange(32, dtype=np.float32).reshape(4, 2, 4)
    expected = [np.concatenate([f, c]) for f, c in zip(first, components(x), strict=True)]
    assert_components(rg.concat([first, x], axis=1), expected)
    assert_components(rg.jit(lambda a, b: rg.concat([a, b], axis=1))(first, x), expected)
    assert_components(rg.concat([x, first]), [*components(x), *first])


@pytest.mark.parametrize("extents", [(3, 0), (0, 3), (1, 0, 0), (0, 0)])
def test_concat_with_extents_of_0(extents: tuple[int, ...]) -> None:
    parts = [np.ones((5, n)) for n in extents]
    np.testing.assert_array_equal(rg.concat(parts, axis=-1), np.concatenate(parts, 1))
    ragged = [rg.from_lengths(p, [3, 0, 2]) for p in parts]
    np.testing.assert_array_equal(rg.concat(ragged, axis=-1).values, np.concatenate(parts, 1))


def test_concat_of_many_extents() -> None:
    """More runs of a type than `ragged.concat` takes."""
    parts = [np.full((3, k % 2 + 1), k, np.float32) for k in range(26)]
    whole = np.concatenate(parts, axis=1)
    found = rg.concat([rg.from_lengths(x, [1, 0, 2]) for x in parts], axis=2)
    assert found.shape == (3, None, 39)
    assert_components(found, [whole[:1], whole[1:1], whole[1:]])
    assert np.array_equal(rg.concat(parts, axis=1), whole)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("traced", [False, True])
def test_concat_of_many_is_done_by_programs_of_few(traced: bool) -> None:
    rng = np.random.default_rng(0)
    arrays = [array(rng.integers(0, 4, 3), seed=k) for k in range(18 if traced else 67)]
    arrays[9] = arrays[9].astype(np.float64)
    parts = [components(x) for x in arrays]
    expected = {0: [c for own in parts for c in own], 1: [np.concatenate(own) for own in zip(*parts, strict=True)]}
    for axis in (0, 1):
        before = rg.compilations()
        joined = rg.jit(lambda xs, axis=axis: rg.concat(xs, axis=axis)) if traced else partial(rg.concat, axis=axis)
        got = joined(arrays)
        assert got.dtype == np.float64
        assert_components(got, expected[axis])
        assert rg.compilations() - before <= 6
    arrays[12] = arrays[12][1:]
    with pytest.raises(rg.RuntimeCheckError, match=r"^concat: dim 0: expected extent 3, got 2$"):
        rg.concat(arrays, axis=1)


def test_stack_and_chunk() -> None:
    x = array(LENGTHS)
    assert_components(rg.stack([x, x * 2])[1], [2 * c for c in components(x)])
    assert_components(rg.stack([x, x * 2], axis=-1), [np.stack([c, 2 * c], -1) for c in components(x)])
    y = array((1, 2, 3, 4, 5, 6, 7, 8))
    assert [len(p) for p in rg.chunk(y, 3)] == [3, 3, 2]
    assert rg.chunk(y, 3)[2].offsets.tolist() == [0, 7, 15]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("count", [1, 2, 3, 16, 17])
def test_stacked_next_to_each_other(count: int) -> None:
    x = array(LENGTHS)
    many = [x + k for k in range(count)]
    for found in (rg.stack(many, axis=-1), rg.jit(lambda *many: rg.stack(many, axis=-1))(*many)):
        assert_components(found, [np.stack([c + k for k in range(count)], -1) for c in components(x)])
    lists = [y[..., 0] for y in many]
    assert_components(
        rg.stack(lists, axis=-1), [np.stack([c[:, 0] + k for k in range(count)], -1) for c in components(x)]
    )
