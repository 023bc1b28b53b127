"""Merge rules: each with the shape it yields, each refusal with its text, and the rule table whole."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.shapes import shapes

from conftest import make_shape as S
from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.merging import merge_rule
from ragged_dialect.shape import RaggedShape

RULES = [
    ("batch", 0, "ddr", "3x2x?", "dr", "6x?"),
    ("batch", 0, "ddr", "?x2x?", "dr", "?x?"),
    ("batch", 0, "ddrt|d", "3x2x?x4x5", "drt|d", "6x?x4x5"),
    ("batch", 1, "dddr", "3x2x5x?", "ddr", "3x10x?"),
    ("batch", 2, "drddr", "3x?x2x5x?", "drdr", "3x?x10x?"),
    ("plain", 0, "d|d", "3x4", "d", "12"),
    ("plain", 0, "d|d|dr", "3x?x2x?", "d|dr", "?x2x?"),
    ("plain", 2, "dr|d|d", "3x?x4x5", "dr|d", "3x?x20"),
    ("components", 0, "dr|d", "3x?x512", "d|d", "?x512"),
    ("components", 0, "drr", "3x?x?", "dr", "?x?"),
    ("components", 0, "drdr", "3x?x2x?", "ddr", "?x2x?"),
    ("components", 0, "drw", "3x?x?", "dw", "?x?"),
    ("rows", 1, "ddr|d", "3x2x?x8", "dr|d", "3x?x8"),
    ("rows", 2, "drdr", "3x?x2x?", "drr", "3x?x?"),
    ("rows", 1, "ddrr", "3x2x?x?", "drr", "3x?x?"),
    ("rows", 2, "dwdr", "3x?x2x?", "dwr", "3x?x?"),
    ("levels", 1, "drr|d", "3x?x?x8", "dr|d", "3x?x8"),
    ("levels", 1, "dwr", "3x?x?", "dw", "3x?"),
    ("levels", 2, "drrr", "3x?x?x?", "drr", "3x?x?"),
    ("scale", 1, "drdr", "3x?x2x?", "drr", "3x?x?"),
    ("scale", 1, "dwdr", "3x?x2x?", "dwr", "3x?x?"),
    ("scale", 1, "drdw", "3x?x2x?", "drw", "3x?x?"),
    ("features", 1, "dr|d", "3x?x4", "dr", "3x?"),
    ("features", 1, "dw|d", "3x?x4", "dw", "3x?"),
    ("features", 1, "dr|d|d", "3x?x4x5", "dr|d", "3x?x5"),
    ("features", 2, "drr|d", "3x?x?x4", "drr", "3x?x?"),
    ("untile", 1, "drt|d", "3x?x16x512", "dr|d", "3x?x512"),
    ("untile", 1, "dwt", "3x?x2", "dw", "3x?"),
    ("untile", 0, "dt", "2x4", "d", "?"),
    ("untile", 0, "dtt", "2x2x4", "dt", "?x4"),
    ("untile", 1, "drtt", "3x?x2x4", "drt", "3x?x4"),
    ("tiles", 2, "drtt", "3x?x2x4", "drt", "3x?x8"),
    ("tiles", 1, "dtt", "2x2x4", "dt", "2x8"),
    ("tile_parts", 0, "d|dt", "2x2x4", "dr", "4x?"),
    ("tile_parts", 0, "d|dt", "?x2x4", "dr", "?x?"),
    ("tile_parts", 0, "d|dtt", "2x2x3x4", "drt", "4x?x4"),
    ("tile_parts", 0, "drt|d", "3x?x16x8", "dr|d", "?x?x8"),
    ("tile_parts", 0, "drtt", "3x?x2x4", "drt", "?x?x4"),
    ("tile_parts", 1, "ddrt", "3x2x?x4", "drr", "3x?x?"),
    ("tile_parts", 1, "drrt", "3x?x?x4", "drr", "3x?x?"),
    ("tile_parts", 1, "dwrt", "3x?x?x4", "dwr", "3x?x?"),
    ("tile_parts", 1, "d|d|dt", "7x2x2x4", "d|dr", "7x4x?"),
]

COMPACT = 'expected contiguous components to merge, got window dim {} of layout "{}" (use ragged.compact)'
APART = "expected dims that merge, got '{}' and '{}' of different axes at dims {} and {} of layout \"{}\""

REFUSED = [
    (0, "dw", "3x?", COMPACT.format(1, "dw")),
    (1, "ddw", "3x2x?", COMPACT.format(2, "ddw")),
    (1, "drw", "3x?x?", COMPACT.format(2, "drw")),
    (0, "dwt", "3x?x4", COMPACT.format(1, "dwt")),
    (0, "d|dr", "2x3x?", APART.format("d", "d", 0, 1, "d|dr")),
    (1, "dr|dr", "3x?x2x?", APART.format("r", "d", 1, 2, "dr|dr")),
    (2, "drt|d", "3x?x4x5", APART.format("t", "d", 2, 3, "drt|d")),
    (1, "dr|dt", "3x?x2x4", APART.format("r", "d", 1, 2, "dr|dt")),
    (1, "dt|d", "2x4x5", APART.format("t", "d", 1, 2, "dt|d")),
    (1, "dr", "3x?", "expected dim in [0, 1), got 1"),
    (-1, "dr", "3x?", "expected dim in [0, 1), got -1"),
    (0, "d", "3", "expected dim in [0, 0), got 0"),
]


@pytest.mark.parametrize(("rule", "dim", "layout", "extents", "new_layout", "new_extents"), RULES)
def test_rule(rule: str, dim: int, layout: str, extents: str, new_layout: str, new_extents: str) -> None:
    shape = S(layout, extents)
    assert merge_rule(shape, dim).name == rule
    assert shape.merge(dim) == S(new_layout, new_extents)


@pytest.mark.parametrize(("dim", "layout", "extents", "message"), REFUSED)
def test_refused(dim: int, layout: str, extents: str, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        S(layout, extents).merge(dim)
    assert str(error.value) == message


def named_pairs(layout: Layout, dim: int) -> str:
    """What the table of the module's docstring calls a pair, read off the text of the layout."""
    text = str(layout)
    place = [at for at, letter in enumerate(text) if letter != "|"][dim]
    first, rest = text[place], text[place + 1 :]
    barred, second = rest.startswith("|"), rest.lstrip("|")
    outer = second[1:2] == "t" and second[0] != "t"
    leading = place == 0 or text[place - 1] == "|"
    plain = leading and barred
    if barred:
        if outer and second[0] == "d":
            return "tile_parts" if plain else "refused"
        single = second[0] == "d" and second[1:2] in ("", "|")
        return ("plain" if plain else "features" if first in "rw" else "refused") if single else "refused"
    if second[0] == "t":
        return "tiles" if first == "t" else "untile"
    if second[0] == "w":
        return "refused"
    if outer:
        return "tile_parts"
    if second[0] == "d":
        return "batch" if first == "d" else "scale"
    return ("components" if leading else "rows") if first == "d" else "levels"


@given(shapes(), st.data())
def test_rules_follow_the_table(shape: RaggedShape, data: st.DataObject) -> None:
    if shape.rank < 2:
        return
    dim = data.draw(st.integers(0, shape.rank - 2))
    expected = named_pairs(shape.layout, dim)
    if expected == "refused":
        with pytest.raises(LayoutError):
            shape.merge(dim)
    else:
        assert merge_rule(shape, dim).name == expected
        assert shape.merge(dim).rank == shape.rank - 1


def test_every_rule_is_tested() -> None:
    from ragged_dialect import merging

    assert {rule for rule, *_ in RULES} == set(merging._RULES)


def test_merge_is_associative_where_both_orders_apply() -> None:
    """(a b) c and a (b c) of a list of lists, of a batch of batches, of ragged rows and features."""
    for layout, extents in [("drr", "3x?x?"), ("dddr", "3x2x5x?"), ("d|d|d", "3x4x5"), ("dr|d|d", "3x?x4x5")]:
        shape = S(layout, extents)
        first = shape.rank - 3
        assert shape.merge(first).merge(first) == shape.merge(first + 1).merge(first)


def test_the_seeds_of_the_two_schedules() -> None:
    """A 2x5 tensor: split then merge has 2*2 components of up to 4, merge then split 3 tiles of 4."""
    split_then_merge = S("d|d", "2x5").split(1, 4).merge(0)
    merge_then_split = S("d|d", "2x5").merge(0).split(0, 4)
    assert split_then_merge == S("dr", "4x?")
    assert merge_then_split == S("dt", "3x4")
