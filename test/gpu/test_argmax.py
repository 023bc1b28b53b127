"""Where the largest elements of components are: by blocks for components, and by equal tiles of rows where these
are short and many."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.schedules import schedules_of

import ragged_dialect as rg
from ragged_dialect.device_model import DEVICE


def _lists(lengths: Any, features: tuple[int, ...], dtype: str) -> rg.RaggedArray:
    """Few different numbers: many are the largest one."""
    values = np.random.default_rng(0).integers(-3, 4, (int(np.sum(lengths)), *features)).astype(dtype)
    return rg.from_lengths(values, lengths)


def _first(x: rg.RaggedArray, name: str) -> Any:
    found = [getattr(np, name)(part, 0) if len(part) else np.full(part.shape[1:], -1) for part in x]
    return np.array(found).reshape(len(x), *x.values.shape[1:])


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("features", "dtype"), [((), "f4"), ((), "i1"), ((3,), "f8")])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_many_short_and_few_long_components(name: str, features: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    found = rg.jit(lambda x: getattr(x, name)(1), target="emulator")
    for lengths in ([3, 0, 500, 1], rng.integers(0, 7, DEVICE.blocks + 100), [0] * (DEVICE.blocks + 1)):
        x = _lists(lengths, features, dtype)
        np.testing.assert_array_equal(found(x), _first(x, name))


def test_the_first_nan() -> None:
    lengths = np.full(DEVICE.blocks + 100, 4)
    values = np.arange(4.0 * len(lengths), dtype="f4") % 5
    values[::7] = np.nan
    x = rg.from_lengths(values, lengths)
    np.testing.assert_array_equal(rg.jit(lambda x: x.argmax(1), target="emulator")(x), _first(x, "argmax"))


def test_blocks_do_not_have_one_component_each() -> None:
    x = _lists([2, 3], (), "f4")
    assert schedules_of(rg.jit(lambda x: x.argmax(1)).lower(x).source).count("balanced") == 2
