"""The layout algebra: grammar, spelling, geometry of levels and axes."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from support.shapes import layouts

from ragged_dialect.errors import LayoutError, RaggedError
from ragged_dialect.layout import Layout, normalize_axis, product


def is_axis(text: str) -> bool:
    """The grammar of an axis, letter by letter: a `d`, then levels, then tiles."""
    if not text.startswith("d"):
        return False
    tiles = False
    for letter in text[1:]:
        if letter not in "drwt" or (tiles and letter != "t"):
            return False
        tiles = tiles or letter == "t"
    levels = [letter for letter in text if letter != "t"]
    return levels == ["d"] or levels[-1] in ("r", "w")


def is_layout(text: str) -> bool:
    """The grammar of a layout: axes, one of them at least not a plain `d`."""
    axes = text.split("|")
    return all(is_axis(axis) for axis in axes) and any(axis != "d" for axis in axes)


def test_grammar_against_every_short_text() -> None:
    """Every text of up to 6 letters, bars and a foreign letter: accepted exactly when the grammar has it."""
    accepted = 0
    for size in range(7):
        for letters in itertools.product("drwt|", repeat=size):
            text = "".join(letters)
            if is_layout(text):
                accepted += 1
                assert str(Layout.parse(text)) == text
            else:
                with pytest.raises(LayoutError, match=r"^expected .*got "):
                    Layout.parse(text)
    assert accepted > 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'expected a letter in every axis of layout "", got an empty axis'),
        ("dr|", 'expected a letter in every axis of layout "dr|", got an empty axis'),
        ("dr||d", 'expected a letter in every axis of layout "dr||d", got an empty axis'),
        ("dx", "expected letters d, r, w, t in layout \"dx\", got 'x'"),
        ("dr\n", "expected letters d, r, w, t in layout \"dr\n\", got '\n'"),
        ("rd", "expected axis \"rd\" of layout \"rd\" to start with 'd', got 'r'"),
        ("dr|t", "expected axis \"t\" of layout \"dr|t\" to start with 'd', got 't'"),
        ("dtr", "expected axis \"dtr\" of layout \"dtr\" to be without levels below a tile, got 'r' below 't'"),
        ("drttw", "expected axis \"drttw\" of layout \"drttw\" to be without levels below a tile, got 'w' below 't'"),
        (
            "ddt",
            "expected axis \"ddt\" of layout \"ddt\" to be 'd', or to have 'r' or 'w' before its tiles, got 'd'",
        ),
        ("drd", 'expected axis "drd" of layout "drd" to be spelled dr|d, got trailing \'d\''),
        ("dd", 'expected axis "dd" of layout "dd" to be spelled d|d, got trailing \'d\''),
        ("d", 'expected a layout with a ragged or tiled axis, got "d" (drop the layout)'),
        ("d|d", 'expected a layout with a ragged or tiled axis, got "d|d" (drop the layout)'),
    ],
)
def test_refused_text(text: str, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        Layout.parse(text)
    assert str(error.value) == message
    assert isinstance(error.value, RaggedError)


@given(layouts())
def test_parse_undoes_print(layout: Layout) -> None:
    assert Layout.parse(str(layout)) == layout
    assert Layout.of_axes(list(layout.axes)) == layout


@given(layouts())
def test_locate_and_dims_agree(layout: Layout) -> None:
    seen = []
    for axis, letters in enumerate(layout.axes):
        for at, dim in enumerate(layout.dims(axis)):
            assert layout.locate(dim) == (axis, at)
            assert layout.letter(dim) == letters[at] == layout.letters[dim]
            seen.append(dim)
    assert seen == list(range(layout.rank))
    assert layout.storage_rank == str(layout).count("|") + 1


@given(layouts())
def test_vectors_follow_the_letters(layout: Layout) -> None:
    kinds = {"r": ["offsets"], "w": ["starts", "lengths"], "d": [], "t": []}
    expected = [(kind, dim) for dim, letter in enumerate(layout.letters) for kind in kinds[letter]]
    assert list(layout.vectors()) == expected


@given(layouts())
def test_every_dim_has_one_role(layout: Layout) -> None:
    for dim, letter in enumerate(layout.letters):
        axis, at = layout.locate(dim)
        assert layout.is_plain(dim) == (layout.axes[axis] == "d")
        assert layout.is_batch(dim) == (letter == "d" and ("r" in layout.axes[axis] or "w" in layout.axes[axis]))
        assert layout.is_split_outer(dim) == (letter != "t" and layout.axes[axis][at + 1 :].startswith("t"))
        tiles = [d for d in layout.dims(axis) if layout.letter(d) == "t"]
        assert list(layout.tiles_of(dim)) == tiles
    assert layout.has_windows == ("w" in str(layout))
    assert layout.has_tiles == ("t" in str(layout))
    assert not layout.is_dense


def test_geometry_of_an_example() -> None:
    layout = Layout.parse("drdrt|d|dw")
    assert (layout.rank, layout.storage_rank, layout.letters) == (8, 3, "drdrtddw")
    assert [layout.locate(dim) for dim in (0, 4, 5, 7)] == [(0, 0), (0, 4), (1, 0), (2, 1)]
    assert [dim for dim in range(8) if layout.is_batch(dim)] == [0, 2, 6]
    assert [dim for dim in range(8) if layout.is_plain(dim)] == [5]
    assert [dim for dim in range(8) if layout.is_split_outer(dim)] == [3]
    assert list(layout.vectors()) == [("offsets", 1), ("offsets", 3), ("starts", 7), ("lengths", 7)]


@pytest.mark.parametrize("dim", [-1, 3, 100])
def test_dim_out_of_range(dim: int) -> None:
    with pytest.raises(LayoutError, match=rf"^expected dim in \[0, 3\), got {dim}$"):
        Layout.parse("dr|d").locate(dim)


@pytest.mark.parametrize(
    ("axis", "parts"),
    [
        ("drd", ("dr", "d")),
        ("drdd", ("dr", "d", "d")),
        ("dd", ("d", "d")),
        ("d", ("d",)),
        ("", ()),
        ("drdr", ("drdr",)),
        ("dt", ("dt",)),
        ("drt", ("drt",)),
    ],
)
def test_normalize_axis(axis: str, parts: tuple[str, ...]) -> None:
    assert normalize_axis(axis) == parts


def test_replace_axis_normalizes() -> None:
    layout = Layout.parse("dr|d")
    assert str(layout.replace_axis(0, "ddrd")) == "ddr|d|d"
    assert str(layout.replace_axis(0)) == "d"
    assert str(layout.replace_axis(1, "dt")) == "dr|dt"


def test_dense_layout() -> None:
    layout = Layout.dense(3)
    assert layout.is_dense
    assert str(layout) == "d|d|d"
    assert Layout.dense(0).rank == 0


def test_product() -> None:
    assert product(()) == 1
    assert product((2, 3)) == 6
    assert product((2, None, 0)) is None


@pytest.mark.parametrize(
    ("text", "dim", "below", "same"),
    [
        ("dr", 1, False, True),
        ("drt", 1, False, False),
        ("dww", 1, False, True),
        ("dww", 2, True, False),
        ("dwr|d", 2, True, False),
        ("dw|dr", 3, False, True),
    ],
)
def test_stored_and_logical_lengths(text: str, dim: int, below: bool, same: bool) -> None:
    layout = Layout.parse(text)
    assert layout.is_below_window(dim) == below
    assert layout.stores_lengths(dim) == same
