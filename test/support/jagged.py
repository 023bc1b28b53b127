"""Jagged tensors of several levels as nested lists, and FBGEMM's operators as loops over them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
Components = list[Any]
STRUCTURES = ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1), (5, 1))
"""Levels, and seeds for `random_jagged`."""


def random_jagged(levels: int, seed: int, width: tuple[int, ...]) -> tuple[Array, list[Array], Components]:
    """Values, offsets and nested lists of rows; seed 0 has no component, others also empty ones."""
    rng = np.random.default_rng(100 * levels + seed)
    count = 3 * min(seed, 1)
    offsets: list[Array] = []
    for level in range(levels):
        lengths = rng.integers(0, 5 - min(level, 2), count)
        offsets.append(np.concatenate([[0], np.cumsum(lengths)]))
        count = int(lengths.sum())
    values = rng.standard_normal((count, *width))
    return values, offsets, components_of(values, *offsets)


def components_of(values: Array, *offsets: Array) -> Components:
    """Nested lists of rows."""
    found: Any = list(values)
    for vector in reversed(offsets):
        found = [found[low:high] for low, high in itertools.pairwise(vector.tolist())]
    return [np.reshape(f, (-1, *values.shape[1:])) for f in found] if len(offsets) == 1 else found


def _places(parts: Components, levels: int, at: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Any]]:
    """Every element with its index."""
    if levels < 0:
        return [(at, parts)]
    return [place for k, part in enumerate(parts) for place in _places(part, levels - 1, (*at, k))]


def padded_loop(parts: Components, maxima: Sequence[int], pad: float, width: tuple[int, ...]) -> Array:
    """The padded array, element by element."""
    made = np.full((len(parts), *maxima, *width), pad, np.float64)
    for at, element in _places(parts, len(maxima)):
        if all(k < limit for k, limit in zip(at[1:], maxima, strict=True)):
            made[at] = element
    return made


def dense_loop(parts: Components, dense: Array, width: tuple[int, ...]) -> Array:
    """The dense array at the place of every element, 0 outside."""
    levels = dense.ndim - 1 - len(width)
    rows = [
        dense[at] if all(k < extent for k, extent in zip(at, dense.shape, strict=False)) else np.zeros(width)
        for at, _ in _places(parts, levels)
    ]
    return np.reshape(rows, (-1, *width))


def add_dense_loop(parts: Components, dense: Array) -> Array:
    """The dense array, with every element inside it added."""
    return dense + padded_loop(parts, dense.shape[1:-1], 0, dense.shape[-1:])


def unique_loop(
    sums: Sequence[int], groups: Sequence[int], lengths: Sequence[int], indices: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Lengths and distinct indices of `jagged_unique_indices`."""
    features = len(sums) - 1
    batch = len(lengths) // features
    given = iter(indices)
    own = [[int(next(given)) for _ in range(sum(lengths[t * batch : t * batch + batch]))] for t in range(features)]
    sizes: list[int] = []
    found: list[int] = []
    for first, end in itertools.pairwise(groups):
        distinct = sorted({k for t in range(first, end) for k in own[t]})
        slots = (end - first) * batch
        sizes += [len(distinct) // slots + (k < len(distinct) % slots) for k in range(slots)]
        found += distinct
    return sizes, found
