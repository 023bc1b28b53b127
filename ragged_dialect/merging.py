"""The rules of `ragged.merge`: which pairs of levels merge, and what the merged level is.

`merge_rule` names the rule for a pair of adjacent dims; type inference, the lowering, the
canonicalizer and the reference interpreter all dispatch on that name. `vectors` in the table
tells how the stored index vectors follow (v is the vector of the second level, u of the first).

    batch       d d   of one axis                       unchanged
    plain       d|d   two plain axes                    none (storage collapsed)
    components  d r   leading                           dropped: d of extent total
    rows        d r   inner, batch extent K             v[i * K]
    levels      r r / w r                               v[u[i]]; window: starts v[s], lengths v[s+l]-v[s]
    scale       r d / w d  of one axis, extent n        u * n
    features    r|d / w|d  plain axis of extent n       u * n (storage collapsed)
    untile      r t / w t / d t                         unchanged
    tiles       t t                                     unchanged
    tile_parts  any dim and the outer part of a split   tile starts; the tiles become components
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED, Extent, Layout, product

if TYPE_CHECKING:
    from ragged_dialect.shape import RaggedShape


class MergeRule(NamedTuple):
    """A merge rule: its name and the shape it yields."""

    name: str
    result: Callable[[RaggedShape, int], RaggedShape]


def merge_rule(shape: RaggedShape, dim: int) -> MergeRule:
    """The rule that merges `dim` and `dim + 1`. Raises LayoutError where none applies."""
    layout = shape.layout
    if not 0 <= dim < layout.rank - 1:
        raise LayoutError(f"expected dim in [0, {layout.rank - 1}), got {dim}")
    axis, _ = layout.locate(dim)
    below, _ = layout.locate(dim + 1)
    name = _same_axis(layout, dim) if axis == below else _two_axes(layout, dim)
    return _RULES[name]


def _same_axis(layout: Layout, dim: int) -> str:
    _, at, letters = layout.level(dim)
    pair = letters[at : at + 2]
    if pair == "tt":
        return "tiles"
    if pair[1] == "t":
        return "untile"
    if pair[1] == "w":
        raise LayoutError(
            f'expected contiguous components to merge, got window dim {dim + 1} of layout "{layout}" '
            "(use ragged.compact)"
        )
    if layout.is_split_outer(dim + 1):
        return "tile_parts"
    if pair == "dd":
        return "batch"
    if pair == "dr":
        return "components" if at == 0 else "rows"
    return "levels" if pair[1] == "r" else "scale"


def _two_axes(layout: Layout, dim: int) -> str:
    first, second = layout.letter(dim), layout.letter(dim + 1)
    if layout.is_plain(dim):
        if layout.is_plain(dim + 1):
            return "plain"
        if layout.is_split_outer(dim + 1):
            return "tile_parts"
    elif first in RAGGED and layout.is_plain(dim + 1):
        return "features"
    raise LayoutError(
        f"expected dims that merge, got '{first}' and '{second}' of different axes "
        f'at dims {dim} and {dim + 1} of layout "{layout}"'
    )


def _replaced(shape: RaggedShape, dim: int, layout: Layout, extent: Extent) -> RaggedShape:
    return type(shape)(layout, (*shape.shape[:dim], extent, *shape.shape[dim + 2 :]))


def _dropping(at_offset: int) -> Callable[[RaggedShape, int], RaggedShape]:
    """Drop one of the two letters; the extent is their product where the kept level is dense."""

    def result(shape: RaggedShape, dim: int) -> RaggedShape:
        axis, at, letters = shape.layout.level(dim)
        gone = at + at_offset
        kept = letters[at + 1 - at_offset]
        extent = product(shape.shape[dim : dim + 2]) if kept in "dt" else None
        return _replaced(shape, dim, shape.layout.replace_axis(axis, letters[:gone] + letters[gone + 1 :]), extent)

    return result


def _first(shape: RaggedShape, dim: int) -> RaggedShape:
    """Drop the second letter; the first one has no static extent then."""
    axis, at, letters = shape.layout.level(dim)
    return _replaced(shape, dim, shape.layout.replace_axis(axis, letters[: at + 1] + letters[at + 2 :]), None)


def _join_axes(shape: RaggedShape, dim: int) -> RaggedShape:
    axis, _ = shape.layout.locate(dim)
    axes = shape.layout.axes
    layout = Layout((*axes[: axis + 1], *axes[axis + 2 :]))
    extent = product(shape.shape[dim : dim + 2]) if axes[axis] == "d" else None
    return _replaced(shape, dim, layout, extent)


def _tile_parts(shape: RaggedShape, dim: int) -> RaggedShape:
    layout = shape.layout
    axis, at, letters = layout.level(dim)
    if layout.is_plain(dim):
        tiles = layout.axes[axis + 1][2:]
        axes = (*layout.axes[:axis], "dr" + tiles, *layout.axes[axis + 2 :])
        extent = product(shape.shape[dim : dim + 2])
    else:
        outer = letters[at] if at == 0 or letters[at] == "w" else "r"
        axes = (*layout.axes[:axis], f"{letters[:at]}{outer}r{letters[at + 3 :]}", *layout.axes[axis + 1 :])
        extent = None
    return type(shape)(Layout(axes), (*shape.shape[:dim], extent, None, *shape.shape[dim + 3 :]))


_RULES = {
    rule.name: rule
    for rule in (
        MergeRule("batch", _dropping(1)),
        MergeRule("plain", _join_axes),
        MergeRule("components", _first),
        MergeRule("rows", _dropping(0)),
        MergeRule("levels", _dropping(1)),
        MergeRule("scale", _dropping(1)),
        MergeRule("features", _join_axes),
        MergeRule("untile", _first),
        MergeRule("tiles", _dropping(1)),
        MergeRule("tile_parts", _tile_parts),
    )
}
