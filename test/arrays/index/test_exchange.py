"""Arrays exchanged between ranks that are threads: the seed's example, gradients, and experts spread over ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ragged_dialect as rg
from ragged_dialect.ranks import Group

LENGTHS = np.array([[30, 0, 40, 30], [25, 35, 25, 15]])
"""Tokens of each of two ranks for four experts: section 6.4 of the seed."""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("owned", [(2, 2), (3, 1), (0, 4)])
def test_tokens_of_two_ranks_become_those_of_four_experts(owned: tuple[int, ...]) -> None:
    """[rank, expert, token] to [expert, token], two experts on a rank or another number."""

    @rg.jit
    def sent(tokens: Any, owned: Any) -> Any:
        return rg.all_to_all(rg.partition(tokens, owned, lengths=True))

    def work(group: Group) -> Any:
        tokens = 1000 * group.rank + np.arange(100)
        return sent(rg.from_lengths(tokens, LENGTHS[group.rank]), np.array(owned)).tolist()

    ends = np.cumsum(LENGTHS, axis=1)
    starts, bounds = ends - LENGTHS, np.cumsum([0, *owned])
    for rank, found in enumerate(rg.ranks.run(2, work)):
        assert found == [
            [
                list(range(1000 * source + starts[source, expert], 1000 * source + ends[source, expert]))
                for expert in range(bounds[rank], bounds[rank + 1])
            ]
            for source in range(2)
        ]
        lengths = [sum(len(of[expert]) for of in found) for expert in range(owned[rank])]
        assert lengths == [55, 35, 65, 45][bounds[rank] : bounds[rank + 1]]


def test_gradients_go_the_way_back() -> None:
    def work(group: Group) -> Any:
        mine = rg.ragged([[1.0 + group.rank] * (other + 1) for other in range(group.size)])

        def loss(x: Any) -> Any:
            y = rg.all_to_all(x * x)
            return (y * (10.0**group.rank)).sum()

        return rg.grad(loss)(mine).tolist()

    for rank, found in enumerate(rg.ranks.run(3, work)):
        assert found == [[2.0 * (1 + rank) * 10.0**other] * (other + 1) for other in range(3)]


def test_windows_are_made_contiguous() -> None:
    def work(group: Group) -> Any:
        return rg.all_to_all(rg.ragged([[group.rank, 5], [group.rank, 6, 7]])[:, 1:]).tolist()

    assert rg.ranks.run(2, work) == [[[5], [5]], [[6, 7], [6, 7]]]


TOKENS, HIDDEN, INNER, EXPERTS = 48, 6, 10, 8


def weights() -> list[Any]:
    rng = np.random.default_rng(0)
    sizes = [(TOKENS, HIDDEN), (HIDDEN, EXPERTS), *[(EXPERTS, HIDDEN, INNER)] * 2, (EXPERTS, INNER, HIDDEN)]
    return [rng.standard_normal(size) for size in sizes]


@rg.jit(static=["owned", "chunks"])
def layer(
    x: Any, router: Any, gate: Any, up: Any, down: Any, owned: tuple[int, ...] | None = None, chunks: int = 1
) -> Any:
    return rg.nn.moe(x, x @ router, gate, up, down, k=2, owned=owned, chunks=chunks)


CASES = [((8,), 1), ((5, 3), 1), ((3, 0, 5), 1), ((2, 2, 2, 2), 1), ((8,), 3), ((5, 3), 2), ((3, 0, 5), 4)]


@pytest.mark.slow
@pytest.mark.parametrize(("owned", "chunks"), CASES)
def test_experts_on_ranks_make_what_one_process_makes(owned: tuple[int, ...], chunks: int) -> None:
    x, *all_ = weights()
    size, ends = len(owned), np.cumsum([0, *owned])

    def loss(weights: Any, x: Any, owned: Any) -> Any:
        return (layer(x, *weights, owned=owned, chunks=chunks if owned else 1) ** 2.0).sum()

    def work(group: Group) -> Any:
        rank = group.rank
        own = [all_[0], *(weight[ends[rank] : ends[rank + 1]] for weight in all_[1:])]
        mine = x[TOKENS * rank // size : TOKENS * (rank + 1) // size]
        return layer(mine, *own, owned=owned, chunks=chunks), rg.grad(lambda weights: loss(weights, mine, owned))(own)

    results, gradients = zip(*rg.ranks.run(size, work), strict=True)
    np.testing.assert_array_equal(np.concatenate(results), layer(x, *all_))
    router, *experts = rg.grad(lambda weights: loss(weights, x, None))(all_)
    np.testing.assert_allclose(sum(own[0] for own in gradients), router, rtol=1e-10, atol=1e-10)
    for number, whole in enumerate(experts, 1):
        np.testing.assert_array_equal(np.concatenate([own[number] for own in gradients]), whole)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("owned", "chunks", "dtype", "gated"),
    [((1, 1), 1, "f4", False), ((1, 1), 1, "f8", True), ((1, 0, 2), 2, "f4", True)],
)
@pytest.mark.slow
def test_a_rank_with_one_expert_has_the_bits_of_one_process(
    owned: tuple[int, ...], chunks: int, dtype: str, gated: bool
) -> None:
    """Its extent is known to be 1; sums over many tokens are in the order that those of several experts have."""
    rng, experts, tokens, (hidden, inner) = np.random.default_rng(1), sum(owned), 1500, (21, 13)
    gates = [(experts, hidden, inner)] * (2 if gated else 1)
    sizes = [(tokens, hidden), (tokens, experts), *gates, (experts, inner, hidden)]
    all_ = [rng.standard_normal(size).astype(dtype) for size in sizes]

    def results(given: list[Any], owned: Any = None, chunks: int = 1) -> list[Any]:
        def apply(x: Any, scores: Any, *weights: Any) -> Any:
            return rg.nn.moe(x, scores, *[None][gated:], *weights, k=experts, owned=owned, chunks=chunks)

        def both(*given: Any) -> Any:
            return apply(*given), rg.grad(lambda given: (apply(*given) ** 2.0).sum())(given)

        result, gradients = rg.jit(both)(*given)
        return [result, *gradients]

    ends = np.cumsum([0, *owned])

    def work(group: Group) -> Any:
        low, high = (tokens * n // group.size for n in (group.rank, group.rank + 1))
        own = [weight[ends[group.rank] : ends[group.rank + 1]] for weight in all_[2:]]
        return results([all_[0][low:high], all_[1][low:high], *own], owned, chunks)

    found = zip(*rg.ranks.run(len(owned), work), strict=True)
    for parts, whole in zip(found, results(all_), strict=True):
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_experts_that_others_do_not_own() -> None:
    x, router, *experts = weights()

    def work(group: Group, owned: tuple[int, ...], own: int) -> Any:
        return layer(x, router, *(weight[:own] for weight in experts), owned=owned)

    cases = {
        (4, 3): "moe: scores, beside owned (4, 3): dim 1: expected extent 7, got 8",
        (5, 3): "moe: up: dim 0: expected extent 5, the experts of rank 0 by owned (5, 3), got 4",
        (2, 2, 4): "moe: expected owned of 2 ranks, got (2, 2, 4)",
        (9, -1): "moe: expected owned to have integers in [0, 2**31), one for each rank, got (9, -1)",
        (2**70, 4): f"moe: expected owned in [-2**63, 2**63), got {2**70}",
    }
    for owned, text in cases.items():
        with pytest.raises(rg.RaggedError) as caught:
            rg.ranks.run(2, lambda group, owned=owned: work(group, owned, 4))
        assert text in str(caught.value), str(caught.value)


CHUNKS: list[tuple[Any, Any, str]] = [
    (None, 2, "owned for chunks, got 2"),
    ((8,), 0, "chunks of at least 1, got 0"),
    ((8,), -1, "chunks of at least 1, got -1"),
    ((8,), True, "an integer for chunks, got bool"),
]


@pytest.mark.parametrize(("owned", "chunks", "text"), CHUNKS)
def test_chunks_that_are_none(owned: Any, chunks: Any, text: str) -> None:
    x, *all_ = weights()
    with pytest.raises(rg.ArgumentError, match=f"moe: expected {text}"):
        rg.nn.moe(x, x @ all_[0], *all_[1:], k=2, owned=owned, chunks=chunks)


@pytest.mark.slow
def test_no_more_chunks_than_experts() -> None:
    """Groups without an expert are code that takes long to compile."""
    x, router, *experts = weights()
    few = [x, router[:, :2], *(weight[:2] for weight in experts)]
    many, some = (layer.lower(*few, owned=(2,), chunks=chunks).stages["layouts"] for chunks in (50, 2))
    assert str(many) == str(some)


def test_owned_of_other_ranks_than_there_are() -> None:
    x, router, *experts = weights()
    with pytest.raises(rg.ArgumentError, match=r"moe: expected owned of 1 rank, got \(4, 4\)"):
        layer(x, router, *(weight[:4] for weight in experts), owned=(4, 4))


COUNTS = [127, 0, 198, 64, 412, 89, 103, 31]


def test_lengths_and_offsets_of_routing_decisions() -> None:
    places = rg.group_by(np.random.default_rng(0).permutation(np.repeat(np.arange(8), COUNTS)), 8)
    assert places.lengths.tolist() == COUNTS
    assert places.offsets.tolist() == [0, 127, 127, 325, 389, 801, 890, 993, 1024]


@pytest.mark.parametrize("owned", [(8,), (4, 4), (5, 3), (3, 3, 2), (2, 2, 2, 2)])
def test_decisions_of_all_ranks_are_those_of_one(owned: tuple[int, ...]) -> None:
    """Every expert gets the tokens that chose it, of all ranks, in their order."""
    decisions = np.random.default_rng(0).permutation(np.repeat(np.arange(8), COUNTS))
    size, ends = len(owned), np.cumsum([0, *owned])

    def work(group: Group) -> Any:
        low, high = (len(decisions) * n // size for n in (group.rank, group.rank + 1))
        places = rg.group_by(decisions[low:high], 8) + low
        received = rg.all_to_all(rg.partition(places, np.array(owned), lengths=True)).tolist()
        return [[token for source in received for token in source[expert]] for expert in range(owned[group.rank])]

    found = [expert for rank in rg.ranks.run(size, work) for expert in rank]
    assert list(map(len, found)) == COUNTS
    assert len(found) == ends[-1]
    assert found == [np.flatnonzero(decisions == expert).tolist() for expert in range(8)]


def test_what_has_no_ranks_is_refused() -> None:
    with pytest.raises(rg.LayoutError, match="all_to_all: expected an array with a dim of ranks, got a number"):
        rg.all_to_all(1.0)
    with pytest.raises(
        rg.ArgumentError, match="all_to_all: expected a leading extent of 1, the number of ranks, got 2"
    ):
        rg.all_to_all(np.ones((2, 3)))
    with pytest.raises(rg.ArgumentError, match="all_to_all: expected a dtype of bool, int8 to int64"):
        rg.all_to_all(np.ones((1, 3), np.uint8))
