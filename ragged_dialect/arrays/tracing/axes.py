"""Storage axes of a tracer: plain ones with an extent, and nested ones with index vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.tracing.leaves import Origin
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape


@dataclass(frozen=True)
class PlainAxis:
    """A dense axis. `extent` is None when it is not static; `origin` an argument that has it."""

    extent: int | None
    origin: Origin | None = None

    letters: str = "d"


@dataclass(eq=False)
class NestedAxis:
    """An axis of several levels. `vectors` are MLIR values, `extents` one per level: an int for tiles,
    None for ragged levels, else an MLIR value of type index, or None where a vector's size gives it.
    Two axes with one object conform; so do axes that a guard has made equal."""

    letters: str
    vectors: list[ir.Value]
    extents: list[Mixed | None]
    origin: Origin | None = None
    same: NestedAxis | None = field(default=None, repr=False)

    @property
    def tiles(self) -> list[int | None]:
        """The extents of tiles, None for other levels."""
        return [e if c == "t" and isinstance(e, int) else None for c, e in zip(self.letters, self.extents, strict=True)]

    @property
    def root(self) -> NestedAxis:
        """The axis that stands for all those known to conform with this one."""
        found = self
        while found.same is not None:
            found = found.same
        return found


Axis = PlainAxis | NestedAxis


def layout_of(axes: Sequence[Axis]) -> Layout:
    """The layout of axes."""
    return Layout(tuple(axis.letters for axis in axes))


def shape_of(axes: Sequence[Axis]) -> RaggedShape:
    """The shape in a program: static for plain axes and tiles only."""
    extents: list[int | None] = []
    for axis in axes:
        if isinstance(axis, PlainAxis):
            extents.append(axis.extent)
        else:
            extents += axis.tiles
    return RaggedShape(layout_of(axes), tuple(extents))


def batch_axis(axis: Axis, level: int) -> PlainAxis:
    """A dense level of an axis as a plain one, which an axis without others is."""
    if isinstance(axis, PlainAxis):
        return axis
    origin = axis.root.origin
    if origin is None or origin.derived:
        return PlainAxis(None)
    return PlainAxis(None, Origin(origin.leaf, origin.dim + level))
