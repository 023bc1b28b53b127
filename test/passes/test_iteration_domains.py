"""Iteration domains of chains, and their normal form: hand-written chains, and the properties that make it one."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.structures import LAYOUTS, drawn

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import Layout
from ragged_dialect.passes.analysis.iteration_domains import Chain, Cutter, Digits, Joined, RootDim, Step, halves, join
from ragged_dialect.passes.analysis.normal_form import normal_form
from ragged_dialect.shape import RaggedShape

X, Y = RootDim(0), RootDim(1)


def shape(layout: str, *extents: int | None) -> RaggedShape:
    return RaggedShape(Layout.of_axes(layout.split("|")), extents)


def merge(dim: int) -> Step:
    return Step(dim, None)


def split(dim: int, factor: int) -> Step:
    return Step(dim, factor)


def partition(dim: int, vector: int, rank: int = 1) -> Step:
    return Step(dim, Cutter(vector, False, rank, None, None))


def normal(root: RaggedShape, *steps: Step) -> tuple[Step, ...]:
    found = normal_form(root, steps)
    assert found is not None
    return found.steps


def domains(root: RaggedShape, *steps: Step) -> tuple[object, ...]:
    state = Chain.of_root(root)
    for step in steps:
        state = state.after(step)
    return state.domains


def test_domains_with_equal_fields_are_one() -> None:
    assert Digits(X, 1, 4) is Digits(RootDim(0), 1, 4)
    assert Digits(X, 1, 4) is not Digits(X, 1, 2)
    assert Joined((X, Y)) is not Joined((Y, X))


def test_digits_join_again() -> None:
    outer, inner = halves(X, 4)
    high, low = halves(inner, 2)
    assert (outer, high, low) == (Digits(X, 4, None), Digits(X, 2, 4), Digits(X, 1, 2))
    assert join([outer, high, low]) is X
    assert join([high, low]) is inner
    assert join([low, high]) is Joined((low, high))


def test_factor_that_does_not_divide_a_tile() -> None:
    """Tiles of 3 in a tile of 4 are no digits of the whole."""
    tile = Digits(X, 1, 4)
    assert halves(tile, 3) == (Digits(tile, 3, None), Digits(tile, 1, 3))
    assert join(halves(tile, 3)) is tile


def test_tiles_of_a_root_are_digits() -> None:
    assert domains(shape("drtt", 2, None, 4, 2)) == (X, Digits(Y, 8, None), Digits(Y, 2, 8), Digits(Y, 1, 2))


def test_partition_and_merge_cancel_across_other_dims() -> None:
    root = shape("drr|d", None, None, None, 2)
    assert normal(root, partition(1, 0, rank=2), merge(3), merge(1), merge(0)) == normal(root, merge(2), merge(0))
    assert normal(root, partition(1, 0, rank=2), merge(0), merge(0)) == (merge(0),)


def test_partition_of_a_batch_dim_stays_while_its_parent_is_there() -> None:
    """Merged again, the rows have lengths: `ddr` has become `drr`. With the parent they are the dim."""
    root = shape("ddr", None, None, None)
    chain = (partition(1, 0, rank=2), merge(1))
    assert normal(root, *chain) == chain
    assert normal(root, *chain, merge(0)) == (merge(0),)


def test_rows_of_a_vector_follow_its_levels() -> None:
    """A vector of rank 2 has a row for every outer index, merged or not."""
    root = shape("ddr", 2, 3, None)
    assert normal(root, merge(0), partition(1, 0, rank=2)) == (partition(2, 0, rank=2), merge(0))


def test_split_of_merged_batch_dims() -> None:
    root = shape("ddr", None, 6, None)
    assert normal(root, merge(0), split(0, 6)) == ()
    assert normal(root, merge(0), split(0, 3)) == normal(root, split(1, 3), merge(0))
    assert normal(root, merge(0), split(0, 12)) == normal(root, split(0, 2), merge(1))


def test_split_of_merged_batch_dims_of_unknown_extent() -> None:
    """3 divides their product, and perhaps none of them."""
    root, chain = shape("ddr", None, None, None), (merge(0), split(0, 3))
    assert normal(root, *chain) == chain
    assert domains(root, *chain)[:2] == (Digits(Joined((X, Y)), 3, None), Digits(Joined((X, Y)), 1, 3))


def test_split_of_merged_plain_dims_stays() -> None:
    """A split of a plain dim has a tile that may have holes; two plain dims have none."""
    root, chain = shape("d|d", 4, 3), (merge(0), split(0, 3))
    assert normal(root, *chain) == chain


def test_splits_by_one() -> None:
    root = shape("dr", None, None)
    assert normal(root, split(1, 1), split(1, 1), merge(2)) == (split(1, 1),)
    assert normal(root, split(1, 2), split(1, 1), merge(1)) == (split(1, 2),)


def test_tiles_keep_a_static_extent() -> None:
    """Either way is two ops; merged first, nobody would know that there is one tile."""
    assert normal(shape("dt", 1, 3), merge(0), split(0, 12)) == (split(0, 4), merge(1))
    assert normal(shape("dt", None, 3), split(0, 4), merge(1)) == (merge(0), split(0, 12))


def test_chain_that_the_root_refuses() -> None:
    """A cast in between may have forgotten that the extent is 6."""
    assert normal_form(shape("dr", 6, None), (split(0, 4),)) is None


def test_chain_of_which_the_normal_form_is_refused() -> None:
    """The partition forgets the extent; without it the split is seen not to divide."""
    assert normal_form(shape("dr", 1, None), (partition(0, 0), merge(0), split(0, 2))) is None


CHAIN = st.tuples(st.sampled_from(["merge", "merge", "split", "partition"]), st.integers(0, 9), st.integers(1, 4))


@st.composite
def chains(draw: st.DrawFn, most: int = 8) -> tuple[RaggedShape, tuple[Step, ...]]:
    """A root and a chain of ops that are legal on it, some partitions by one vector. Batch dims are
    dynamic, or a split that never divides could become one that is refused."""
    pick = drawn(draw)
    layout = Layout.parse(LAYOUTS[pick(0, len(LAYOUTS) - 1)])
    static = [letter == "t" or (layout.is_plain(dim) and pick(0, 1)) for dim, letter in enumerate(layout.letters)]
    root = RaggedShape(layout, tuple(pick(1, 6) if known else None for known in static))
    state, steps = Chain.of_root(root), list[Step]()
    for name, dim, number in draw(st.lists(CHAIN, max_size=most)):
        dim %= state.shape.rank
        step = {
            "merge": merge(dim),
            "split": split(dim, number),
            "partition": partition(dim, number, rank=1 if state.shape.layout.locate(dim)[1] == 0 else 2),
        }[name]
        try:
            state = state.after(step)
        except LayoutError:
            continue
        steps.append(step)
    return root, tuple(steps)


@settings(max_examples=300)
@given(chains())
def test_normal_form(chain: tuple[RaggedShape, tuple[Step, ...]]) -> None:
    """It ends with the domains and the layout of the chain, is not longer, and is its own normal form
    from the first op to the last. Hypothesis complains if there is often none."""
    root, steps = chain
    found = normal_form(root, steps)
    assume(found is not None)
    assert found is not None
    assert len(found.steps) <= len(steps)
    start = Chain.of_root(root)
    end = old = start
    for step in steps:
        old = old.after(step)
    for count, step in enumerate(found.steps, 1):
        end = end.after(step)
        assert normal(root, *found.steps[:count]) == found.steps[:count]
    assert (end.domains, end.shape.layout) == (old.domains, old.shape.layout)
    assert found.shape == old.shape


@settings(max_examples=300)
@given(chains(), st.integers(0, 8))
def test_normal_form_of_a_chain_with_a_normal_start(chain: tuple[RaggedShape, tuple[Step, ...]], count: int) -> None:
    """Whichever part of a chain is put in order first, the whole ends in one order."""
    root, steps = chain
    first, whole = normal_form(root, steps[:count]), normal_form(root, steps)
    assume(first is not None and whole is not None)
    assert first is not None
    assert whole is not None
    assert normal(root, *first.steps, *steps[count:]) == whole.steps


@pytest.mark.parametrize("vectors", [(0, 1), (1, 0)])
def test_partitions_of_two_axes(vectors: tuple[int, int]) -> None:
    """The lower dim first, whatever the numbers of the vectors."""
    root, (u, v) = shape("d|d", None, None), vectors
    assert normal(root, partition(1, v), partition(0, u)) == (partition(0, u), partition(2, v))
