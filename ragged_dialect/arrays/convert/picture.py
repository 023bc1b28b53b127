"""The picture of an array for notebooks: its nesting as boxes, drawn to scale, in a small SVG.

A row is a component of dim 0, a bar an innermost component as long as it has elements; lists of
lists are boxes around what they hold. Only lengths are read, never values, and only of what is shown.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect.arrays.convert.nesting import Offsets, Regular, to_levels
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.errors import LayoutError

_ROWS = 16
"""Components of dim 0 that are shown."""

_CHILDREN = 12
"""Lists that are shown inside another one."""

_BOXES, _ROW_BOXES = 200, 40
"""Boxes in all and in one row, above which the rest is left out."""

_WIDTH, _LABEL, _BAR, _GAP = 640, 76, 12, 3
"""Pixels: of the widest row, of the row's label, height of a bar, between boxes."""

_HUES = ("#4c78a8", "#f58518", "#54a24b", "#b279a2", "#9d755d")


@dataclass(frozen=True)
class _Node:
    """A list: how many elements it has; and, unless it is an innermost one, the lists that are shown of
    them."""

    length: int
    children: tuple[_Node, ...] | None

    @property
    def hidden(self) -> int:
        """Lists that are not shown."""
        return 0 if self.children is None else self.length - len(self.children)

    @property
    def depth(self) -> int:
        """Levels of boxes around bars."""
        return 0 if self.children is None else 1 + max((c.depth for c in self.children), default=0)


class _Tree:
    """The lists of an array, read off its levels, as many as are shown."""

    def __init__(self, levels: Sequence[Regular | Offsets]) -> None:
        last = max(k for k, level in enumerate(levels) if not isinstance(level, Regular))
        self._levels = levels[: last + 1]
        self._left = 0

    def rows(self, count: int) -> list[_Node]:
        """The first components; each has its part of the boxes."""
        found: list[_Node] = []
        for at in range(min(count, _ROWS)):
            self._left = min(_ROW_BOXES, _BOXES // min(count, _ROWS))
            found.append(self.node(0, at))
        return found

    def node(self, depth: int, at: int) -> _Node:
        """A list of a level, by number."""
        start, length = _list(self._levels[depth], at)
        if depth == len(self._levels) - 1:
            return _Node(length, None)
        return _Node(length, self.nodes(depth + 1, start, min(length, _CHILDREN)))

    def nodes(self, depth: int, start: int, count: int) -> tuple[_Node, ...]:
        """Lists of a level, one after the other, as long as boxes are left."""
        found: list[_Node] = []
        for at in range(start, start + count):
            if self._left <= 0:
                break
            self._left -= 1
            found.append(self.node(depth, at))
        return tuple(found)


def _list(level: Regular | Offsets, at: int) -> tuple[int, int]:
    """Start and length of a list."""
    if isinstance(level, Regular):
        return at * level.size, level.size
    start, stop = storage.to_host(level.vector[at : at + 2]).tolist()
    return start, stop - start


def picture(x: RaggedArray) -> str:
    """The nesting of an array as HTML with an inline SVG of some hundred boxes at most: no script, no style
    sheet, colours that suit light and dark pages. Tiles have no picture, only the title."""
    extents = ", ".join("~" if extent is None else str(extent) for extent in x.shape)
    where = "" if x.device == "cpu" else f" on {x.device}"
    title = html.escape(f'RaggedArray [{extents}] {x.dtype} "{x.layout}"{where}')
    try:
        tree = _Tree(to_levels(x, "picture"))
    except LayoutError:
        return f"<div><code>{title}</code></div>"
    nodes = tree.rows(len(x))
    more = len(x) - len(nodes)
    note = f"<div><small>{more} more of {len(x)} components</small></div>" if more else ""
    return f"<div><code>{title}</code>{_svg(nodes)}{note}</div>"


class _Scale:
    """Pixels an element has so that the widest row fits."""

    def __init__(self, nodes: Sequence[_Node]) -> None:
        boxes = max((_frames(node) for node in nodes), default=0)
        longest = max((_elements(node) for node in nodes), default=0)
        self.unit = min(10.0, max(_WIDTH - boxes, _WIDTH / 4) / max(longest, 1))

    def width(self, node: _Node) -> float:
        """Width of a box."""
        if node.children is None:
            return max(1.0, node.length * self.unit)
        return _GAP + sum(self.width(child) + _GAP for child in node.children) + (_BAR if node.hidden else 0)


def _elements(node: _Node) -> int:
    return node.length if node.children is None else sum(map(_elements, node.children))


def _frames(node: _Node) -> int:
    """Pixels of a row that no element has."""
    own = _BAR if node.hidden else 0
    return 1 if node.children is None else _GAP + own + sum(_frames(child) + _GAP for child in node.children)


def _svg(nodes: Sequence[_Node]) -> str:
    if not nodes:
        return ""
    scale = _Scale(nodes)
    parts: list[str] = []
    top = 0.0
    for number, node in enumerate(nodes):
        height = _height(node)
        label = f'<text x="0" y="{top + height / 2 + 4:g}" fill="currentColor">[{number}] {node.length}</text>'
        parts += [label, *_boxes(node, scale, _LABEL, top, (number,))]
        top += height + _GAP
    width = _LABEL + max(scale.width(node) for node in nodes) + _GAP
    shrunk = min(1.0, (_LABEL + _WIDTH + _GAP) / width)
    frame = f'width="{shrunk * width:.0f}" height="{shrunk * top:.0f}" viewBox="0 0 {width:.0f} {top:.0f}"'
    font = 'font-family="monospace" font-size="11" style="display:block"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {frame} {font}>{"".join(parts)}</svg>'


def _height(node: _Node) -> float:
    return _BAR + 2 * _GAP * node.depth


def _boxes(node: _Node, scale: _Scale, left: float, top: float, path: tuple[int, ...]) -> list[str]:
    """The box of a list and of all in it; the tooltip says its index and length."""
    hue = _HUES[(len(path) - 1) % len(_HUES)]
    index = "".join(f"[{at}]" for at in path)
    tip = f"<title>{index}: length {node.length}</title>"
    look = f'fill="{hue}" fill-opacity="{0.75 if node.children is None else 0.15}" stroke="{hue}"'
    place = f'x="{left:.1f}" y="{top:g}" width="{scale.width(node):.1f}" height="{_height(node):g}"'
    parts = [f"<rect {place} {look}>{tip}</rect>"]
    at = left + _GAP
    for number, child in enumerate(node.children or ()):
        parts += _boxes(child, scale, at, top + _GAP, (*path, number))
        at += scale.width(child) + _GAP
    if node.hidden:
        parts.append(f'<text x="{at:.1f}" y="{top + _height(node) / 2 + 4:g}" fill="currentColor">…</text>')
    return parts
