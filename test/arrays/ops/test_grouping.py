"""Reductions whose ragged dims stay though dims above them go, against loops over lists of lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.nested_lists import assert_mapped, assert_reduced, by_index, elements, groups

import ragged_dialect as rg
from ragged_dialect.arrays.tracing.axes import NestedAxis
from ragged_dialect.arrays.tracing.trace import tracing

SEEDS = (0, 1, None)
"""Of random structures; None has no component."""


def lists(levels: int, features: tuple[int, ...], seed: int | None, longest: int = 4) -> rg.RaggedArray:
    """A list of lists … of 4 components, of random lengths from 0 on."""
    rng = np.random.default_rng(seed or 0)
    count, lengths = 0 if seed is None else 4, list[Any]()
    for _ in range(levels):
        lengths.append(rng.integers(0, longest, count))
        count = int(lengths[-1].sum())
    return rg.from_lengths(rng.integers(-5, 6, (count, *features)).astype(float), *lengths)


def uniform(seed: int | None) -> rg.RaggedArray:
    """[batch, 3, ragged, 2]: a ragged dim within a dense one."""
    x = lists(1, (2,), seed)
    lengths = np.random.default_rng(seed or 0).multinomial(10, [1 / 3] * 3, len(x))
    x = rg.from_lengths(np.arange(20.0 * len(x)).reshape(-1, 2) % 7, [10] * len(x))
    return rg.partition(x, lengths, axis=1, lengths=True)


def crossed(seed: int | None) -> rg.RaggedArray:
    """[batch, ragged, batch, ragged]: two independent ragged dims."""
    rng = np.random.default_rng(seed or 0)
    count = 0 if seed is None else 3
    rows, columns = rng.integers(0, 4, count), rng.integers(0, 4, 2)
    values = rng.integers(-5, 6, (int(rows.sum()), int(columns.sum()))).astype(float)
    return rg.partition(rg.from_lengths(values, rows), columns, axis=2, lengths=True)


def windows(seed: int | None) -> rg.RaggedArray:
    """A list of lists of which the first element of every inner one is left out."""
    return lists(2, (), seed)[:, :, 1:]


MAKERS: dict[str, Callable[[int | None], rg.RaggedArray]] = {
    "dr|d": lambda seed: lists(1, (2,), seed),
    "drr": lambda seed: lists(2, (), seed),
    "drr|d": lambda seed: lists(2, (2,), seed, 3),
    "drrr": lambda seed: lists(3, (), seed),
    "ddr|d": uniform,
    "dr|dr": crossed,
    "drw": windows,
    "drdr": lambda seed: lists(2, (), seed)[:, :, None],
}
CASES: list[tuple[str, tuple[int, ...]]] = [
    ("dr|d", (0,)), ("dr|d", (0, 2)),
    ("drr", (0,)), ("drr", (1,)), ("drr", (0, 1)), ("drr", (0, 2)), ("drr|d", (1,)), ("drr|d", (0, 3)),
    ("drrr", (0,)), ("drrr", (1,)), ("drrr", (2,)), ("drrr", (0, 2)), ("drrr", (1, 3)), ("drrr", (0, 1, 2)),
    ("ddr|d", (0,)), ("ddr|d", (1,)), ("ddr|d", (0, 1)), ("dr|dr", (0,)), ("dr|dr", (0, 2)), ("drw", (1,)),
    ("drdr", (1, 3)), ("drdr", (0, 2)), ("drdr", (0, 1, 3)),
]  # fmt: skip


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("layout", "axis"), CASES)
def test_sum(layout: str, axis: tuple[int, ...]) -> None:
    for seed in SEEDS:
        x = MAKERS[layout](seed)
        assert str(x.layout) == layout
        assert_reduced(x.sum(axis), x, set(axis), np.sum, 0)


@pytest.mark.parametrize(
    ("name", "function", "empty"),
    [
        ("prod", np.prod, 1), ("max", np.max, -np.inf), ("min", np.min, np.inf), ("any", np.any, 0), ("all", np.all, 1),
        ("mean", np.mean, np.nan), ("var", np.var, np.nan), ("std", np.std, np.nan),
        ("logsumexp", lambda v: np.log(np.exp(v).sum()), -np.inf),
    ],
)  # fmt: skip
@pytest.mark.sampled(18)
@pytest.mark.parametrize(("layout", "axis"), [("drr|d", (0, 3)), ("dr|d", (0,))])
def test_every_reduction(name: str, function: Callable[[Any], Any], empty: float, layout: str, axis: Any) -> None:
    for seed in SEEDS:
        x = MAKERS[layout](seed)
        assert_reduced(getattr(x, name)(axis), x, set(axis), function, empty)
    kept = getattr(x := MAKERS[layout](0), name)(axis, keepdims=True)
    plain = getattr(x, name)(axis)
    assert kept.ndim == x.ndim
    assert all(kept.shape[dim] == 1 for dim in axis)
    np.testing.assert_array_equal(list(by_index(kept).values()), list(by_index(plain).values()))


def softmax(numbers: Any) -> Any:
    """As it is defined."""
    e = np.exp(numbers - numbers.max())
    return e / e.sum()


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("layout", "axis"), [("dr|d", (0,)), ("drr", (1,)), ("drr|d", (0, 3)), ("ddr|d", (1,))])
def test_softmax_and_norms(layout: str, axis: tuple[int, ...]) -> None:
    for seed in SEEDS:
        x, dims = MAKERS[layout](seed), set(axis)
        assert_mapped(rg.softmax(x, axis=axis), x, dims, softmax)
        assert_mapped(rg.log_softmax(x, axis=axis), x, dims, lambda v: np.log(softmax(v)))
        assert_mapped(rg.layer_norm(x, axis=axis), x, dims, lambda v: (v - v.mean()) / np.sqrt(v.var() + 1e-5))
        assert_mapped(rg.rms_norm(x, axis=axis), x, dims, lambda v: v / np.sqrt((v * v).mean() + 1e-5))


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("layout", "axis"), [("dr|d", 0), ("drr", 0), ("drr", 1), ("drrr", 2)])
def test_cumsum(layout: str, axis: int) -> None:
    for seed in SEEDS:
        x = MAKERS[layout](seed)
        assert_mapped(x.cumsum(axis), x, {axis}, np.cumsum)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("layout", "axis"), [("dr|d", 0), ("drr", 0), ("drr|d", 1), ("drr|d", 2), ("ddr|d", 1)])
def test_arg_reductions_along_one_dim(layout: str, axis: int) -> None:
    for seed in SEEDS:
        x = MAKERS[layout](seed)
        for name, best in (("argmax", np.argmax), ("argmin", np.argmin)):
            found = by_index(getattr(x, name)(axis))
            expected = {k: g[best([n for _, n in g])][0][axis] for k, g in groups(x, {axis}).items()}
            assert {**dict.fromkeys(found, -1), **expected} == found


@pytest.mark.parametrize(
    ("layout", "axis"), [("dr|d", (1, 2)), ("drr|d", (1, 2, 3)), ("drr", (1, 2)), ("drr", None), ("dr|d", None)]
)
def test_arg_reductions_of_several_dims_count_in_the_list(layout: str, axis: Any) -> None:
    for seed in SEEDS:
        x = MAKERS[layout](seed)
        got = np.asarray(x.argmax(axis))
        parts = x.tolist() if axis else [x.tolist()]
        flat = [[n for _, n in elements(part, x.ndim - bool(axis))] for part in parts]
        assert got.reshape(-1).tolist() == [int(np.argmax(p)) if p else -1 for p in flat]


def test_arg_reductions_of_lists_that_stay() -> None:
    x = rg.ragged([[[1.0, 5], []], [[7]], [], [[0, 9, 2]]])
    assert x.argmax((0, 1)).tolist() == [2, 3, 3]
    assert x.argmax((0, 1), keepdims=True).shape == (1, 1, 3)
    assert x.argmax(2, keepdims=True).shape == (4, None, 1)


def test_the_first_levels_of_an_axis_are_its_own() -> None:
    """Also where one axis is gone before the next one is made, perhaps in its place in memory."""
    with tracing("t", [], "cpu") as trace:
        for number in range(1000):
            axis = NestedAxis("drr", [f"outer {number}", "inner"], [None] * 3)
            assert trace.prefix(axis, 2).vectors == [f"outer {number}"]
            del axis


def _results(a: Any) -> Any:
    return a.sum(0), a.sum(1), rg.softmax(a, axis=1), a.cumsum(1), a.argmax(1)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("seed", [1, None])
def test_traced_and_in_the_emulator(target: str, seed: int | None) -> None:
    x = MAKERS["drr"](seed)
    across, within, weights, running, at = rg.jit(_results, target=target)(x)
    assert_reduced(across, x, {0}, np.sum, 0)
    assert_reduced(within, x, {1}, np.sum, 0)
    assert_mapped(weights, x, {1}, softmax)
    assert_mapped(running, x, {1}, np.cumsum)
    assert by_index(at) == by_index(x.argmax(1))


def test_no_loop_has_one_thread() -> None:
    """But those whose folds targets know."""
    source = rg.jit(_results).lower(MAKERS["drr"](1)).source
    assert "ragged.group_by" in source
    assert source.count("scf.for ") == source.count("ragged.fold = ") > 0
