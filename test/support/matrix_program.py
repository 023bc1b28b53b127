"""Programs of the support matrix: a builder of MLIR text whose arguments have data for every
structure, and the structures themselves.

The types of a program are fixed, its data is not: every argument comes with a function of a
`Sample`, one structure of the layout under test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from support.structures import Case, Pick, elements, level_of, seeded, text_of, type_text

from ragged_dialect.layout import RAGGED, Extent, Layout, Shape
from ragged_dialect.reference import RaggedValue
from ragged_dialect.shape import RaggedShape

TILE = 4
FEATURES = 3
MODES = ("zero batch", "all empty", "equal", "skew", "mixed", "odd batch")
_BATCH = {"zero batch": 0, "all empty": 2, "equal": 2, "skew": 4, "mixed": 2, "odd batch": 3}
_FEATURES = {"zero batch": 1, "all empty": 3, "equal": 3, "skew": 1, "mixed": 3, "odd batch": 2}
STATIC_BATCH = 2


@dataclass(frozen=True)
class Sample:
    """One structure: where its random numbers come from, what kind it is, and the tensor under test."""

    pick: Pick
    mode: str
    case: Case
    value: RaggedValue

    def longest(self, dim: int) -> int:
        """The extent of a dim, or its longest length."""
        axis, place = self.value.locate(dim)
        if self.value.shape.layout.letter(dim) == "d":
            return self.value.extent(dim)
        return max(map(len, self.value.axes[axis].groups(place)), default=0)

    def rows(self, dim: int) -> list[int]:
        """Lengths of a dim in elements, one per index tuple of the levels above."""
        axis, place = self.value.locate(dim)
        own = self.value.axes[axis]
        return own.vector_lengths(place) if place == own.body - 1 else own.lengths(place)


Make = Callable[[Sample], Any]


@dataclass(frozen=True)
class Value:
    """An SSA value: its name, type, and the shape of a tensor."""

    name: str
    type: str
    shape: RaggedShape | None = None
    element: str = "f32"

    @property
    def tensor(self) -> RaggedShape:
        """The shape of a tensor value."""
        assert self.shape is not None
        return self.shape


def parse_layout(text: str) -> Layout:
    """A layout, also one of plain dims only."""
    return Layout.dense(text.count("d")) if set(text) <= {"d", "|"} else Layout.parse(text)


def typed_shape(layout: str, static: bool) -> RaggedShape:
    """The type under test: dense extents all static or all dynamic."""
    parsed = parse_layout(layout)
    extents: list[Extent] = []
    for dim, letter in enumerate(parsed.letters):
        dense = (FEATURES if parsed.is_plain(dim) else STATIC_BATCH) if static else None
        extents.append({"d": dense, "t": TILE}.get(letter))
    return RaggedShape(parsed, tuple(extents))


def samples(shape: RaggedShape, element: str, seed: int) -> list[Sample]:
    """Structures of a type: empty ones, equal lengths, skew, mixed ones."""
    static = any(e is not None for e, c in zip(shape.shape, shape.layout.letters, strict=True) if c == "d")
    skipped = ("zero batch", "odd batch") if static else ()
    out: list[Sample] = []
    for number, mode in enumerate(m for m in MODES if m not in skipped):
        pick = seeded(seed * 100 + number)
        case = tensor_of(pick, mode, shape, element)
        out.append(Sample(pick, mode, case, RaggedValue.from_parts(shape, case.parts)))
    return out


def tensor_of(pick: Pick, mode: str, shape: RaggedShape, element: str) -> Case:
    """A random tensor of a type."""
    known: dict[int, int] = {}
    vectors: list[Any] = []
    storage: list[int] = []
    for axis, letters in enumerate(shape.layout.axes):
        dims = shape.layout.dims(axis)
        size = _axis(pick, mode, letters, shape.shape[dims.start : dims.stop], vectors, known, dims.start)
        storage.append(size)
    dynamic = [known[dim] for dim in range(shape.rank) if shape.has_extent_part(dim)]
    return Case(shape, element, (elements(pick, storage, element), *vectors, *dynamic))


def _axis(
    pick: Pick, mode: str, letters: str, extents: Shape, vectors: list[Any], known: dict[int, int], first: int
) -> int:
    """Vectors and extents of one axis; its storage size."""
    if letters == "d":
        known[first] = extents[0] if extents[0] is not None else _FEATURES[mode]
        return known[first]
    if letters.startswith("dt"):
        tiles = extents[0] if extents[0] is not None else {"zero batch": 0, "equal": 2}.get(mode, pick(1, 3))
        known[first] = tiles
        factor = int(np.prod([e for e in extents[1:] if e is not None]))
        return tiles * factor - (pick(0, factor - 1) if tiles and mode != "equal" else 0)
    count = 1
    body = letters.rstrip("t")
    for place, letter in enumerate(body):
        extent = extents[place]
        if letter == "d":
            known[first + place] = _BATCH[mode] if extent is None else extent
            count *= known[first + place]
            continue
        sizes = _lengths(pick, mode, count, 4 if place == len(body) - 1 else 2)
        made, count = level_of(pick, letter, sizes)
        vectors += made
    return count


def _lengths(pick: Pick, mode: str, count: int, longest: int) -> list[int]:
    if mode == "all empty":
        return [0] * count
    if mode == "equal":
        return [2] * count
    sizes = [pick(0, longest) for _ in range(count)]
    if mode == "skew" and count:
        sizes = [pick(0, 1) for _ in range(count)]
        sizes[pick(0, count - 1)] = 2 * longest
    return sizes


class Builder:
    """Text of one function `f` whose first argument is `x`, the tensor under test (unless
    `given` is false)."""

    def __init__(self, layout: str, static: bool, element: str = "f32", given: bool = True) -> None:
        self.layout = layout
        self.static = static
        self.element = element
        self.shape = typed_shape(layout, static)
        self.types: list[str] = []
        self.makers: list[Make] = []
        self.lines: list[str] = []
        self.results: list[Value] = []
        self.functions = ""
        self.exact = True
        self.count = 0
        self.x = Value("%a0", type_text(self.shape, element), self.shape, element)
        if given:
            self.tensor_argument(self.shape, lambda s: s.case)

    @property
    def rank(self) -> int:
        """Rank of x."""
        return self.shape.rank

    def argument(self, type_: str, make: Make, shape: RaggedShape | None = None, element: str = "f32") -> Value:
        """An argument, with its data for a structure."""
        self.types.append(type_)
        self.makers.append(make)
        return Value(f"%a{len(self.types) - 1}", type_, shape, element)

    def tensor_argument(self, shape: RaggedShape, make: Callable[[Sample], Case]) -> Value:
        """A ragged or dense tensor argument."""
        ragged = not shape.layout.is_dense

        def data(sample: Sample) -> Any:
            parts = make(sample).parts
            return parts if ragged else parts[0]

        return self.argument(type_text(shape, self.element), data, shape, self.element)

    def like(self, other: bool = False) -> Value:
        """A second tensor of x's type: of its very structure, or another of its kind."""

        def make(s: Sample) -> Case:
            if other:
                return tensor_of(s.pick, s.mode, self.shape, self.element)
            values = elements(s.pick, s.case.parts[0].shape, self.element)
            return Case(self.shape, self.element, (values, *s.case.parts[1:]))

        return self.tensor_argument(self.shape, make)

    def dense(self, extents: Shape, sizes: Callable[[Sample], Sequence[int]], element: str | None = None) -> Value:
        """A dense argument of small whole numbers."""
        shape = RaggedShape(Layout.dense(len(extents)), extents)
        own = element or self.element
        return self.argument(type_text(shape, own), lambda s: elements(s.pick, sizes(s), own), shape, own)

    def size(self, s: Sample, dim: int, extra: int = 0) -> int:
        """How long a dense tensor has to be on a dim of x: its extent, or the longest length (and
        some more)."""
        if self.shape.layout.letter(dim) in RAGGED:
            return s.longest(dim) + extra
        return self.shape.shape[dim] or s.longest(dim)

    def dims_of_x(self, dims: Sequence[int], extra: int = 0) -> Value:
        """A dense argument with the sizes of some dims of x."""
        extents = tuple(self.shape.shape[d] for d in dims)
        return self.dense(extents, lambda s: [self.size(s, d, extra) for d in dims])

    def line(self, text: str) -> str:
        """A line that defines one value; its name."""
        self.count += 1
        self.lines.append(f"%{self.count} = {text}")
        return f"%{self.count}"

    def value(self, text: str, shape: RaggedShape, element: str | None = None) -> Value:
        """A line that defines a tensor."""
        own = element or self.element
        return Value(self.line(text), type_text(shape, own), shape, own)

    def op(
        self, name: str, operands: Sequence[Value], attributes: str, result: RaggedShape | str, element: str = ""
    ) -> Value:
        """An op in the dialect's form: `name operands {attributes} : (types) -> type`."""
        own = element or self.element
        shape = result if isinstance(result, RaggedShape) else None
        type_ = type_text(shape, own) if shape is not None else str(result)
        names, types = ", ".join(v.name for v in operands), ", ".join(v.type for v in operands)
        text = f"{name} {names} {{{attributes}}} : ({types}) -> {type_}"
        return Value(self.line(text), type_, shape, own)

    def constant(self, number: str, type_: str) -> Value:
        """A scalar constant."""
        return Value(self.line(f"arith.constant {number} : {type_}"), type_)

    def index(self, number: int) -> Value:
        """A constant index."""
        return self.constant(str(number), "index")

    def number(self, number: int, element: str | None = None) -> Value:
        """A scalar constant of an element type."""
        own = element or self.element
        return self.constant(f"{number}.0" if own[0] in "fb" else str(number), own)

    def extent(self, x: Value, dim: int) -> Value:
        """`tensor.dim`."""
        return Value(self.line(f"tensor.dim {x.name}, {self.index(dim).name} : {x.type}"), "index")

    def filled(self, shape: RaggedShape, sources: Sequence[int | None], number: int = 0, element: str = "") -> Value:
        """A tensor of a shape, filled; dim j has the structure of dim `sources[j]` of x."""
        own = element or self.element
        empty = self.empty(shape, sources, own)
        constant = self.number(number, own)
        text = f"linalg.fill ins({constant.name} : {own}) outs({empty.name} : {empty.type}) -> {empty.type}"
        return self.value(text, shape, own)

    def empty(self, shape: RaggedShape, sources: Sequence[int | None], element: str) -> Value:
        """`ragged.empty` or `tensor.empty`."""
        plain = [d for d in range(shape.rank) if shape.layout.is_plain(d)]
        sizes: list[Value] = []
        for dim in plain:
            source = sources[dim]
            if shape.shape[dim] is None and source is not None:
                sizes.append(self.extent(self.x, source))
        if shape.layout.is_dense:
            type_ = type_text(shape, element)
            return self.value(f"tensor.empty({', '.join(s.name for s in sizes)}) : {type_}", shape, element)
        pairs = ", ".join("-1" if d in plain else f"[0, {sources[d]}]" for d in range(shape.rank))
        return self.op("ragged.empty", [self.x, *sizes], f"from = [{pairs}]", shape, element)

    def same(self, number: int = 0, element: str = "") -> Value:
        """A filled tensor of x's shape."""
        return self.filled(self.shape, list(range(self.rank)), number, element)

    def give(self, *values: Value) -> None:
        """Return values."""
        self.results += values

    def text(self) -> str:
        """The module."""
        return text_of(self.types, self.lines, [(v.name, v.type) for v in self.results]) + self.functions

    def arguments(self, sample: Sample) -> list[Any]:
        """Arguments for a structure."""
        return [make(sample) for make in self.makers]
