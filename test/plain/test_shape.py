"""Shapes: extents against letters, the 1:N form, and what each structure op makes of a shape."""

from __future__ import annotations

import pytest
from hypothesis import given
from support.shapes import Op, compact, partition, reduce, select, shapes, slice_, split

from conftest import make_shape as S
from ragged_dialect.errors import LayoutError
from ragged_dialect.shape import Part, RaggedShape


class TestExtents:
    """What the letters ask of the extents."""

    @pytest.mark.parametrize(
        ("layout", "extents", "message"),
        [
            ("dr|d", "3x?", 'expected 2 letters in layout "dr|d" for a tensor of rank 2, got 3'),
            ("dr", "3x?x4", 'expected 3 letters in layout "dr" for a tensor of rank 3, got 2'),
            ("dr", "3x5", 'expected extent ? on ragged dim 1 of layout "dr", got 5'),
            ("dw|d", "3x5x2", 'expected extent ? on ragged dim 1 of layout "dw|d", got 5'),
            ("drt", "3x?x?", 'expected a static extent on tile dim 2 of layout "drt", got ?'),
            ("dr", f"{2**63}x?", f"expected an extent below 2**63 on dim 0, got {2**63}"),
            ("dt", "2x0", 'expected an extent of at least 1 on tile dim 1 of layout "dt", got 0'),
        ],
    )
    def test_refused(self, layout: str, extents: str, message: str) -> None:
        with pytest.raises(LayoutError) as error:
            S(layout, extents)
        assert str(error.value) == message

    def test_print(self) -> None:
        assert str(S("dr|d", "3x?x512")) == '3x?x512, "dr|d"'
        assert str(S("d|d", "3x?")) == "3x?"


class TestParts:
    """The 1:N form: values, vectors in letter order, extents that no vector's size gives."""

    @pytest.mark.parametrize(
        ("layout", "extents", "parts"),
        [
            ("dr|d", "3x?x512", "values0 offsets1"),
            ("dr|d", "?x?x?", "values0 offsets1"),
            ("ddr|d", "3x2x?x8", "values0 offsets2"),
            ("ddr|d", "?x2x?x8", "values0 offsets2 extent0"),
            ("ddr|d", "?x?x?x?", "values0 offsets2 extent0 extent1"),
            ("drr|d", "?x?x?x?", "values0 offsets1 offsets2"),
            ("drdr", "?x?x?x?", "values0 offsets1 offsets3 extent2"),
            ("dr|dr|d", "?x?x?x?x?", "values0 offsets1 offsets3"),
            ("dw", "?x?", "values0 starts1 lengths1"),
            ("drw", "?x?x?", "values0 offsets1 starts2 lengths2"),
            ("dwr", "?x?x?", "values0 starts1 lengths1 offsets2"),
            ("drt|d", "3x?x16x512", "values0 offsets1"),
            ("dt", "2x4", "values0"),
            ("dt", "?x4", "values0 extent0"),
            ("d|dr", "?x3x?", "values0 offsets2"),
        ],
    )
    def test_parts(self, layout: str, extents: str, parts: str) -> None:
        expected = [Part(word.rstrip("0123456789"), int(word[-1])) for word in parts.split()]
        assert S(layout, extents).parts() == expected

    @given(shapes())
    def test_counts(self, shape: RaggedShape) -> None:
        letters = shape.layout.letters
        vectors = letters.count("r") + 2 * letters.count("w")
        extents = 0
        for axis, levels in enumerate(shape.layout.axes):
            first = shape.layout.dims(axis)[0]
            free = [first + at for at, c in enumerate(levels) if c == "d" and shape.shape[first + at] is None]
            given_by_vector = levels[:2] in ("dr", "dw")
            extents += 0 if levels == "d" else sum(dim != first or not given_by_vector for dim in free)
        assert len(shape.parts()) == 1 + vectors + extents

    @given(shapes())
    def test_storage_shape(self, shape: RaggedShape) -> None:
        storage = shape.storage_shape()
        assert len(storage) == shape.layout.storage_rank
        for axis, letters in enumerate(shape.layout.axes):
            extent = shape.shape[shape.layout.dims(axis)[0]]
            assert storage[axis] == (extent if letters == "d" else None)


class TestHelpers:
    """Factors and counts of outer index tuples."""

    def test_factor(self) -> None:
        shape = S("drtt|d", "3x?x4x2x8")
        assert [shape.factor(dim) for dim in (1, 2, 3)] == [8, 2, 1]

    def test_lead(self) -> None:
        assert S("dddr", "3x2x5x?").lead(2) == 6
        assert S("dddr", "3x2x5x?").lead(0) == 1
        assert S("ddr", "?x2x?").lead(1) is None


ACCEPTED = [
    # a plain dim, the leading dim of an axis (list of lists), rows of a ragged dim, of a batch dim, of a plain dim
    (partition(0, 1, 3), "d|d", "325x512", "dr|d", "3x?x512"),
    (partition(0, 1, None), "d", "?", "dr", "?x?"),
    (partition(1, 1, 2), "d|d", "4x6", "d|dr", "4x2x?"),
    (partition(0, 1, 2), "dr|d", "8x?x4", "drr|d", "2x?x?x4"),
    (partition(0, 1, 2), "ddr", "6x2x?", "drdr", "2x?x2x?"),
    (partition(1, 2, 2), "dr|d", "3x?x512", "ddr|d", "3x2x?x512"),
    (partition(1, 2, 2), "drr", "3x?x?", "ddrr", "3x2x?x?"),
    (partition(2, 2, 4), "drr", "3x?x?", "drdr", "3x?x4x?"),
    (partition(1, 2, 2), "dw|d", "3x?x8", "ddw|d", "3x2x?x8"),
    (partition(1, 2, 2), "ddr", "3x5x?", "ddrr", "3x2x?x?"),
    (partition(1, 2, 4), "d|d|d", "2x100x512", "ddr|d", "2x4x?x512"),
    # split
    (split(1, 16), "dr|d", "3x?x512", "drt|d", "3x?x16x512"),
    (split(1, 2), "dw", "3x?", "dwt", "3x?x2"),
    (split(0, 4), "d", "6", "dt", "2x4"),
    (split(0, 3), "d", "6", "dt", "2x3"),
    (split(1, 4), "d|d", "?x?", "d|dt", "?x?x4"),
    (split(0, 2), "dr", "4x?", "ddr", "2x2x?"),
    (split(0, 2), "dr", "?x?", "ddr", "?x2x?"),
    (split(2, 2), "drdr", "3x?x4x?", "drddr", "3x?x2x2x?"),
    (split(2, 4), "drt", "3x?x8", "drtt", "3x?x2x4"),
    (split(1, 3), "drt", "3x?x8", "drtt", "3x?x3x8"),
    (split(0, 2), "dt", "3x4", "dtt", "2x2x4"),
    # select
    (select(0), "dr|d", "3x?x4", "d|d", "?x4"),
    (select(0), "drr", "3x?x?", "dr", "?x?"),
    (select(0), "ddr", "3x2x?", "dr", "2x?"),
    (select(0), "drdr", "3x?x2x?", "ddr", "?x2x?"),
    (select(1), "ddr", "3x2x?", "dw", "3x?"),
    (select(1), "dddr", "3x2x5x?", "ddw", "3x5x?"),
    (select(1), "drr", "3x?x?", "dw", "3x?"),
    (select(1), "drdr", "3x?x2x?", "ddw", "3x2x?"),
    (select(1), "dr|d", "3x?x4", "d|d", "3x4"),
    (select(2), "ddr", "3x2x?", "d|d", "3x2"),
    (select(2), "drr", "3x?x?", "dr", "3x?"),
    (select(2), "dr|d", "3x?x4", "dr", "3x?"),
    (select(0), "d|dr", "7x3x?", "dr", "3x?"),
    # slice
    (slice_(0, 2), "dr|d", "3x?x4", "dr|d", "2x?x4"),
    (slice_(1), "dr|d", "3x?x4", "dw|d", "3x?x4"),
    (slice_(1), "drr", "3x?x?", "dwr", "3x?x?"),
    (slice_(2), "drr", "3x?x?", "drw", "3x?x?"),
    (slice_(1, 1), "ddr", "3x2x?", "ddw", "3x1x?"),
    (slice_(2, 3), "dr|d", "3x?x4", "dr|d", "3x?x3"),
    (slice_(0), "drt", "3x?x4", "drt", "?x?x4"),
    # reduce
    (reduce(1), "dr|d", "3x?x4", "d|d", "3x4"),
    (reduce(2), "dr|d", "3x?x4", "dr", "3x?"),
    (reduce(0, 1), "dr|d", "3x?x4", "d", "4"),
    (reduce(2), "drr", "3x?x?", "dr", "3x?"),
    (reduce(1, 2), "drr", "3x?x?", "d", "3"),
    (reduce(2), "ddr", "3x2x?", "d|d", "3x2"),
    (reduce(1), "drt", "3x?x4", "d|d", "3x4"),
    (reduce(2), "drt", "3x?x4", "dr", "3x?"),
    (reduce(0, 1), "drt|d", "3x?x4x8", "d|d", "4x8"),
    (reduce(1), "dr|dr", "3x?x2x?", "d|dr", "3x2x?"),
    # windows
    (compact, "dw|d", "3x?x4", "dr|d", "3x?x4"),
    (compact, "drw", "3x?x?", "drr", "3x?x?"),
]


@pytest.mark.parametrize(("op", "layout", "extents", "new_layout", "new_extents"), ACCEPTED)
def test_structure_op(op: Op, layout: str, extents: str, new_layout: str, new_extents: str) -> None:
    assert op(S(layout, extents)) == S(new_layout, new_extents)


SPLIT_DIM = 'expected dim {} of layout "{}" without tiles, got a split dim (merge it first)'
TILED_AXIS = 'expected dim {} of layout "{}" in an axis without tiles, got a tiled axis (merge it first)'
ACROSS = 'expected every level of axis "{}" below dim {} to be reduced too, got dim {} kept (use ragged.reduce_across)'

REFUSED = [
    (partition(1, 1, 2), "ddr", "3x2x?", "expected offsets of rank 2 for batch dim 1, got rank 1"),
    (partition(1, 1, 2), "dr", "3x?", "expected offsets of rank 2 for ragged dim 1, got rank 1"),
    (partition(1, 1, 2), "dw", "3x?", "expected offsets of rank 2 for ragged dim 1, got rank 1"),
    (partition(0, 2, 2), "d|d", "3x4", "expected offsets of rank 1 for dense dim 0, got rank 2"),
    (partition(0, 2, 2), "dr", "3x?", "expected offsets of rank 1 for dense dim 0, got rank 2"),
    (partition(2, 2, 2), "dr|d", "3x?x4", "expected offsets of rank 1 for dense dim 2, got rank 2"),
    (partition(0, 3, 2), "d", "3", "expected offsets of rank 1 or 2, got rank 3"),
    (partition(1, 3, 2), "dr", "3x?", "expected offsets of rank 1 or 2, got rank 3"),
    (partition(1, 2, 2), "drt", "3x?x4", SPLIT_DIM.format(1, "drt")),
    (partition(2, 2, 2), "drt", "3x?x4", SPLIT_DIM.format(2, "drt")),
    (partition(0, 1, 2), "dt", "3x4", SPLIT_DIM.format(0, "dt")),
    (partition(2, 1, 2), "dr", "3x?", "expected dim in [0, 2), got 2"),
    (split(0, 0), "d", "6", "expected a factor of at least 1, got 0"),
    (split(0, -2), "d", "6", "expected a factor of at least 1, got -2"),
    (split(0, 2), "dr", "3x?", "expected a factor that divides batch extent 3, got 2 (use partition)"),
    (split(2, 3), "drt", "3x?x8", "expected a factor that divides tile extent 8, got 3"),
    (
        split(1, 2),
        "drr",
        "3x?x?",
        'expected a level without ragged levels below it, got dim 1 of layout "drr" (partition it instead)',
    ),
    (
        split(1, 2),
        "drdr",
        "3x?x2x?",
        'expected a level without ragged levels below it, got dim 1 of layout "drdr" (partition it instead)',
    ),
    (split(-1, 2), "d", "6", "expected dim in [0, 1), got -1"),
    (select(0), "drt", "3x?x4", TILED_AXIS.format(0, "drt")),
    (select(1), "dt", "3x4", TILED_AXIS.format(1, "dt")),
    (select(2), "dr", "3x?", "expected dim in [0, 2), got 2"),
    (slice_(1), "drt", "3x?x4", SPLIT_DIM.format(1, "drt")),
    (slice_(2), "drt", "3x?x4", SPLIT_DIM.format(2, "drt")),
    (compact, "dr", "3x?", 'expected a layout with a window, got "dr"'),
    (reduce(0), "dr", "3x?", ACROSS.format("dr", 0, 1)),
    (reduce(1), "drr", "3x?x?", ACROSS.format("drr", 1, 2)),
    (reduce(0), "ddr", "3x2x?", ACROSS.format("ddr", 0, 2)),
    (reduce(1), "drdr", "3x?x2x?", ACROSS.format("drdr", 1, 2)),
    (reduce(1, 3), "drdr", "3x?x2x?", ACROSS.format("drdr", 1, 2)),
    (reduce(0, 2), "drt", "3x?x4", ACROSS.format("drt", 0, 1)),
    (
        reduce(2),
        "drtt",
        "3x?x2x4",
        'expected every tile of axis "drtt" below dim 2 to be reduced too, got dim 3 kept',
    ),
]


@pytest.mark.parametrize(("op", "layout", "extents", "message"), REFUSED)
def test_structure_op_refused(op: Op, layout: str, extents: str, message: str) -> None:
    with pytest.raises(LayoutError) as error:
        op(S(layout, extents))
    assert str(error.value) == message


class TestConcat:
    """Concatenation of tensors that agree but for the extent of the dim."""

    def test_extents_add_up(self) -> None:
        assert S("dr|d", "3x?x4").concat([S("dr|d", "2x?x4")], 0) == S("dr|d", "5x?x4")
        assert S("dr|d", "3x?x4").concat([S("dr|d", "?x?x4")], 0) == S("dr|d", "?x?x4")
        assert S("dr|d", "3x?x4").concat([S("dr|d", "3x?x5")], 2) == S("dr|d", "3x?x9")

    def test_static_extents_win(self) -> None:
        assert S("dr|d", "?x?x4").concat([S("dr|d", "3x?x?")], 1) == S("dr|d", "3x?x4")

    def test_windows_become_contiguous(self) -> None:
        assert S("dw", "3x?").concat([S("dr", "3x?")], 1) == S("dr", "3x?")

    @pytest.mark.parametrize(
        ("first", "other", "dim", "message"),
        [
            (("dr", "3x?"), ("dr|d", "3x?x4"), 0, 'expected operands of layout "dr", got "dr|d"'),
            (("dr|d", "3x?x4"), ("dr|d", "3x?x5"), 1, "expected equal extents on dim 2, got 4 and 5"),
            (("dt", "3x4"), ("dt", "3x4"), 0, 'expected operands without tiles, got layout "dt" (merge it first)'),
            (("dr", "3x?"), ("dr", "3x?"), 2, "expected dim in [0, 2), got 2"),
        ],
    )
    def test_refused(self, first: tuple[str, str], other: tuple[str, str], dim: int, message: str) -> None:
        with pytest.raises(LayoutError) as error:
            S(*first).concat([S(*other)], dim)
        assert str(error.value) == message
