"""Elements by indices along a dim, and the indices themselves, against NumPy's on the components."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import STRUCTURES, array, assert_components, components, nested
from support.refusals import Refusal, refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)


def places(lengths: tuple[int, ...], count: int, extent: int) -> rg.RaggedArray:
    """Indices from both ends, `count` for each row."""
    values = np.random.default_rng(0).integers(-extent, extent, (sum(lengths), count))
    return rg.from_lengths(values, np.array(lengths, np.int64))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("lengths", STRUCTURES)
@pytest.mark.parametrize("count", [1, 3])
def test_along_features(lengths: tuple[int, ...], count: int) -> None:
    x, at = array(lengths), places(lengths, count, 4)
    expected = [np.take_along_axis(c, i, 1) for c, i in zip(components(x), components(at), strict=True)]
    assert_components(rg.take_along_axis(x, at), expected)
    assert_components(np.take_along_axis(x, at.astype(np.int32), axis=2), expected)


def test_along_a_ragged_dim_and_of_views() -> None:
    x, at = array(LENGTHS, ()), rg.ragged([[2, -1], [], [0], [0, 0]])
    got = rg.take_along_axis(x, at, axis=1)
    assert_components(got, [c[i] for c, i in zip(components(x), components(at), strict=True)])
    y, i = array(LENGTHS)[:, 1:], places(LENGTHS, 2, 4)[:, 1:]
    expected = [np.take_along_axis(c, k, 1) for c, k in zip(components(y), components(i), strict=True)]
    assert_components(rg.take_along_axis(y, i), expected)


@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("features", [(4,), (1,), (2, 3)])
def test_along_a_ragged_dim_with_features(features: tuple[int, ...], target: str) -> None:
    """Each feature picks for itself: of lists of places, and of as many places for each component."""
    x, full = array(LENGTHS, features), array((3, 5, 1), features)
    program = rg.jit(lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1), target=target)
    assert_components(program(x), [np.sort(c, axis=0) for c in components(x)])
    largest = rg.jit(lambda x: np.take_along_axis(x, x.argmax(axis=1, keepdims=True), axis=1), target=target)
    np.testing.assert_array_equal(largest(full)[:, 0], full.max(axis=1))
    at = rg.from_lengths(np.full((4, *features), -1), (2, 0, 1, 1))
    assert_components(
        rg.take_along_axis(x, at, axis=1), [c[[-1] * k] for c, k in zip(components(x), (2, 0, 1, 1), strict=True)]
    )
    gradient = rg.grad(lambda x: (program(x) ** 3).sum()) if target == "cpu" else None
    if gradient is not None:
        np.testing.assert_allclose(gradient(x).values, 3 * x.values**2, rtol=1e-5)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_in_programs(target: str) -> None:
    x, at = array(LENGTHS, dtype=np.float64), places(LENGTHS, 1, 4)
    picked = rg.jit(lambda x, t: rg.take_along_axis(x, t)[..., 0].sum(1), target=target)(x, at)
    pairs = zip(components(x), components(at), strict=True)
    np.testing.assert_allclose(picked, [np.take_along_axis(c, i, 1).sum() for c, i in pairs])
    gradient = rg.grad(lambda x: (rg.take_along_axis(x, at) ** 2).sum())(x)
    expected = np.zeros_like(x.values)
    rows, columns = np.arange(len(expected)), np.asarray(at.values)[:, 0]
    expected[rows, columns] = 2 * np.asarray(x.values)[rows, columns]
    np.testing.assert_allclose(gradient.values, expected)


def test_of_dense_arrays_in_programs() -> None:
    z, y = np.random.default_rng(0).standard_normal((6, 4)), np.array([0, 1, 2, 3, -1, 0])
    expected = z[np.arange(6), y]
    np.testing.assert_array_equal(rg.jit(lambda z, y: rg.take_along_axis(z, y[:, None])[:, 0])(z, y), expected)
    np.testing.assert_array_equal(rg.jit(lambda z, y: z[np.arange(6), y])(z, y), expected)
    cube = np.random.default_rng(1).standard_normal((6, 4, 3))
    np.testing.assert_array_equal(rg.jit(lambda z, y: z[np.arange(6), y] * 1)(cube, y), cube[np.arange(6), y])
    gradient = rg.grad(lambda z: -rg.log_softmax(z, axis=1)[np.arange(6), y].mean())(z)
    soft = np.exp(z) / np.exp(z).sum(1, keepdims=True)
    soft[np.arange(6), y] -= 1
    np.testing.assert_allclose(gradient, soft / 6)


def test_indices() -> None:
    x = array(LENGTHS)
    assert rg.local_index(x).tolist() == [list(range(n)) for n in LENGTHS]
    assert rg.local_index(x, axis=0).tolist() == [0, 1, 2, 3]
    assert_components(rg.local_index(x, axis=2), [np.broadcast_to(np.arange(4), c.shape) for c in components(x)])
    assert rg.local_index(x[1:]).tolist() == [list(range(n)) for n in LENGTHS[1:]]
    assert rg.local_index(x[:, 1:]).tolist() == [list(range(max(0, n - 1))) for n in LENGTHS]
    lists = nested(((1, 2), (), (3,)))
    assert rg.local_index(lists).tolist() == [[0, 1], [], [0]]
    assert rg.local_index(lists, axis=2).tolist() == [[[0], [0, 1]], [], [[0, 1, 2]]]
    got = rg.jit(lambda x: (rg.local_index(x)[..., None] * x).sum(1), target="emulator")(x)
    np.testing.assert_allclose(got, [(np.arange(len(c))[:, None] * c).sum(0) for c in components(x)], 1e-5)


def test_equal_arrays() -> None:
    x = array(LENGTHS)
    others: list[Any] = [x[:, :1], x[1:], x + 1, x.values, array((3, 1, 4, 1)), x[..., :2]]
    assert np.array_equal(x, x * 1)
    assert np.array_equal(x[1:], x[1:] * 1)
    assert not any(np.array_equal(x, other) or np.array_equal(other, x) for other in others)
    holes = np.where(x > 0, np.nan, x)
    assert not np.array_equal(holes, holes)
    assert np.array_equal(holes, holes, equal_nan=True)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("axis", "shape"), [(2, (1, 3)), (3, (4, 1)), (2, (2, 3))])
def test_gradients_of_what_is_taken(axis: int, shape: tuple[int, int]) -> None:
    """One element for all others, or several, which may be one twice."""
    rng = np.random.default_rng(0)
    x = rg.from_lengths(rng.standard_normal((sum(LENGTHS), 4, 3)), LENGTHS)
    at = rg.from_lengths(rng.integers(0, (4, 3)[axis - 2], (sum(LENGTHS), *shape)), LENGTHS)
    for target in (None, "emulator"):
        found = rg.jit(rg.grad(lambda x: (rg.take_along_axis(x, at, axis=axis) ** 2).sum()), target=target)(x)
        wanted = np.zeros_like(x.values)
        for place in np.ndindex(*at.values.shape):
            own = [*place]
            own[axis - 1] = at.values[place]
            wanted[tuple(own)] += 2 * x.values[tuple(own)]
        np.testing.assert_allclose(found.values, wanted)


def test_shapes_of_all_dims() -> None:
    x = array(LENGTHS, (12,))
    shapes = ((4, None, 3, 4), (4, None, 2, 3, 2), (4, None, 12, 1), (4, None, -1, 6), (4, None, 1, 12))
    for shape in (*shapes, (-1, None, 3, 4), (-1, None, 12)):
        expected = [c.reshape((len(c), *(2 if n == -1 else n for n in shape[2:]))) for c in components(x)]
        assert_components(x.reshape(shape), expected)
        assert_components(x.reshape(shape).reshape((4, None, 12)), components(x))
    nothing = array(LENGTHS, (4, 0))
    for shape in ((4, None, 3, 0), (4, None, 0, 2), (4, None, 0)):
        assert nothing.reshape(shape).shape == shape
    lists = array(LENGTHS, ())
    assert_components(lists.reshape((*lists.shape, 1, 1)), [c[:, None, None] for c in components(lists)])
    assert_components(lists.reshape(lists.shape), components(lists))
    for own in (lists.reshape((-1, None)), rg.jit(lambda x: x.reshape((-1, None)) * 1)(lists)):
        assert_components(own, components(lists))
    found = rg.jit(lambda x: x.reshape((-1, None, 3, 4)).sum(1))(x)
    np.testing.assert_allclose(found, [c.reshape((len(c), 3, 4)).sum(0) for c in components(x)], 1e-4, 1e-6)


REFUSED: list[Refusal] = [
    (lambda x: rg.take_along_axis(x, x), TypeError,
     'take_along_axis: expected indices of integers, got float32 of rank 3 and layout "dr|d"'),
    (lambda x: rg.take_along_axis(x, rg.local_index(x)), rg.LayoutError,
     'take_along_axis: expected indices of layout "dr|d" along a plain dim, got "dr" along dim 2'),
    (lambda x: rg.take_along_axis(x, (x * 0 + 9).astype(int)), IndexError,
     "take_along_axis: level 2, component 0: expected index in [-4, 4), got 9"),
    (lambda x: rg.take_along_axis(x, rg.argsort(x, axis=1) + 5, axis=1), IndexError,
     "take_along_axis: level 1, component 0: expected index in [-3, 3), got 7"),
    (lambda x: rg.take_along_axis(x, np.zeros((3, 1, 4), int), axis=1), rg.RuntimeCheckError,
     "take_along_axis: dim 0: expected extent 4, got 3"),
    (lambda x: rg.take_along_axis(x, np.zeros((4, 1, 3), int), axis=1), rg.RuntimeCheckError,
     "take_along_axis: dim 2: expected extent 4, got 3"),
    (lambda x: rg.take_along_axis(x, places((3, 0, 4, 1), 1, 4)), rg.RuntimeCheckError, "take_along_axis: level 1"),
    (lambda x: rg.local_index(x, axis=3), IndexError,
     "local_index: expected axis"),
    (lambda x: rg.local_index(rg.split(x, axis=0, factor=2)), rg.LayoutError,
     'local_index: expected no dense dim below others, got dim 1 of layout "ddr|d"'),
    (lambda x: np.array_equal(rg.jit(lambda x: np.array_equal(x, x))(x), x), TypeError,
     "np.array_equal: expected arrays, got a traced value (of equal lengths, (x == y).all())"),
    (lambda x: x.reshape((4, None, 4, 4, None)), TypeError,
     "reshape: expected a shape that differs from (4, None, 4) in adjacent dense dims, got (4, None, 4, 4, None)"),
    (lambda x: x.reshape((2, None, 2, 2)), TypeError,
     "reshape: expected a shape that differs from (4, None, 4) in adjacent dense dims, got (2, None, 2, 2)"),
    (lambda x: rg.jit(lambda x: x.reshape((4, None, 2, 2)))(x), TypeError,
     "reshape: expected a shape that differs from (None, None, 4) in adjacent dense dims, got (4, None, 2, 2) "
     "(-1 for an extent that only calls know)"),
]  # fmt: skip
test_refused = refused(REFUSED, lambda: array(LENGTHS))


def test_a_vector_has_one_dim_to_go_along() -> None:
    x = np.arange(1.0, 5)
    for function in (lambda x: x.cumsum(), np.cumsum, lambda x: x.cumsum(0)):
        assert rg.jit(lambda x, f=function: f(x + 0))(x).tolist() == x.cumsum().tolist()
    assert rg.jit(lambda x: (x + 0).cumprod())(x).tolist() == x.cumprod().tolist()
