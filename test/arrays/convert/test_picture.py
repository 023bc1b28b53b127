"""The picture of an array for notebooks: what it shows, and that it stays small."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest
from support.components import NESTED, array, nested

import ragged_dialect as rg
from ragged_dialect.arrays.convert.nesting import Offsets, Regular, from_levels
from ragged_dialect.arrays.convert.picture import picture


def boxes(text: str) -> list[tuple[str, float]]:
    """Tooltip and width of every box; the picture is well-formed XML."""
    found: list[tuple[str, float]] = []
    for box in ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}rect"):
        tip = box.findtext("{http://www.w3.org/2000/svg}title")
        assert tip is not None
        found.append((tip, float(box.attrib["width"])))
    return found


def assert_fits(text: str) -> None:
    """The picture is no wider than a page, and the boxes are inside it."""
    (svg,) = ElementTree.fromstring(text).iter("{http://www.w3.org/2000/svg}svg")
    assert int(svg.attrib["width"]) <= 720
    width, height = map(float, svg.attrib["viewBox"].split()[2:])
    for box in svg.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, w, h = (float(box.attrib[name]) for name in ("x", "y", "width", "height"))
        assert x + w <= width + 0.5
        assert y + h <= height + 0.5


def test_bars_are_as_long_as_components() -> None:
    assert boxes(picture(array((3, 0, 5)))) == [("[0]: length 3", 30), ("[1]: length 0", 1), ("[2]: length 5", 50)]
    windows = rg.from_starts_lengths(np.zeros(9), [4, 0], [5, 2])
    assert boxes(picture(windows)) == [("[0]: length 5", 50), ("[1]: length 2", 20)]


def test_lists_are_boxes_around_their_items() -> None:
    found = dict(boxes(picture(nested(NESTED[0]))))
    assert list(found) == [
        "[0]: length 2", "[0][0]: length 3", "[0][1]: length 0",
        "[1]: length 0",
        "[2]: length 2", "[2][0]: length 5", "[2][1]: length 2",
    ]  # fmt: skip
    assert found["[0]: length 2"] > found["[0][0]: length 3"] + found["[0][1]: length 0"]


def test_layouts_with_dense_dims_inside() -> None:
    x = from_levels("test", np.zeros(15), 2, [Regular(2, 2), Offsets(np.array([0, 1, 3, 3, 15]))])
    assert [tip for tip, _ in boxes(picture(x))][:3] == ["[0]: length 2", "[0][0]: length 1", "[0][1]: length 2"]
    across = rg.partition(np.zeros((3, 8)), np.array([0, 2, 2, 8]), axis=1)
    assert [tip for tip, _ in boxes(picture(across))][4:8] == [
        "[1]: length 3", "[1][0]: length 2", "[1][1]: length 0", "[1][2]: length 6",
    ]  # fmt: skip


def test_the_title_is_escaped_and_says_what_it_is() -> None:
    text = picture(array((3, 0, 5)))
    assert "<code>RaggedArray [3, ~, 4] float32 &quot;dr|d&quot;</code>" in text
    assert not re.search(r"<script|onload|javascript:", text)


@pytest.mark.parametrize("levels", [1, 2, 3, 4])
def test_large_arrays_are_cut(levels: int) -> None:
    """As many lists in every list as make a picture of all of them large."""
    count = {1: 20000, 2: 300, 3: 40, 4: 20}[levels]
    lengths = [np.full(count**level, count) for level in range(1, levels + 1)]
    text = picture(rg.from_lengths(np.zeros(count ** (levels + 1), np.int8), *lengths))
    assert len(text) < 40_000
    assert len(boxes(text)) <= 256
    assert_fits(text)
    assert re.search(rf"<small>\d+ more of {count} components</small>", text)


def test_long_components_fit() -> None:
    text = picture(array((100_000, 50_000), ()))
    assert_fits(text)
    (_, long), (_, short) = boxes(text)
    assert short == pytest.approx(long / 2, abs=0.2)


def test_arrays_with_nothing_to_show() -> None:
    assert picture(array(())) == "<div><code>RaggedArray [0, ~, 4] float32 &quot;dr|d&quot;</code></div>"
    tiled = rg.split(array((3, 0, 5)), axis=1, factor=2)
    assert re.fullmatch(r"<div><code>RaggedArray .*&quot;drt.*</code></div>", picture(tiled))
