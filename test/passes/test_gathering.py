"""Rows that are read in another order are computed where they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg

KEYS = 5

Term = Callable[..., Any]

COMPUTED: dict[str, Term] = {
    "products": lambda x, w, row, f: w[..., None] * row[:, None],
    "rows of components": lambda x, w, row, f: np.exp(row[:, None] + 0 * x),
    "all": lambda x, w, row, f: np.where(x > row[:, None], x * f, w[..., None] - row[:, None]),
    "twice": lambda x, w, row, f: (x + f) * (x - f) + row[:, None],
    "numbers of elements": lambda x, w, row, f: x * rg.local_index(w)[..., None],
    "one number": lambda x, w, row, f: x * 2.5,
}
"""Of elements with features, of those without, of components, and of features."""

STORED: dict[str, Term] = {
    "places in components": lambda x, w, row, f: row[:, None] * (rg.local_index(x, axis=1)[..., None] == 1) + 0 * x,
    "turned": lambda x, w, row, f: x[:, ::-1] * f,
    "running sums": lambda x, w, row, f: np.cumsum(x, axis=1) + row[:, None],
}


def arguments(features: int, lengths: list[int]) -> tuple[list[Any], Any]:
    """Elements with features and without, rows of components, a row of features; and a key of each element."""
    rng, total = np.random.default_rng(0), sum(lengths)
    x, w = (rg.from_lengths(rng.standard_normal((total, *more)), lengths) for more in ((features,), ()))
    given = [x, w, rng.standard_normal((len(lengths), features)), rng.standard_normal(features)]
    return given, rng.integers(0, KEYS, total)


def grouped(term: Term, *, values: bool) -> Callable[..., Any]:
    """Sums of terms at the places of each key."""

    def program(given: list[Any], keys: Any) -> Any:
        made = term(*given)
        return rg.take(made.values if values else made, rg.group_by(keys, KEYS)).sum(axis=1)

    return program


@pytest.mark.sampled(20)
@pytest.mark.parametrize("name", [*COMPUTED, *STORED])
@pytest.mark.parametrize("features", [8, 13])
def test_terms_of_lists(name: str, features: int) -> None:
    term = (COMPUTED | STORED)[name]
    summed = rg.jit(grouped(term, values=True))
    for lengths in ([3, 0, 7, 1], [0, 0], []):
        given, keys = arguments(features, lengths)
        expected = np.zeros((KEYS, features))
        np.add.at(expected, keys, term(*given).values)
        np.testing.assert_allclose(summed(given, keys), expected, rtol=1e-12, atol=1e-12)
    assert summed.compilations == 1
    assert (f"x{features}xf64, #ragged" in written(summed, *arguments(features, [3, 1]))) == (name in STORED)


def written(summed: Any, given: list[Any], keys: Any) -> str:
    """The types of what loops write."""
    lines = summed.lower(given, keys).stages["ragged"].splitlines()
    return "\n".join(line for line in lines if line.lstrip().startswith("} -> "))


def test_terms_of_rows() -> None:
    rng = np.random.default_rng(1)
    summed = rg.jit(grouped(lambda x, w: np.exp(x) * w[:, None], values=False))
    for rows in (0, 1, 20):
        given, keys = [rng.standard_normal((rows, 8)), rng.standard_normal(rows)], rng.integers(0, KEYS, rows)
        expected = np.zeros((KEYS, 8))
        np.add.at(expected, keys, np.exp(given[0]) * given[1][:, None])
        np.testing.assert_allclose(summed(given, keys), expected, rtol=1e-12)


def test_what_others_read_is_stored() -> None:
    given, keys = arguments(8, [3, 0, 7])

    def program(given: list[Any], keys: Any) -> Any:
        made = np.exp(given[0])
        places = rg.group_by(keys, KEYS)
        return rg.take(made.values, places).sum(axis=1), made

    sums, made = rg.jit(program)(given, keys)
    expected = np.zeros((KEYS, 8))
    np.add.at(expected, keys, made.values)
    np.testing.assert_allclose(sums, expected, rtol=1e-12)


def test_places_that_are_met_twice_are_read() -> None:
    """Exponentials are made once for each row, not for each place."""
    rng = np.random.default_rng(2)
    table, ids = rng.standard_normal((6, 8)), rg.from_lengths(rng.integers(0, 6, 20), [7, 0, 13])
    summed = rg.jit(lambda table, ids: rg.take(np.exp(table), ids).sum(axis=1))
    expected = np.stack([np.exp(table)[np.asarray(one)].sum(axis=0) for one in ids])
    np.testing.assert_allclose(summed(table, ids), expected, rtol=1e-12)
    text = summed.lower(table, ids).stages["ragged"]
    assert text.index("math.exp") < text.index("tensor.extract %")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_gradients_of_messages(target: str) -> None:
    """Those of a graph's nodes, as sums over the edges that go to them."""
    rng = np.random.default_rng(3)
    lengths = [3, 0, 6, 1, 2]
    nodes, upstream = (rng.standard_normal((5, 8)).astype(np.float32) for _ in range(2))
    edges, weights = rng.integers(-5, 5, 12), rng.standard_normal(12).astype(np.float32)
    places = np.repeat(np.arange(5), lengths)

    def loss(nodes: Any, weights: Any, edges: Any) -> Any:
        return ((weights[..., None] * rg.take(nodes, edges)).sum(axis=1) * upstream).sum()

    given = [rg.from_lengths(x, lengths) for x in (weights, edges)]
    found = rg.jit(rg.grad(loss), target=target)(nodes, *given)
    expected = np.zeros_like(nodes)
    np.add.at(expected, edges, weights[:, None] * upstream[places])
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
