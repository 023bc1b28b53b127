"""Random ragged tensors of every layout, as 1:N parts: for hypothesis and from a seed.

Every generator takes `pick(low, high)`, an integer of the closed range; `seeded` makes one from a
seed and `cases` from hypothesis, so both draw the same structures: empty components, zero batches,
skew, windows with gaps and overlaps.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from hypothesis import strategies as st

from ragged_dialect.layout import Layout
from ragged_dialect.reference import RaggedValue
from ragged_dialect.shape import RaggedShape

Pick = Callable[[int, int], int]

AXES = ("dr", "ddr", "drr", "drrr", "drdr", "dr|dr", "dw", "ddw", "drw", "drt", "ddrt", "drrt", "dt")
LAYOUTS = (*AXES, *(f"{layout}|d" for layout in AXES))
"""The layouts that every op is tested on."""

DTYPES: dict[str, np.dtype[Any]] = {
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i8": np.dtype(np.int8),
    "i16": np.dtype(np.int16),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "i1": np.dtype(bool),
}
"""Element types by their MLIR spelling."""


@dataclass(frozen=True)
class Case:
    """A ragged tensor: its type's shape, element type, and the parts of its 1:N form."""

    shape: RaggedShape
    element: str
    parts: tuple[Any, ...]

    @property
    def type(self) -> str:
        """The MLIR type."""
        return type_text(self.shape, self.element)


def type_text(shape: RaggedShape, element: str) -> str:
    """A tensor type in MLIR's spelling."""
    dims = "".join(f"{'?' if e is None else e}x" for e in shape.shape)
    encoding = "" if shape.layout.is_dense else f', #ragged.layout<"{shape.layout}">'
    return f"tensor<{dims}{element}{encoding}>"


def text_of(arguments: Sequence[str], body: Sequence[str], results: Sequence[tuple[str, str]]) -> str:
    """A module with one function `f`: argument types (named %a0, %a1, …), lines, and the names and
    types of its results."""
    given = ", ".join(f"%a{k}: {type_}" for k, type_ in enumerate(arguments))
    types = ", ".join(type_ for _, type_ in results)
    lines = "".join(f"  {line}\n" for line in body)
    returned = f"  return {', '.join(name for name, _ in results)} : {types}\n" if results else "  return\n"
    return f"func.func @f({given}) -> ({types}) {{\n{lines}{returned}}}\n"


def seeded(seed: int) -> Pick:
    """Integers from a seed."""
    return random.Random(seed).randint


def lengths(pick: Pick, count: int, longest: int = 4) -> list[int]:
    """Component lengths: all empty, equal, one long one, or mixed."""
    mode = pick(0, 5)
    if mode == 0:
        return [0] * count
    if mode == 1:
        return [pick(0, longest)] * count
    if mode == 2 and count:
        skewed = [pick(0, 1) for _ in range(count)]
        skewed[pick(0, count - 1)] = 2 * longest
        return skewed
    return [pick(0, longest) for _ in range(count)]


def composition(pick: Pick, total: int, count: int) -> list[int]:
    """`count` lengths that add up to `total`."""
    cuts = sorted(pick(0, total) for _ in range(count - 1))
    return [b - a for a, b in zip([0, *cuts], [*cuts, total], strict=True)]


def offsets_of(sizes: Sequence[int]) -> np.ndarray[Any, Any]:
    """Offsets of lengths."""
    return np.concatenate([[0], np.cumsum(np.array(sizes, np.int64))]).astype(np.int64)


def level_of(pick: Pick, letter: str, sizes: Sequence[int]) -> tuple[list[np.ndarray[Any, Any]], int]:
    """The vectors of a ragged level or a level of windows with these lengths, and how many positions are below it."""
    if letter == "r":
        return [offsets_of(sizes)], sum(sizes)
    count = max(sizes, default=0) + pick(0, 4)
    starts = [pick(0, count - n) for n in sizes]
    return [np.array(starts, np.int64), np.array(sizes, np.int64)], count


def elements(pick: Pick, shape: Sequence[int], element: str) -> np.ndarray[Any, Any]:
    """Small whole numbers, so that sums are exact in every type."""
    rng = np.random.default_rng(pick(0, 2**16))
    low = 0 if element == "i1" else -4
    return rng.integers(low, 2 if element == "i1" else 5, tuple(shape)).astype(DTYPES[element])


def dense(pick: Pick, shape: Sequence[int | None], element: str) -> Case:
    """A dense tensor of a type's shape; dynamic extents are drawn."""
    sizes = [pick(0, 5) if e is None else e for e in shape]
    return Case(RaggedShape(Layout.dense(len(sizes)), tuple(shape)), element, (elements(pick, sizes, element),))


def make(pick: Pick, layout: str, element: str = "f32", static: bool | None = None) -> Case:
    """A random tensor of a layout. `static`: dense extents are static in the type (None: drawn)."""
    parsed = Layout.parse(layout)
    fixed = bool(pick(0, 1)) if static is None else static
    extents: list[int | None] = []
    known: list[int | None] = []
    vectors: list[np.ndarray[Any, Any]] = []
    storage: list[int] = []
    for letters in parsed.axes:
        own, found, size = _axis(pick, letters)
        vectors += found
        storage.append(size)
        known += own
        feature = letters == "d"
        extents += [
            e if c == "t" or (c == "d" and (fixed or feature)) else None for c, e in zip(letters, own, strict=True)
        ]
    shape = RaggedShape(parsed, tuple(extents))
    dynamic = [known[dim] for dim in range(shape.rank) if shape.has_extent_part(dim)]
    return Case(shape, element, (elements(pick, storage, element), *vectors, *dynamic))


def _axis(pick: Pick, letters: str) -> tuple[list[int | None], list[np.ndarray[Any, Any]], int]:
    """Extents, vectors and storage size of one axis."""
    body = letters.rstrip("t")
    tiles = [pick(1, 4) for _ in letters[len(body) :]]
    if body == "d":
        size = pick(0, 9) if tiles else pick(1, 3)
        return [-(-size // int(np.prod(tiles))), *tiles], [], size
    extents: list[int | None] = []
    vectors: list[np.ndarray[Any, Any]] = []
    count = 1
    for place, letter in enumerate(body):
        if letter == "d":
            extents.append(pick(0, 3))
            count *= extents[-1] or 0
            continue
        extents.append(None)
        sizes = lengths(pick, count, 4 if place == len(body) - 1 else 2)
        made, count = level_of(pick, letter, sizes)
        vectors += made
    return [*extents, *tiles], vectors, count


@st.composite
def cases(draw: st.DrawFn, layouts: Sequence[str] = LAYOUTS, elements: Sequence[str] = ("f32",)) -> Case:
    """Tensors of some layouts and element types."""
    layout = draw(st.sampled_from(list(layouts)))
    element = draw(st.sampled_from(list(elements)))
    return make(drawn(draw), layout, element)


def drawn(draw: st.DrawFn) -> Pick:
    """Integers that hypothesis draws (and shrinks towards the low end)."""
    return lambda low, high: draw(st.integers(low, high))


def assert_same(shape: RaggedShape, got: Any, expected: Any) -> None:
    """Two results of one type are the same tensor: dense ones bit for bit, ragged ones element by
    element, with equal vectors but for where windows happen to be stored."""
    if shape.layout.is_dense:
        assert np.asarray(got).dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(got, expected)
        return
    if not shape.layout.has_windows:
        for part, a, b in zip(shape.parts(), got, expected, strict=True):
            np.testing.assert_array_equal(a, b, err_msg=f"{part.kind} of dim {part.dim}")
        return
    values = [RaggedValue.from_parts(shape, parts).compact() for parts in (got, expected)]
    for a, b in zip(*(v.to_parts() for v in values), strict=True):
        np.testing.assert_array_equal(a, b)
