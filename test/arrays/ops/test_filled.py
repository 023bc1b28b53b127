"""Arrays of one number, and of numbers in order, with the extents of others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.components import array
from support.refusals import refused

import ragged_dialect as rg

LENGTHS = (3, 0, 5, 1)

MADE: dict[str, tuple[Any, Any]] = {
    "zeros": (lambda m, x: m.zeros(x.shape[0]), np.zeros(4)),
    "ones of a dtype": (lambda m, x: m.ones((x.shape[0], 2), np.float32), np.ones((4, 2), np.float32)),
    "full": (lambda m, x: m.full((2, x.shape[0]), 7), np.full((2, 4), 7)),
    "full of a bool": (lambda m, x: m.full(x.shape[0] + 1, True), np.full(5, True)),
    "arange": (lambda m, x: m.arange(x.shape[0]), np.arange(4)),
    "arange from": (lambda m, x: m.arange(1, x.shape[0], 2), np.arange(1, 4, 2)),
    "arange down": (lambda m, x: m.arange(x.shape[0], -2, -3), np.arange(4, -2, -3)),
    "arange of none": (lambda m, x: m.arange(x.shape[0], 2), np.arange(4, 2)),
}


@pytest.mark.parametrize("target", ["cpu", "emulator"])
@pytest.mark.parametrize("name", MADE)
def test_made(name: str, target: str) -> None:
    function, expected = MADE[name]
    x = array(LENGTHS)
    for own in (rg.jit(lambda x: function(rg, x), target=target)(x), function(rg, x), function(np, x)):
        assert own.dtype == expected.dtype
        np.testing.assert_array_equal(own, expected)


def test_traced_numbers() -> None:
    filled = rg.jit(lambda n, v: (rg.full(n, v), rg.full((n, n), v * 2, np.int8), rg.arange(n)))
    for n in (3, 0):
        first, second, third = filled(n, 1.5)
        assert first.tolist() == [1.5] * n
        assert second.tolist() == [[3] * n] * n
        assert second.dtype == np.int8
        assert third.tolist() == list(range(n))


def test_extents_are_those_of_arrays() -> None:
    """No check is left that a component has as many numbers as there are."""
    function = rg.jit(lambda x: rg.zeros(x.shape[0]) + x.sum(axis=1) + rg.arange(x.shape[0]))
    x = array(LENGTHS, ())
    np.testing.assert_allclose(function(x), np.arange(4) + np.asarray(x.sum(axis=1)), rtol=1e-6)
    assert "equal" not in function.lower(x).stages["ragged"]


def test_they_are_carried() -> None:
    total = rg.jit(lambda x: rg.fori_loop(0, 3, lambda i, s: s + x.sum(axis=1) * i, rg.zeros(x.shape[0])))
    x = array(LENGTHS, (), dtype=np.float64)
    np.testing.assert_allclose(total(x), 3 * np.asarray(x.sum(axis=1)))


test_refusals = refused(
    [
        (lambda: rg.full(-1, 0), rg.RuntimeCheckError, "full: expected extents of at least 0, got -1"),
        (lambda: rg.jit(rg.zeros)(-2), rg.RuntimeCheckError, "full: level 0: expected at least 0, got -2"),
        *(
            (call, rg.RuntimeCheckError, f"full: expected a number in [-128, 127], got {number}")
            for number in (300, 128.5, np.nan)
            for call in (
                lambda number=number: rg.full(2, number, np.int8),
                lambda number=number: rg.jit(lambda n: rg.full(n, number, np.int8))(2),
            )
        ),
        (lambda: rg.full(2, 2**63), rg.ArgumentError, "float16 to float64 or bfloat16, got uint64"),
        (lambda: rg.full(1.5, 0), rg.ArgumentError, "full: expected an integer for shape, got float"),
        (lambda: rg.jit(rg.zeros)(1.5), rg.ArgumentError, "full: expected an integer as an extent, got float64"),
        (lambda: rg.arange(1, 2, 0), rg.ArgumentError, "arange: expected a step other than 0, got 0"),
        (lambda: rg.arange(1.5), rg.ArgumentError, "arange: expected an integer for stop, got float"),
        (lambda: rg.jit(rg.arange)(1.5), rg.ArgumentError, "arange: expected an integer as stop, got float64"),
    ]
)
