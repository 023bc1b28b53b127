"""Random data for the programs on a GPU: lengths of components, and rows of which only a block is kept
on the host, so that there can be more of them than it has room for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from common import Array

WIDTH = 64
"""Features of a row."""

PERIOD = 1_000_003
"""Rows after which random rows repeat: a prime, so that no two tiles have the same."""

MEAN = 64
"""Mean length of components, where there are several."""

FEW = 5
"""Mean length of short components."""

KINDS = ("equal", "zipf", "gaps", "short", "one")
"""Lengths of components: alike; by Zipf's law with exponent 1.2, in random order; three of four empty, and
many at both ends; short ones, as the edges of nodes in a graph, some empty; a single component."""


def lengths(kind: str, rows: int, rng: np.random.Generator) -> Array:
    """Lengths of components of a kind that add up to `rows`."""
    count = max(1, rows // MEAN)
    if kind == "one":
        return np.array([rows])
    if kind == "short":
        cuts = np.sort(rng.integers(0, rows + 1, rows // FEW))
        return np.diff(np.concatenate([[0], cuts, [rows]]))
    if kind == "equal":
        return np.diff(np.linspace(0, rows, count + 1).astype(np.int64))
    if kind == "zipf":
        weights = rng.permutation(np.arange(1, count + 1) ** -1.2)
        return np.diff(np.rint(np.concatenate([[0], np.cumsum(weights) / weights.sum()]) * rows).astype(np.int64))
    filled = lengths("equal", rows, rng)
    spread = np.zeros(4 * len(filled), np.int64)
    spread[::4] = filled
    ends = np.zeros(300, np.int64)
    return np.concatenate([ends, spread, ends])


@dataclass(frozen=True)
class Problem:
    """Components and the random numbers of a run. `kind` and `seed` make it again."""

    kind: str
    rows: int
    seed: int
    offsets: Array

    @staticmethod
    def of(kind: str, rows: int, seed: int) -> Problem:
        """Components of a kind with `rows` rows together; none at all for the kind `none`."""
        found = np.zeros(0, np.int64) if kind == "none" else lengths(kind, rows, np.random.default_rng(seed))
        return Problem(kind, rows, seed, np.concatenate([[0], np.cumsum(found)]).astype(np.int64))

    @property
    def components(self) -> int:
        """How many components there are."""
        return len(self.offsets) - 1

    @property
    def longest(self) -> int:
        """The length of the longest component, 0 without any."""
        return int(np.diff(self.offsets).max(initial=0))

    @cached_property
    def block(self) -> Array:
        """The rows that repeat."""
        count = max(1, min(self.rows, PERIOD))
        return np.random.default_rng([self.seed, 1]).standard_normal((count, WIDTH), np.float32)

    @cached_property
    def query(self) -> Array:
        """A vector of features."""
        return (np.random.default_rng([self.seed, 2]).standard_normal(WIDTH) / 8).astype(np.float32)

    @cached_property
    def biases(self) -> Array:
        """A row per component."""
        return np.random.default_rng([self.seed, 4]).standard_normal((self.components, WIDTH), np.float32)

    @cached_property
    def numbers(self) -> Array:
        """A random row's number per row."""
        return np.random.default_rng([self.seed, 3]).integers(0, max(1, self.rows), self.rows)

    @cached_property
    def others(self) -> Array:
        """Offsets of components of the same lengths in reverse order."""
        return np.concatenate([[0], np.cumsum(np.diff(self.offsets)[::-1])]).astype(np.int64)

    def host(self, rows: Any) -> Array:
        """Rows by their numbers, in float64."""
        return self.block[np.asarray(rows) % len(self.block)].astype(np.float64)

    def span(self, low: int, high: int) -> Array:
        """Rows `low` to `high`, in float64."""
        return self.host(np.arange(low, high))

    def device(self, cupy: Any) -> Any:
        """All rows on the device."""
        made = cupy.empty((self.rows, WIDTH), np.float32)
        if not self.rows:
            return made
        step = len(self.block)
        first = cupy.asarray(self.block)
        for low in range(0, self.rows, step):
            target = made[(slice(low, min(low + step, self.rows)),)]
            target.data.copy_from_device_async(first.data, target.nbytes)
        return made
