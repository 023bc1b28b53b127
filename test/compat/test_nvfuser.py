"""nvFuser's domains: the examples of its documents, random domains against arrays, errors."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from support.ragged_domains import EXPERT_OFFSETS, GPU_OFFSETS, RANK_OFFSETS, ragged

import ragged_dialect as rg
from ragged_dialect.compat.nvfuser import (
    IterDomain,
    IterType,
    ParallelType,
    RaggedIterDomain,
    TensorDomain,
    as_flattened,
    as_nested,
)
from ragged_dialect.errors import ArgumentError, AxisError, LayoutError, RaggedError, RangeError, RuntimeCheckError

SEQUENCES = [3, 5, 2]
EXPERTS = [127, 0, 198]
PER_GPU = [[30, 0, 40, 30], [25, 35, 25, 15]]


def test_partition_of_tokens_by_expert_and_merge() -> None:
    token_dim = IterDomain(0, 325)
    expert_dim, tokens_per_expert = IterDomain.partition(token_dim, EXPERT_OFFSETS)
    assert expert_dim.extent == 3
    assert tokens_per_expert.extents == EXPERTS
    merged_dim = IterDomain.merge(expert_dim, tokens_per_expert)
    assert not isinstance(merged_dim, RaggedIterDomain)
    assert merged_dim.extent == 325


def test_merge_of_a_batch_that_is_made_by_hand() -> None:
    assert IterDomain.merge(IterDomain(0, 3), ragged(*EXPERTS)).extent == 325


def test_partition_within_ragged() -> None:
    expert_id, tokens_per_expert = IterDomain.partition(IterDomain(0, 325), EXPERT_OFFSETS)
    rank_id, nested = IterDomain.partition(tokens_per_expert, RANK_OFFSETS)
    assert rank_id.extent == 2
    assert nested.extents == [[50, 77], [0, 0], [100, 98]]
    assert all(isinstance(domain, RaggedIterDomain) for domain in nested.nested_domains)
    assert IterDomain.merge(rank_id, nested).extents == EXPERTS
    domain = TensorDomain([expert_id, rank_id, nested, IterDomain(0, 512)])
    assert domain.extents == [3, 2, [[50, 77], [0, 0], [100, 98]], 512]


def test_offsets_and_extents_of_components() -> None:
    domain = ragged(*SEQUENCES)
    assert domain.offsets == [0, 3, 8, 10]
    assert domain.extent == 10
    assert [domain.extent_for_component(at) for at in range(3)] == SEQUENCES
    assert [domain.offset_for_component(at) for at in range(3)] == [0, 3, 8]
    assert [d.extent for d in domain.nested_domains] == SEQUENCES


def test_split_of_ragged() -> None:
    outer, inner = IterDomain.split(ragged(*SEQUENCES), 2)
    assert outer.extents == [2, 3, 1]
    assert (inner.extent, type(inner)) == (2, IterDomain)


def test_merge_with_a_regular_domain() -> None:
    merged = IterDomain.merge(ragged(*SEQUENCES), IterDomain(0, 4))
    assert isinstance(merged, RaggedIterDomain)
    assert merged.extents == [12, 20, 8]


def test_parallelize_is_uniform() -> None:
    domain = ragged(*SEQUENCES)
    domain.parallelize(ParallelType.TIDx)
    assert domain.parallel_type is ParallelType.TIDx
    assert {d.parallel_type for d in domain.nested_domains} == {ParallelType.TIDx}
    _, nested = IterDomain.partition(ragged(*EXPERTS), RANK_OFFSETS)
    nested.parallelize(ParallelType.BIDx)
    assert {leaf.parallel_type for d in nested.nested_domains for leaf in d.nested_domains} == {ParallelType.BIDx}


def test_parts_inherit_the_uniform_properties() -> None:
    domain = IterDomain(0, 325, ParallelType.DIDx, IterType.Reduction, is_rfactor_domain=True)
    _, parts = IterDomain.partition(domain, EXPERT_OFFSETS)
    assert {d.uniform for d in parts.nested_domains} == {(ParallelType.DIDx, IterType.Reduction, 0, True)}


def test_select_gives_a_regular_domain() -> None:
    domain = TensorDomain([IterDomain(0, 3), ragged(*SEQUENCES), IterDomain(0, 4)])
    assert domain.select(0, 1).extents == [5, 4]
    x = np.arange(40).reshape(10, 4)
    nested = as_nested(x, [0, 3, 8, 10])
    np.testing.assert_array_equal(rg.select(nested, 1, axis=0), x[3:8])


def test_as_nested_and_as_flattened() -> None:
    tokens = np.arange(325 * 2).reshape(325, 2)
    nested = as_nested(tokens, EXPERT_OFFSETS, ragged_dim=0)
    assert TensorDomain.of(nested).extents == [3, EXPERTS, 2]
    np.testing.assert_array_equal(as_flattened(nested, batch_dim=0, ragged_dim=1), tokens)
    np.testing.assert_array_equal(as_nested(tokens, EXPERTS, extents=True).offsets, EXPERT_OFFSETS)


def test_as_nested_of_an_inner_dim() -> None:
    nested = as_nested(np.arange(20).reshape(2, 10), [0, 3, 8, 10], 1)
    assert nested.tolist() == [[[0, 1, 2], [3, 4, 5, 6, 7], [8, 9]], [[10, 11, 12], [13, 14, 15, 16, 17], [18, 19]]]


def test_dispatch_to_experts_on_other_gpus() -> None:
    """[gpu, expert, tokens]: merging gpu and tokens brings the tokens of an expert together."""
    tokens = np.arange(200 * 2).reshape(2, 100, 2)
    by_expert = as_nested(tokens, GPU_OFFSETS, 1)
    domain = TensorDomain.of(tokens).partition(1, GPU_OFFSETS)
    assert domain.extents == TensorDomain.of(by_expert).extents == [2, 4, PER_GPU, 2]
    merged, shuffled = domain.merge(0, 2), as_flattened(by_expert, 0, 2)
    assert merged.extents == TensorDomain.of(shuffled).extents == [4, [55, 35, 65, 45], 2]
    for expert, part in enumerate(shuffled.unbind()):
        rows = [tokens[gpu, slice(*GPU_OFFSETS[gpu, expert : expert + 2])] for gpu in range(2)]
        np.testing.assert_array_equal(part, np.concatenate(rows))
    split = rg.split(shuffled, axis=0, factor=2)
    assert merged.split(0, 2).extents == TensorDomain.of(split).extents == [2, 2, [[55, 35], [65, 45]], 2]


def test_merge_of_a_gpu_domain_that_stands_alone() -> None:
    _, tokens_per_expert = IterDomain.partition(IterDomain(0, 100), GPU_OFFSETS)
    assert tokens_per_expert.extents == PER_GPU
    assert IterDomain.merge(IterDomain(0, 2), tokens_per_expert).extents == [55, 35, 65, 45]


def test_independent_ragged_dims() -> None:
    tokens = [127, 0, 198, 64, 89, 103, 45, 201]
    gpu_id, ragged_experts = IterDomain.partition(IterDomain(0, 8), [0, 5, 8])
    expert_id, ragged_tokens = IterDomain.partition(IterDomain(0, 827), [0, *accumulate(tokens)])
    domain = TensorDomain([gpu_id, ragged_experts, expert_id, ragged_tokens, IterDomain(0, 512)])
    assert domain.extents == [2, [5, 3], 8, tokens, 512]
    x = as_nested(np.zeros((8, 827, 1), np.int8), tokens, 1, extents=True)
    assert TensorDomain.of(as_nested(x, [0, 5, 8], 0)).extents == [2, [5, 3], 8, tokens, 1]


def test_divisibility_of_splits() -> None:
    assert [d.extent for d in IterDomain.split(IterDomain(0, 6), 2)] == [3, 2]
    assert [d.extent for d in IterDomain.split(IterDomain(0, 6), 4)] == [2, 4]
    domain = TensorDomain([IterDomain(0, 2), IterDomain(0, 5)])
    assert domain.split(1, 4).merge(0).extents == [4, 4]
    assert domain.merge(0).split(0, 4).extents == [3, 4]
    divisible = TensorDomain([IterDomain(0, 2), IterDomain(0, 8)])
    assert divisible.split(1, 4).merge(0).extents == divisible.merge(0).split(0, 4).extents == [4, 4]


def rows_of_offsets(rng: np.random.Generator, extents: list[int], parts: int) -> np.ndarray[Any, Any]:
    return np.array([[0, *np.sort(rng.integers(0, n + 1, parts - 1)), n] for n in extents])


@pytest.mark.parametrize("seed", range(6))
def test_ops_on_domains_are_those_on_arrays(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(0, 6, 4)]
    x = rng.standard_normal((sum(lengths), 3))
    offsets = np.array([0, *accumulate(lengths)])
    nested, domain = as_nested(x, offsets), TensorDomain.of(x).partition(0, offsets)
    rows = rows_of_offsets(rng, lengths, 2)
    twice, parts = rg.partition(nested, rows, axis=1), domain.partition(1, rows)
    at = int(rng.integers(4))
    for array, made in (
        (nested, domain),
        (as_flattened(nested), domain.merge(0)),
        (rg.merge(nested, axis=1), domain.merge(1)),
        (rg.split(nested, axis=0, factor=2), domain.split(0, 2)),
        (rg.split(nested, axis=1, factor=2), domain.split(1, 2)),
        (rg.split(x, axis=0, factor=4), TensorDomain.of(x).split(0, 4)),
        (rg.select(nested, at, axis=0), domain.select(0, at)),
        (rg.select(nested, 1, axis=2), domain.select(2, 1)),
        (twice, parts),
        (rg.merge(twice, axis=0), parts.merge(0)),
        (as_flattened(twice, 1, 2), parts.merge(1)),
        (as_flattened(twice, 0, 2), parts.merge(0, 2)),
        (rg.select(twice, 1, axis=1), parts.select(1, 1)),
    ):
        assert TensorDomain.of(array).extents == made.extents


def test_no_components() -> None:
    batch, parts = IterDomain.partition(IterDomain(0, 0), [0])
    assert (batch.extent, parts.extents, parts.extent, parts.offsets) == (0, [], 0, [0])
    assert IterDomain.merge(batch, parts).extent == 0
    inner, nested = IterDomain.partition(parts, np.zeros((0, 3), np.int64))
    assert (inner.extent, nested.extents, IterDomain.merge(inner, nested).extents) == (2, [], [])
    parts.parallelize(ParallelType.TIDx)
    assert parts.parallel_type is ParallelType.TIDx


def test_merge_prefers_the_batch_that_partitioned() -> None:
    expert, parts = IterDomain.partition(IterDomain(0, 6), [0, 1, 6])
    rank, nested = IterDomain.partition(parts, [[0, 1, 1], [0, 2, 5]])
    assert IterDomain.merge(rank, nested).extents == [1, 5]
    assert IterDomain.merge(expert, nested).extents == IterDomain.merge(IterDomain(0, 2), nested).extents == [3, 3]


def test_text() -> None:
    domain = TensorDomain([IterDomain(0, 3), ragged(*SEQUENCES)])
    domain.parallelize(1, ParallelType.TIDx)
    assert str(domain) == "TensorDomain([IterDomain(3), RaggedIterDomain([3, 5, 2], TIDx)])"


def mapped(domain: IterDomain) -> IterDomain:
    domain.parallelize(ParallelType.TIDx)
    return domain


def tensor() -> TensorDomain:
    return TensorDomain([IterDomain(0, 3), ragged(*SEQUENCES), IterDomain(0, 4)])


ERRORS: list[tuple[Any, type[RaggedError], str]] = [
    (lambda: IterDomain(1, 3), ArgumentError, "IterDomain: expected start 0 and an extent of at least 0, got 1 and 3"),
    (lambda: IterDomain(0, -1), ArgumentError, "expected start 0 and an extent of at least 0, got 0 and -1"),
    (
        lambda: RaggedIterDomain([IterDomain(0, 1), mapped(IterDomain(0, 1))]),
        LayoutError,
        "RaggedIterDomain: expected components with equal properties, got different ones",
    ),
    (
        lambda: RaggedIterDomain([IterDomain(0, 1), ragged(1)]),
        LayoutError,
        "RaggedIterDomain: expected components of one nesting, got different ones",
    ),
    (lambda: ragged(1).component(1), RangeError, r"expected a component in \[0, 1\), got 1"),
    (lambda: ragged(1).offset_for_component(-1), RangeError, r"expected a component in \[0, 1\), got -1"),
    (lambda: IterDomain.partition(IterDomain(0, 5), [0, 4]), RuntimeCheckError, r"expected offsets\[1\] == 5, got 4"),
    (lambda: IterDomain.partition(ragged(2), [0, 2]), LayoutError, "partition: expected offsets of rank 2, got 1"),
    (
        lambda: IterDomain.partition(IterDomain(0, 2), 2),
        LayoutError,
        "partition: expected offsets of rank 1 or 2, got 0",
    ),
    (
        lambda: IterDomain.partition(ragged(2, 2), [[0, 2], [0, 1, 2]]),
        LayoutError,
        "partition: expected rows of offsets of one length, got several lengths",
    ),
    (
        lambda: IterDomain.partition(IterDomain(0, 2), np.zeros(0, int)),
        RuntimeCheckError,
        "expected at least 1 offset, got 0",
    ),
    (lambda: IterDomain.partition(IterDomain(0, 2), [0.0, 2.0]), ArgumentError, "expected integers"),
    (lambda: IterDomain.partition(ragged(2), [[0, 2]] * 2), LayoutError, "expected 1 rows of offsets, got 2"),
    (
        lambda: IterDomain.merge(ragged(1), ragged(1)),
        LayoutError,
        "merge: expected at most one ragged domain, got two",
    ),
    (
        lambda: IterDomain.merge(IterDomain(0, 2), ragged(*SEQUENCES)),
        LayoutError,
        "merge: expected a batch of 3 components, got 2",
    ),
    (
        lambda: IterDomain.merge(mapped(IterDomain(0, 2)), IterDomain(0, 2)),
        LayoutError,
        r"merge: expected serial domains, got TIDx \(merge before parallelize\)",
    ),
    (lambda: IterDomain.split(IterDomain(0, 2), 0), ArgumentError, "split: expected a factor of at least 1, got 0"),
    (lambda: TensorDomain([ragged(1)]), LayoutError, "expected batches of 1 components before ragged dim 0, got"),
    (
        lambda: TensorDomain([IterDomain(0, 2), ragged(1)]),
        LayoutError,
        "expected batches of 1 components before ragged dim 1, got others",
    ),
    (lambda: tensor()[3], AxisError, r"expected dim in \[-3, 3\), got 3"),
    (
        lambda: tensor().partition(0, [0, 3]),
        LayoutError,
        "partition: expected a dim without a ragged dim below it, got batch dim 0",
    ),
    (
        lambda: tensor().merge(0, 2),
        LayoutError,
        "merge: expected a dim and the next one, or a batch and its ragged dim, got 0 and 2",
    ),
    (lambda: tensor().split(0, 2), LayoutError, "split: expected a factor that divides batch extent 3, got 2"),
    (lambda: tensor().select(0, 3), RangeError, r"select: expected an index in \[0, 3\), got 3"),
    (lambda: tensor().select(1, 2), RangeError, r"select: expected an index in \[0, 2\), got 2"),
    (
        lambda: TensorDomain.of(rg.from_offsets(np.zeros(3), [0, 1], [0, 3])),
        LayoutError,
        'expected one ragged level per axis, got levels "drr"',
    ),
    (
        lambda: as_flattened(as_nested(np.zeros((2, 2)), [0, 2]), 1, 2),
        LayoutError,
        "as_flattened: expected a ragged dim and one of its batch dims, got dims 2 and 1",
    ),
    (lambda: as_nested(np.zeros(3), [0, 2]), RuntimeCheckError, r"expected offsets\[1\] == 3, got 2"),
    (lambda: as_nested(None, [0]), ArgumentError, "partition: expected an array or a number for x, got NoneType"),
    (lambda: as_nested(np.zeros(3), None), ArgumentError, "expected an array or a number for vector, got NoneType"),
    (lambda: IterDomain.merge(None, IterDomain(0, 1)), ArgumentError, "merge: expected iteration domains, got NoneTyp"),  # pyright: ignore[reportArgumentType]
    (lambda: IterDomain.partition(None, [0]), ArgumentError, "partition: expected iteration domains, got NoneType"),  # pyright: ignore[reportArgumentType]
    (lambda: RaggedIterDomain(None), ArgumentError, "RaggedIterDomain: expected a list of domains, got NoneType"),  # pyright: ignore[reportArgumentType]
    (lambda: IterDomain(0, "a"), ArgumentError, "IterDomain: expected an integer for extent, got str"),  # pyright: ignore[reportArgumentType]
    (lambda: tensor().split(0, None), ArgumentError, "split: expected an integer for factor, got NoneType"),  # pyright: ignore[reportArgumentType]
    (lambda: TensorDomain([None]), ArgumentError, "TensorDomain: expected iteration domains, got NoneType"),  # pyright: ignore[reportArgumentType, reportListItem]
]


@pytest.mark.parametrize(("call", "error", "text"), ERRORS, ids=range(len(ERRORS)))
def test_errors(call: Any, error: type[RaggedError], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
