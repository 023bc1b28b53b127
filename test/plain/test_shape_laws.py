"""Laws of the structure ops on shapes, wherever they apply, on shapes of any layout."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.shapes import Op, partition, reduce, select, shapes, slice_, split

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.shape import RaggedShape


def forget(shape: RaggedShape, dim: int) -> RaggedShape:
    """The shape with the extent of a dim not known."""
    return RaggedShape(shape.layout, (*shape.shape[:dim], None, *shape.shape[dim + 1 :]))


def tried(op: Op, shape: RaggedShape) -> RaggedShape | None:
    """The result of an op, None where it is refused; a refusal says what was expected."""
    try:
        return op(shape)
    except LayoutError as error:
        message = str(error)
    assert message.startswith("expected ")
    assert ", got " in message
    return None


class TestLaws:
    """Laws that hold on every shape where the ops apply."""

    @given(shapes(), st.integers(0, 11), st.one_of(st.none(), st.integers(0, 5)))
    def test_merge_undoes_a_flat_partition(self, shape: RaggedShape, dim: int, count: int | None) -> None:
        made = tried(partition(dim, 1, count), shape)
        if made is not None:
            assert made.shape[dim] == count
            assert made.merge(dim) == forget(shape, dim)

    @given(shapes(), st.integers(0, 11), st.integers(0, 5))
    def test_merge_undoes_a_partition_of_a_ragged_level(self, shape: RaggedShape, dim: int, count: int) -> None:
        made = tried(partition(dim, 2, count), shape)
        if made is not None and shape.layout.letter(dim) == "r":
            assert made.merge(dim) == shape

    @given(shapes(), st.integers(0, 11), st.integers(1, 4))
    def test_merge_undoes_split(self, shape: RaggedShape, dim: int, factor: int) -> None:
        made = tried(split(dim, factor), shape)
        if made is not None:
            merged = made.merge(dim)
            assert merged.layout == shape.layout
            assert forget(merged, dim) == forget(shape, dim) if shape.layout.letter(dim) != "t" else merged == shape

    @given(shapes(), st.integers(0, 11), st.integers(1, 3), st.integers(1, 3))
    def test_splits_compose(self, shape: RaggedShape, dim: int, first: int, second: int) -> None:
        """By f*g, then the tile by g, is by g, then the outer by f."""
        if dim < shape.rank and shape.layout.letter(dim) in "rwd" and not shape.layout.is_batch(dim):
            twice = tried(lambda s: s.split(dim, first * second).split(dim + 1, second), shape)
            assert twice == tried(lambda s: s.split(dim, second).split(dim, first), shape)

    @given(shapes(), st.integers(0, 11))
    def test_select_drops_one_dim(self, shape: RaggedShape, dim: int) -> None:
        made = tried(select(dim), shape)
        if made is not None:
            assert made.shape == (*shape.shape[:dim], *shape.shape[dim + 1 :])

    @given(shapes(), st.integers(0, 11))
    def test_slice_keeps_rank_and_other_extents(self, shape: RaggedShape, dim: int) -> None:
        made = tried(slice_(dim), shape)
        if made is not None:
            assert forget(made, dim) == RaggedShape(made.layout, forget(shape, dim).shape)
            assert made.layout.letters.replace("w", "r") == shape.layout.letters.replace("w", "r")

    @given(shapes(), st.sets(st.integers(0, 11)))
    def test_reduce_drops_exactly_the_dims(self, shape: RaggedShape, dims: set[int]) -> None:
        made = tried(reduce(*dims), shape)
        if made is not None:
            assert made.shape == tuple(e for dim, e in enumerate(shape.shape) if dim not in dims)

    @given(shapes())
    def test_reducing_all_leaves_a_scalar(self, shape: RaggedShape) -> None:
        assert shape.reduce(frozenset(range(shape.rank))) == RaggedShape(Layout(()), ())

    @given(shapes(), st.data())
    def test_results_are_in_the_grammar(self, shape: RaggedShape, data: st.DataObject) -> None:
        dim = st.integers(-1, shape.rank)
        op = data.draw(
            st.one_of(
                st.builds(partition, dim, st.integers(0, 3), st.integers(0, 3)),
                st.builds(split, dim, st.integers(0, 4)),
                st.builds(select, dim),
                st.builds(slice_, dim),
                st.builds(lambda dim: lambda s: s.merge(dim), dim),
            )
        )
        made = tried(op, shape)
        if made is not None:
            assert made.layout.is_dense or Layout.parse(str(made.layout)) == made.layout
