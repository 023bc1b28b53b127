"""Ragged arrays as lists of their components, made at random and compared."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

import ragged_dialect as rg

Array = np.ndarray[Any, np.dtype[Any]]

STRUCTURES: tuple[tuple[int, ...], ...] = ((3, 0, 5, 1), (), (0, 0), (4,), (1, 7, 0))
"""Lengths of components: mixed, no component, empty ones, one, an empty one at the end."""

NESTED: tuple[tuple[tuple[int, ...], ...], ...] = (((3, 0), (), (5, 2)), ((),), (), ((1,), (0, 0, 4)))
"""Lengths of the inner lists of every outer one."""


def rows(*shape: int, dtype: Any = np.float64, seed: int = 0) -> Any:
    """Normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def dense(lengths: Sequence[int], features: tuple[int, ...] = (4,), dtype: Any = np.float32, seed: int = 0) -> Array:
    """Values for components of these lengths."""
    rng = np.random.default_rng(seed)
    shape = (sum(lengths), *features)
    kind = np.dtype(dtype).kind
    if kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return (rng.integers(0, 2, shape) if kind == "b" else rng.integers(-9, 10, shape)).astype(dtype)


def array(
    lengths: Sequence[int], features: tuple[int, ...] = (4,), dtype: Any = np.float32, seed: int = 0
) -> rg.RaggedArray:
    """A ragged array of one level."""
    return rg.from_lengths(dense(lengths, features, dtype, seed), np.array(lengths, np.int64))


def nested(lengths: Sequence[Sequence[int]], features: tuple[int, ...] = (), seed: int = 0) -> rg.RaggedArray:
    """A ragged array of two levels."""
    inner = [n for row in lengths for n in row]
    return rg.from_lengths(
        dense(inner, features, np.float64, seed),
        np.array([len(row) for row in lengths], np.int64),
        np.array(inner, np.int64),
    )


def lists(
    levels: int, seed: int, features: tuple[int, ...] = (), count: int = 4, longest: int = 3, least: int = 0
) -> rg.RaggedArray:
    """A list of lists … of random lengths up to one, float64."""
    rng = np.random.default_rng(seed)
    lengths = list[Any]()
    for _ in range(levels):
        lengths.append(rng.integers(least, longest + 1, count))
        count = int(lengths[-1].sum())
    return rg.from_lengths(rng.standard_normal((count, *features)), *lengths)


def split(values: Array, lengths: Sequence[int]) -> list[Array]:
    """The components of values."""
    ends = np.cumsum([0, *lengths])
    return [values[low:high] for low, high in pairwise(ends)]


def components(x: Any) -> list[Any]:
    """The components of a ragged array of one level, read off its starts and lengths."""
    assert isinstance(x, rg.RaggedArray)
    pairs = zip(x.starts.tolist(), x.lengths.tolist(), strict=True)
    return [np.asarray(x.values)[start : start + length] for start, length in pairs]


def assert_components(got: Any, expected: Sequence[Any], tolerance: float = 1e-5) -> None:
    """A ragged array of one level has these components."""
    found = components(got)
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        assert a.shape == np.shape(b)
        np.testing.assert_allclose(a, b, tolerance, tolerance)


def assert_nearly(got: Any, expected: Any) -> None:
    """Nested lists of one shape, of numbers that are nearly equal."""
    if not isinstance(expected, list):
        np.testing.assert_allclose(got, expected, 1e-5, 1e-6)
        return
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert_nearly(a, b)
