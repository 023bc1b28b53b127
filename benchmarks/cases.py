"""Inputs of `operations.py`: a base point, axes along which one thing varies, and points that others measure at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import ml_dtypes  # noqa: F401  # bfloat16 is a dtype of NumPy's since
import numpy as np
from common import Array, lognormal_lengths, read_lengths


@dataclass(frozen=True)
class Point:
    """What an input looks like. `features` is None for lists of numbers."""

    name: str = "base"
    components: int = 1024
    mean: float = 64
    sigma: float = 0.7
    features: int | None = 64
    dtype: str = "float32"
    huge: bool = False
    """One component has half of all rows."""
    pattern: tuple[int, ...] = ()
    """Lengths that repeat."""
    file: Path | None = None
    """Where lengths are read."""

    @property
    def real(self) -> bool:
        """Whether values are floats."""
        return np.dtype(self.dtype).kind in "fV"  # bfloat16 is none of NumPy's

    def lengths(self) -> Array:
        """Lengths of the components, the same for the same point. None that are drawn are empty: NumPy's `reduceat` has
        no answer for those."""
        if self.file:
            return read_lengths(self.file)[: self.components]
        if self.pattern:
            return np.resize(np.array(self.pattern, np.int64), self.components)
        if self.sigma == 0:
            lengths = np.full(self.components, int(self.mean), np.int64)
        else:
            lengths = np.maximum(lognormal_lengths(self.components, self.mean, self.sigma), 1)
        if self.huge:
            lengths = np.maximum(lengths // 2, 1)
            lengths[self.components // 3] += int(self.components * self.mean / 2)
        return lengths


BASE = Point()
LISTS = Point("lists", 16384, 64, 0.7, None)
"""Lists of numbers, a million in all: where sorts, searches and counts are measured."""


def axes() -> Iterator[Point]:
    """One thing varies at a time."""
    yield BASE
    for sigma in (0.0, 2.0):
        yield replace(BASE, name=f"sigma {sigma:g}", sigma=sigma)
    yield replace(BASE, name="one huge component", huge=True)
    for count, mean in ((2, 32768), (64, 1024), (16384, 4), (1_000_000, 4)):
        features = 4 if count == 1_000_000 else 64
        yield replace(BASE, name=f"{count} components", components=count, mean=mean, features=features)
    for features in (None, 1, 8, 512):
        yield replace(BASE, name=f"{features or 'no'} features", features=features)
    for dtype in ("float16", "bfloat16", "float64", "int32", "int64"):
        yield replace(BASE, name=dtype, dtype=dtype)


CROSS = (
    Point("FBGEMM, D 128", 128, 64, 0.7, 128, "float16"),
    Point("FBGEMM, D 512", 128, 64, 0.7, 512, "float16"),
    Point("lists of mean 5", 400_000, 5, 0.7, None, "float64"),
    Point("100,000 lists", 100_000, 63, 0.7, None, "float32"),
    Point("FBGEMM, all 128", 128, 128, 0, 128, "float16"),
    Point("100,000 lists, a third empty", 100_000, 33, 0.7, None, "float64", pattern=(66, 0, 33)),
    Point("nodes of a graph", 100_000, 8, 1.5, None, "float32"),
    Point("nodes with 32 features", 100_000, 8, 1.5, 32),
    Point("35 by 3, s 0 s/2", 35, 50, 0.7, 3, pattern=(100, 0, 50)),
    Point("1024 by 99, s 0 s/2", 1024, 150, 0.7, 99, pattern=(300, 0, 150)),
    *(
        Point(f"tritonbench, {count} by {features}, {longest} at {sparsity}", count, mean, sigma, features)
        for count, features, longest, sparsity in (
            (35, 3, 100, 0.5),
            (99, 35, 1000, 0.5),
            (1024, 99, 300, 0.5),
            (3, 1024, 3000, 0.1),
            (35, 1024, 300, 0.5),
            (99, 99, 1000, 0.1),
            (1024, 3, 1000, 0.5),
            (1024, 35, 1000, 0.9),
        )
        for mean, sigma in [(longest * (1 - sparsity), 0.1 if sparsity < 0.5 else 0.7)]
    ),
)
"""Points at which others measure: the shapes of FBGEMM and tritonbench (rows by features, the longest component and how
much of it is padding), lists of numbers, graphs."""


def files(paths: Iterable[Path]) -> Iterator[Point]:
    """Lengths of files, as lists and with features."""
    for path in paths:
        yield Point(path.stem, 1024, file=path)
        yield Point(f"{path.stem}, lists", 16384, features=None, file=path)


TABLE = 1000
"""Rows of a table, and keys to group by."""
EXPERTS, CHOICES = 16, 2
"""Of a mixture of experts, which are twice as wide inside as the rows have features."""
ROUTED = 128
"""Experts among which rows are routed."""
BINS = 20
"""Numbers that are counted in each component."""
WINDOW = 7
"""Rows next to each other that are added up."""


class Case:
    """The arrays of a point, made once."""

    def __init__(self, point: Point) -> None:
        self.point = point
        self.lengths = point.lengths()
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        self.rows = int(self.offsets[-1])

    def _random(self, *shape: int) -> Array:
        generator = np.random.default_rng(1)
        if self.point.dtype.startswith("int"):
            return generator.integers(-100, 100, shape).astype(self.point.dtype)
        return generator.standard_normal(shape, np.float32).astype(self.point.dtype)

    @cached_property
    def values(self) -> Array:
        """Rows of all components, with features or without."""
        features = self.point.features
        return self._random(self.rows) if features is None else self._random(self.rows, features)

    @cached_property
    def mask(self) -> Array:
        """Whether a row is kept: about half."""
        return np.random.default_rng(2).random(self.rows) < 0.5

    @cached_property
    def picked(self) -> Array:
        """Components in another order, about as many as there are."""
        return np.random.default_rng(3).integers(0, self.lengths.size, self.lengths.size)

    @cached_property
    def ids(self) -> Array:
        """A row of the table for every row, below `TABLE`."""
        return np.random.default_rng(4).integers(0, TABLE, self.rows)

    @cached_property
    def table(self) -> Array:
        """Rows to look up."""
        features = self.point.features
        return self._random(TABLE) if features is None else self._random(TABLE, features)

    @cached_property
    def experts(self) -> tuple[Array, ...]:
        """Scores of every row for every expert, and the experts: gate, up, down."""
        features = self.point.features
        assert features is not None
        scores = np.random.default_rng(5).standard_normal((self.rows, EXPERTS), np.float32).astype(self.point.dtype)
        shapes = [(EXPERTS, features, 2 * features)] * 2 + [(EXPERTS, 2 * features, features)]
        return (scores, *(self._random(*shape) / self._random(1).dtype.type(features) for shape in shapes))

    @cached_property
    def skewed_experts(self) -> tuple[Array, ...]:
        """The same, of which the first ones have the most rows."""
        scores, *weights = self.experts
        return (scores - 2 * np.log(np.arange(1, EXPERTS + 1)).astype(scores.dtype), *weights)

    @cached_property
    def routed(self) -> Array:
        """The experts that rows go to, `CHOICES` for each: expert k about as often as Zipf's law says."""
        share = 1 / np.arange(1, ROUTED + 1)
        return np.random.default_rng(6).choice(ROUTED, CHOICES * self.rows, p=share / share.sum())

    @cached_property
    def counts(self) -> Array:
        """How often each row is repeated, from 0 to 2."""
        return np.random.default_rng(7).integers(0, 3, self.rows)

    @cached_property
    def binned(self) -> Array:
        """A number below `BINS` for every row."""
        return self.ids % BINS

    @cached_property
    def other_ids(self) -> Array:
        """Another row of the table for every row."""
        return np.random.default_rng(10).integers(0, TABLE, self.rows)

    @cached_property
    def wanted(self) -> Array:
        """A fifth of the rows of the table, in no order."""
        return np.random.default_rng(9).permutation(TABLE)[: TABLE // 5]

    @cached_property
    def places(self) -> Array:
        """A place in its component for each row."""
        return (np.random.default_rng(8).random(self.rows) * np.repeat(self.lengths, self.lengths)).astype(np.int64)

    @cached_property
    def grouped(self) -> Array:
        """Where each row of the table is looked up, grouped by that."""
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def padded(self) -> Array:
        """The values, each component with zeros up to the longest."""
        out = np.zeros((self.lengths.size, self.longest, *self.values.shape[1:]), self.values.dtype)
        out[np.arange(self.longest) < self.lengths[:, None]] = self.values
        return out

    @cached_property
    def row_ids(self) -> Array:
        """The component of every row."""
        return np.repeat(np.arange(self.lengths.size), self.lengths)

    @cached_property
    def weights(self) -> Array:
        """A matrix of features by features."""
        assert self.point.features is not None
        return self._random(self.point.features, self.point.features)

    @property
    def longest(self) -> int:
        """The longest component's length."""
        return int(self.lengths.max(initial=0))
