"""Loops of functions against loops of Python."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from support.components import components, rows
from support.refusals import refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1, 9)


def elements(*shape: int, dtype: Any = np.float64, seed: int = 1) -> Any:
    return rg.from_lengths(rows(sum(LENGTHS), *shape, dtype=dtype, seed=seed), LENGTHS)


def counted(lower: int, upper: int, body: Callable[[int, Any], Any], carry: Any) -> Any:
    for i in range(lower, upper):
        carry = body(i, carry)
    return carry


def repeated(condition: Callable[[Any], Any], body: Callable[[Any], Any], carry: Any) -> Any:
    while condition(carry):
        carry = body(carry)
    return carry


def assert_same(own: Any, expected: Any) -> None:
    """Equal containers of equal arrays."""
    if isinstance(expected, (tuple, list)):
        assert type(own) is type(expected)
        for a, b in zip(own, expected, strict=True):
            assert_same(a, b)
    elif isinstance(expected, dict):
        assert own.keys() == expected.keys()
        for key, value in expected.items():
            assert_same(own[key], value)
    elif isinstance(expected, rg.RaggedArray):
        assert own.dtype == expected.dtype
        for a, b in zip(components(own), components(expected), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)
    else:
        assert np.asarray(own).dtype == np.asarray(expected).dtype
        np.testing.assert_allclose(own, expected, rtol=1e-12)


def smoothed(i: Any, x: Any) -> Any:
    return (x + np.roll(x, 1, axis=1) + np.roll(x, -1, axis=1)) / 3 + i


def with_a_sum(i: Any, carry: Any) -> Any:
    x = np.tanh(carry["x"] * 1.5)
    return {"x": x, "sum": carry["sum"] + x.sum(axis=1), "count": carry["count"] + i}


def farthest(i: Any, carry: Any) -> Any:
    """The distance of each point to those that are taken; the farthest one is taken next."""
    points, distances, last = carry
    distances = np.minimum(distances, ((points - last) ** 2).sum(axis=2))
    taken = distances == distances.max(axis=1, initial=0.0, keepdims=True)
    return points, distances, rg.where(taken[:, :, None], points, -9.0).max(axis=1, initial=-9.0, keepdims=True)


def clouds() -> Any:
    points = elements(3)
    return points, points.sum(axis=2) * 0 + 99.0, rg.where(True, 0.0, points.sum(axis=1, keepdims=True))


COUNTED: dict[str, tuple[Callable[[Any, Any], Any], Callable[[], Any]]] = {
    "ragged": (smoothed, elements),
    "a window": (smoothed, lambda: elements()[:, 1:]),
    "rows": (lambda i, x: x * 0.5 + i, lambda: elements(3)),
    "single precision": (lambda i, x: x * 0.5 + i, lambda: elements(3, dtype=np.float32)),
    "dense": (lambda i, x: x @ x + i, lambda: rows(4, 4)),
    "integers": (lambda i, x: x * 2 + i, lambda: np.arange(5)),
    "booleans": (lambda i, x: ~x, lambda: np.arange(5) > 2),
    "a dict": (with_a_sum, lambda: {"x": elements(), "sum": np.zeros(5), "count": 0}),
    "a list": (lambda i, x: [x[1], x[0] * 2], lambda: [np.arange(3.0), np.ones(3)]),
    "points": (farthest, clouds),
    "its own extent": (lambda i, x: x * x.shape[0] + i, lambda: rows(4)),
    "another loop": (lambda i, x: rg.fori_loop(0, i, lambda k, y: y + k * 0.5, x) * 2, lambda: np.ones(3)),
    "an array for a number": (lambda i, x: x + elements().sum(), lambda: 0),
    "a float for an integer": (lambda i, x: x * 0.5, lambda: 1),
}


@cache
def _counted_outside(name: str) -> Any:
    """What a loop gives that is in no program; for every target one."""
    body, init = COUNTED[name]
    return rg.fori_loop(0, 3, body, init())


@pytest.mark.sampled(3)
@pytest.mark.parametrize("target", [None, "emulator"])
@pytest.mark.parametrize("name", COUNTED)
def test_iterations(name: str, target: str | None) -> None:
    body, init = COUNTED[name]
    loop = rg.jit(lambda lower, upper, init: rg.fori_loop(lower, upper, body, init), target=target)
    for bounds in [(0, 3), (2, 4)]:
        assert_same(loop(*bounds, init()), counted(*bounds, body, init()))
    assert_same(_counted_outside(name), counted(0, 3, body, init()))


def test_no_iteration() -> None:
    assert_same(rg.fori_loop(3, 3, smoothed, elements()), elements())
    assert_same(rg.fori_loop(3, -5, smoothed, elements()), elements())
    for bounds, count in [((1, -(2**63)), 0), ((2**63 - 1, -(2**63)), 0), ((2**63 - 3, 2**63 - 2), 1)]:
        assert rg.fori_loop(*bounds, lambda i, n: n + 1, 0) == count
    assert_same(rg.while_loop(lambda x: x.sum() > 1e9, lambda x: x * 2, elements()), elements())


def labels_of(neighbours: Any) -> Any:
    """The smallest number of a node that each can be reached from."""

    def body(carry: Any) -> Any:
        labels, _ = carry
        after = np.minimum(labels, rg.take(labels, neighbours).min(axis=1, initial=len(neighbours)))
        return after, (after != labels).any()

    return rg.while_loop(lambda carry: carry[1], body, (np.arange(len(neighbours)), True))[0]


@pytest.mark.parametrize("seed", range(4))
def test_connected_components(seed: int) -> None:
    given = np.random.default_rng(seed).integers(0, 40, (30, 2))
    neighbours = [sorted({int(b) for a, b in (*given, *given[:, ::-1]) if a == node}) for node in range(40)]
    expected = np.arange(40)
    for _ in range(40):
        for a, b in given:
            expected[[a, b]] = expected[[a, b]].min()
    assert labels_of(rg.ragged(neighbours, dtype=np.int64)).tolist() == expected.tolist()


@pytest.mark.parametrize("target", [None, "emulator"])
def test_roots_to_a_tolerance(target: str | None) -> None:
    def heron(x: Any) -> Any:
        def body(carry: Any) -> Any:
            after = (carry[0] + x / carry[0]) / 2
            return after, abs(after - carry[0]).max(), carry[2] + 1

        return rg.while_loop(lambda carry: carry[1] > 1e-12, body, (x * 0 + 1, np.inf, 0))

    x = abs(elements()) + 0.1
    root, _, count = rg.jit(heron, target=target)(x)
    np.testing.assert_allclose(root.values, np.sqrt(x.values), rtol=1e-12)
    assert 3 < count < 12


def test_gradients_are_those_of_iterations_one_by_one() -> None:
    x, w, weights = elements(3), rows(3, 3, seed=2), elements(3, seed=3)

    def loss(run: Any) -> Any:
        def of(x: Any, w: Any) -> Any:
            return (run(0, 4, lambda i, y: np.tanh(y @ w) + i * 0.1, x) * weights).sum()

        return rg.value_and_grad(of, argnums=(0, 1))

    value, (by_x, by_w) = loss(rg.fori_loop)(x, w)
    expected, (of_x, of_w) = loss(counted)(x, w)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(by_x.values, of_x.values, rtol=1e-10)
    np.testing.assert_allclose(by_w, of_w, rtol=1e-10)


def test_extents_are_known_inside_and_behind() -> None:
    """The number that an extent is was made in the function, where others cannot read it."""
    w = rows(4)
    by_loop = rg.jit(lambda w: (rg.fori_loop(0, 2, lambda i, y: y + y.shape[0], w), w.shape[0] * 2))
    assert_same(by_loop(w), (w + 8, 8))
    step = rg.jit(lambda x: (rg.scan(lambda s, r: (s + r * r.shape[1], None), np.zeros((5, 1)), x)[0], x.shape[2] * 2))
    x = elements(1)
    assert_same(step(x), (np.asarray(x.sum(axis=1)), 2))

    def unused(carry: Any, r: Any) -> Any:
        assert carry[0].shape[0] is not None
        return (carry[0] + r, *carry[1:]), None

    ends = rg.scan(unused, (np.zeros(5), np.ones(5), np.ones(5)), elements())[0]
    assert_same(ends, (np.asarray(elements().sum(axis=1)), np.ones(5), np.ones(5)))


KEPT: list[Any] = []


def leaking(_: Any, x: Any) -> Any:
    KEPT.append(x * 2)
    return x


test_refusals = refused(
    [
        (
            lambda: rg.fori_loop(0, 3, lambda i, x: x[:, 1:], elements()),
            rg.RuntimeCheckError,
            "fori_loop: carry: level 1, component 0: expected length 3, got 2",
        ),
        (
            lambda: rg.fori_loop(0, 3, lambda i, x: x[1:], np.arange(4)),
            rg.RuntimeCheckError,
            "fori_loop: carry: dim 0: expected extent 4, got 3",
        ),
        (
            lambda: rg.fori_loop(0, 3, lambda i, x: [x[0] * 1.5], [np.arange(4)]),
            rg.ArgumentError,
            "fori_loop: expected a carry[0] as in init, int64 of rank 1, got float64 of rank 1 (init as float64, "
            "or the carry[0] as int64)",
        ),
        (
            lambda: rg.fori_loop(0, 3, lambda i, x: (x, x), elements()),
            rg.ArgumentError,
            "fori_loop: expected a carry of the containers of init, one array, got with [0], [1]",
        ),
        (
            lambda: rg.while_loop(lambda c: c["a"] < 3, lambda c: {"b": c["b"], "a": c["a"]}, {"a": 0, "b": 1}),
            rg.ArgumentError,
            "while_loop: expected a carry of the containers of init, with ['a'], ['b'], got with ['b'], ['a']",
        ),
        (
            lambda: rg.fori_loop(0, 3, lambda i, x: None, elements()),
            rg.ArgumentError,
            "fori_loop: expected a carry of the containers of init, one array, got without arrays",
        ),
        (
            lambda: rg.fori_loop(0, 2.5, smoothed, elements()),
            rg.ArgumentError,
            "fori_loop: expected an integer as upper, got float64 of rank 0",
        ),
        (
            lambda: rg.fori_loop(0, elements(), smoothed, elements()),
            rg.ArgumentError,
            'fori_loop: expected an integer as upper, got float64 of rank 2 and layout "dr"',
        ),
        (
            lambda: rg.fori_loop(0, 2, 3, elements()),
            rg.ArgumentError,  # pyright: ignore[reportArgumentType]
            "fori_loop: expected a function, got int",
        ),
        (
            lambda: rg.fori_loop(0, 2, smoothed, ()),
            rg.ArgumentError,
            "fori_loop: expected arrays or numbers as init, got none",
        ),
        (
            lambda: rg.while_loop(lambda x: x.sum(), lambda x: x, elements()),
            rg.ArgumentError,
            "while_loop: expected a bool of the condition, got float64 of rank 0",
        ),
        (
            lambda: rg.while_loop(lambda x: x > 0, lambda x: x, elements()),
            rg.ArgumentError,
            'while_loop: expected a bool of the condition, got bool of rank 2 and layout "dr"',
        ),
        (
            lambda: rg.grad(lambda x: rg.while_loop(lambda x: x.sum() < 9, lambda x: x + 1, x).sum())(elements()),
            rg.RaggedError,
            "expected ops with a derivative, got 'scf.while' (scf.for, and rg.fori_loop, have one)",
        ),
        (
            lambda: rg.jit(lambda x: (rg.fori_loop(0, 3, leaking, x), KEPT.pop()))(elements()),
            rg.TraceError,
            "fori_loop: expected what is made of the carry in the function, got it outside of that",
        ),
        (
            lambda: rg.jit(lambda x: rg.fori_loop(0, 3, lambda i, x: x if x.sum() > 0 else -x, x))(elements()),
            rg.TraceError,
            "expected a condition that is known when the function is traced, got a traced value",
        ),
    ]
)
