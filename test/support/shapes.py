"""Layouts and shapes for property tests, and the structure ops as functions of a shape."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import strategies as st

from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Layouts of up to three axes and four levels per axis."""
    ragged = st.builds(
        lambda lead, middle, last, tiles: "d" * lead + middle + last + "t" * tiles,
        st.integers(1, 2),
        st.text("drw", max_size=2),
        st.sampled_from("rw"),
        st.integers(0, 2),
    )
    tiled = st.integers(1, 2).map(lambda tiles: "d" + "t" * tiles)
    axes = draw(st.lists(st.one_of(st.just("d"), ragged, tiled), min_size=1, max_size=3))
    if all(axis == "d" for axis in axes):
        axes.append(draw(st.one_of(ragged, tiled)))
    return Layout.parse("|".join(axes))


@st.composite
def shapes(draw: st.DrawFn) -> RaggedShape:
    """Shapes of any layout with small static or dynamic extents."""
    layout = draw(layouts())
    extents = {
        "d": st.one_of(st.none(), st.integers(0, 6)),
        "r": st.none(),
        "w": st.none(),
        "t": st.integers(1, 6),
    }
    return RaggedShape(layout, tuple(draw(extents[letter]) for letter in layout.letters))


Op = Callable[[RaggedShape], RaggedShape]


def partition(dim: int, rank: int, count: int | None) -> Op:
    return lambda shape: shape.partition(dim, rank, count)


def split(dim: int, factor: int) -> Op:
    return lambda shape: shape.split(dim, factor)


def select(dim: int) -> Op:
    return lambda shape: shape.select(dim)


def slice_(dim: int, extent: int | None = None) -> Op:
    return lambda shape: shape.slice(dim, extent)


def reduce(*dims: int) -> Op:
    return lambda shape: shape.reduce(frozenset(dims))


def compact(shape: RaggedShape) -> RaggedShape:
    return shape.compact()
