"""Pairs of elements of components, by broadcasting, against NumPy on the components."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

RNG = np.random.default_rng(0)
X = rg.from_lengths(RNG.standard_normal(10), [3, 0, 6, 1])
Y = rg.from_lengths(RNG.standard_normal(9), [2, 4, 3, 0])
POINTS = rg.from_lengths(RNG.standard_normal((10, 2)), [3, 0, 6, 1])

PROGRAMS: list[tuple[str, Callable[[Any, Any, Any], Any], Callable[[Any, Any, Any], Any]]] = [
    ("of one", lambda x, y, p: x[:, :, None] - x[:, None, :], lambda x, y, p: x[:, None] - x[None]),
    ("of two", lambda x, y, p: x[:, :, None] * y[:, None, :], lambda x, y, p: x[:, None] * y[None]),
    ("turned", lambda x, y, p: x[:, None, :] < y[:, :, None], lambda x, y, p: x[None] < y[:, None]),
    (
        "function",
        lambda x, y, p: np.arctan2(x[:, :, None], y[:, None, :]),
        lambda x, y, p: np.arctan2(x[:, None], y[None]),
    ),
    ("points", lambda x, y, p: p[:, :, None] - p[:, None, :], lambda x, y, p: p[:, None] - p[None]),
    (
        "where",
        lambda x, y, p: rg.where(x[:, :, None] > 0, y[:, None, :], 7.0),
        lambda x, y, p: np.where(x[:, None] > 0, y[None], 7.0),
    ),
    (
        "windows",
        lambda x, y, p: x[:, ::-1][:, :, None] - x[:, None, 1:],
        lambda x, y, p: x[::-1][:, None] - x[None, 1:],
    ),
]


def parts(*arrays: rg.RaggedArray) -> list[tuple[np.ndarray, ...]]:
    """The components, side by side."""
    return list(zip(*(list(array) for array in arrays), strict=True))


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("program", "expected"), [p[1:] for p in PROGRAMS], ids=[p[0] for p in PROGRAMS])
def test_pairs(program: Callable[..., Any], expected: Callable[..., Any]) -> None:
    for run in (program, rg.jit(program)):
        made = run(X, Y, POINTS)
        assert made.layout.letters.startswith("drr")
        for got, part in zip(made, parts(X, Y, POINTS), strict=True):
            wanted = expected(*part)
            np.testing.assert_allclose(np.asarray(got.values).reshape(wanted.shape), wanted)
            assert [len(row) for row in got] == [wanted.shape[1]] * wanted.shape[0]


def test_what_is_made_of_pairs() -> None:
    def distances(p: Any) -> Any:
        return ((p[:, :, None] - p[:, None, :]) ** 2).sum(axis=-1)

    for run in (distances, rg.jit(distances)):
        nearest = rg.top_k(-run(POINTS), 2, axis=2)[1]
        for got, part in zip(nearest, POINTS, strict=True):
            wanted = np.argsort(((part[:, None] - part[None]) ** 2).sum(-1), axis=1, kind="stable")[:, :2]
            assert got.tolist() == wanted.tolist()
    scaled = distances(POINTS) * X[:, None, :] + X[:, :, None]
    for got, (point, x) in zip(scaled, parts(POINTS, X), strict=True):
        wanted = ((point[:, None] - point[None]) ** 2).sum(-1) * x[None] + x[:, None]
        np.testing.assert_allclose(np.asarray(got.values).reshape(wanted.shape), wanted)


def test_extents_of_one_beside_pairs() -> None:
    """Of features, and of a batch."""
    programs: list[tuple[Callable[[Any, Any, Any], Any], Callable[[Any, Any, Any], Any]]] = [
        (lambda x, y, p: p[:, :, None] * y[:, None, :, None], lambda x, y, p: p[:, None] * y[None, :, None]),
        (
            lambda x, y, p: p[:, :, None, :, None] * p[:, None, :, None, :],
            lambda x, y, p: p[:, None, :, None] * p[None, :, None, :],
        ),
        (
            lambda x, y, p: rg.where(x[:, :, None] > y[:, None, :], np.arange(6.0)[None, :, None], np.ones((1, 1, 1))),
            lambda x, y, p: np.where(x[:, None] > y[None], np.arange(6.0)[: len(x), None], 1),
        ),
    ]
    for program, expected in programs:
        for run in (program, rg.jit(program)):
            for got, part in zip(run(X, Y, POINTS), parts(X, Y, POINTS), strict=True):
                wanted = expected(*part)
                np.testing.assert_allclose(np.asarray(got.values).reshape(wanted.shape), wanted)


def distances(p: Any) -> Any:
    """Squared, of all points of a component."""
    return ((p[:, :, None] - p[:, None, :]) ** 2).sum(-1)


FOLDED: list[tuple[str, Callable[..., Any], Callable[..., Any]]] = [
    ("max", lambda x, y, p: (x[:, :, None] - y[:, None, :]).max(1), lambda x, y, p: (x[:, None] - y).max(0)),
    (
        "sum of functions",
        lambda x, y, p: np.exp(np.abs(x[:, :, None] - y[:, None, :]) * 2).sum(axis=1),
        lambda x, y, p: np.exp(np.abs(x[:, None] - y) * 2).sum(0),
    ),
    ("points", lambda x, y, p: distances(p).max(1), lambda x, y, p: ((p[:, None] - p) ** 2).sum(-1).max(0)),
    (
        "rows and columns",
        lambda x, y, p: (distances(p) * x[:, None, :] + x[:, :, None]).mean(1),
        lambda x, y, p: (((p[:, None] - p) ** 2).sum(-1) * x + x[:, None]).mean(0),
    ),
    (
        "of products",
        lambda x, y, p: (x[:, :, None] ** 2 - 2 * rg.einsum("bid,bjd->bij", p, p) + (p**2).sum(-1)[:, None, :]).var(1),
        lambda x, y, p: (x[:, None] ** 2 - 2 * p @ p.T + (p**2).sum(-1)).var(0),
    ),
    (
        "where",
        lambda x, y, p: rg.where(x[:, :, None] > y[:, None, :], y[:, None, :], 7.0).prod(1),
        lambda x, y, p: np.where(x[:, None] > y, y, 7.0).prod(0),
    ),
    (
        "features",
        lambda x, y, p: (p[:, :, None] * p[:, None, :]).sum((1, 3)),
        lambda x, y, p: (p[:, None] * p).sum((0, 2)),
    ),
    (
        "a number of the component",
        lambda x, y, p: (x[:, :, None] - y[:, None, :] + x.sum(1)[:, None, None]).sum(1),
        lambda x, y, p: (x[:, None] - y + x.sum()).sum(0),
    ),
    ("any", lambda x, y, p: (x[:, :, None] > y[:, None, :]).any(1), lambda x, y, p: (x[:, None] > y).any(0)),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize(("program", "expected"), [p[1:] for p in FOLDED], ids=[p[0] for p in FOLDED])
def test_first_elements_of_pairs_are_folded_in_place(program: Callable[..., Any], expected: Callable[..., Any]) -> None:
    """By a loop for each second one, as those of all pairs have one length; nothing is sorted."""
    some = [array[np.array([0, 2])] for array in (X, Y, POINTS)]
    compiled = rg.jit(program)
    for got, part in zip(compiled(*some), parts(*some), strict=True):
        np.testing.assert_allclose(got, expected(*part))
    text = str(compiled.lower(*some))
    assert "group_by" not in text
    assert "row_ids" not in text
    for got, wanted in zip(program(X, Y, POINTS), rg.jit(program)(X, Y, POINTS), strict=True):
        np.testing.assert_allclose(got, wanted)


def test_components_without_first_elements_have_nothing_folded() -> None:
    """And what other reductions leave of them conforms."""

    def program(x: Any, y: Any) -> Any:
        pairs = x[:, :, None] - y[:, None, :]
        return pairs.max(1) + rg.softmax(pairs, axis=1).sum(1)

    for run in (program, rg.jit(program)):
        made = run(rg.from_lengths(np.arange(3.0), [0, 3]), rg.from_lengths(np.arange(4.0), [2, 2]))
        np.testing.assert_array_equal(made.lengths, [0, 2])
        np.testing.assert_allclose(made.values, [1.0, 0.0], atol=1e-12)


def test_dims_before_those_of_pairs() -> None:
    scales = np.arange(3.0).reshape(3, 1, 1, 1)
    for axis in (1, 2, 3):

        def program(x: Any, y: Any, axis: int = axis) -> Any:
            return ((x[:, :, None] - y[:, None, :]) + scales).sum(axis)

        assert rg.jit(program)(X, Y).tolist() == program(X, Y).tolist()


def test_where_the_nearest_are() -> None:
    some = rg.jit(lambda p: (distances(p).argmin(1), distances(p).min(axis=1, keepdims=True)))
    for got, least, part in zip(*some(POINTS), POINTS, strict=True):
        np.testing.assert_array_equal(got, np.arange(len(part)))
        np.testing.assert_array_equal(np.asarray(least.values).ravel(), np.zeros(len(part)))


def test_gradients() -> None:
    gradient = rg.grad(lambda x: ((x[:, :, None] - x[:, None, :]) ** 2.0).sum())(X)
    for got, part in zip(gradient, X, strict=True):
        np.testing.assert_allclose(got, 4 * (len(part) * part - part.sum()))


def test_what_makes_no_pairs() -> None:
    with pytest.raises(rg.RuntimeCheckError, match=r"^subtract: dim 0: expected extent 4, got 2$"):
        _ = X[:, :, None] - rg.from_lengths(np.arange(3.0), [1, 2])[:, None, :]
    with pytest.raises(rg.RuntimeCheckError, match=r"^subtract: dim 1: expected extent 1, got 2$"):
        _ = X[:, :, None] - rg.concat([X[:, None, :], X[:, None, :]], axis=1)
    with pytest.raises(rg.LayoutError, match=r'^add: expected layouts whose ragged axes line up, got "dr" and "drr"$'):
        _ = X + (X[:, :, None] - X[:, None, :])
    with pytest.raises(rg.LayoutError, match=r'^add: expected layouts whose .* line up, got "dr\|d" and "dr"$'):
        _ = X[:, :, None] + Y
    for dense in (np.ones(4), np.ones((4, 6))):
        with pytest.raises(rg.LayoutError, match=r"^where: expected an operand of rank 3 beside a ragged dim, got"):
            rg.where(X[:, :, None] > 0, Y[:, None, :], dense)
