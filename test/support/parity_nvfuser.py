"""The names of nvFuser's design document of `RaggedIterDomain` and of its note on the divisibility of splits."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.parity import Table, refused
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
from ragged_dialect.errors import LayoutError

TABLE = Table("nvFuser's RaggedIterDomain", "ragged_dialect.compat.nvfuser")


def tokens() -> Any:
    """325 tokens of 2 numbers."""
    return np.arange(650).reshape(325, 2)


@TABLE.works("IterDomain", note="`IrBuilder::create<IterDomain>(0, n)` is `IterDomain(0, n)`; extents are numbers")
def _iter_domain() -> None:
    assert (IterDomain(0, 325).start, IterDomain(0, 325).extent) == (0, 325)


@TABLE.works("RaggedIterDomain")
def _ragged() -> None:
    assert isinstance(ragged(3, 5, 2), IterDomain)
    assert ragged(3, 5, 2).extents == [3, 5, 2]


@TABLE.works("nestedDomains", note="`nested_domains`")
def _nested_domains() -> None:
    assert [d.extent for d in ragged(3, 5, 2).nested_domains] == [3, 5, 2]


@TABLE.works("extentForComponent", "offsetForComponent", note="`extent_for_component`, `offset_for_component`")
def _component() -> None:
    domain = ragged(3, 5, 2)
    assert [domain.extent_for_component(k) for k in range(3)] == [3, 5, 2]
    assert [domain.offset_for_component(k) for k in range(3)] == [0, 3, 8]


@TABLE.works("extent", note="of a ragged domain the sum, 10 for [3, 5, 2]")
def _extent() -> None:
    assert ragged(3, 5, 2).extent == 10


@TABLE.works("offsets_", note="`offsets`, with the total at the end")
def _offsets() -> None:
    assert ragged(3, 5, 2).offsets == [0, 3, 8, 10]


@TABLE.works("parallelize", "ParallelType", note="of a ragged domain for all components")
def _parallelize() -> None:
    domain = ragged(3, 5, 2)
    domain.parallelize(ParallelType.TIDx)
    assert {d.parallel_type for d in (domain, *domain.nested_domains)} == {ParallelType.TIDx}


@TABLE.works("IterType", "start", "is_rfactor_domain", note="uniform over components; start is 0")
def _uniform() -> None:
    reduction = IterDomain(0, 2, iter_type=IterType.Reduction)
    refused(LayoutError, lambda: RaggedIterDomain([IterDomain(0, 2), reduction]))
    refused(LayoutError, lambda: RaggedIterDomain([IterDomain(0, 2), IterDomain(0, 2, is_rfactor_domain=True)]))
    assert RaggedIterDomain([reduction]).iter_type is IterType.Reduction


TABLE.not_applicable(
    "is_padded_dimension", "is_clustered_dimension", "padded_to_size", why="out of the document's own scope"
)


@TABLE.works("IterDomain::partition", note="offsets of rank 1 or 2, which are checked")
def _partition() -> None:
    expert, by_expert = IterDomain.partition(IterDomain(0, 325), EXPERT_OFFSETS)
    assert (expert.extent, by_expert.extents) == (3, [127, 0, 198])
    rank, by_rank = IterDomain.partition(by_expert, RANK_OFFSETS)
    assert (rank.extent, by_rank.extents) == (2, [[50, 77], [0, 0], [100, 98]])


@TABLE.works("IterDomain::merge", note="of a batch and its ragged domain, and of a ragged and a regular domain")
def _merge() -> None:
    batch, parts = IterDomain.partition(IterDomain(0, 325), EXPERT_OFFSETS)
    assert IterDomain.merge(batch, parts).extent == 325
    assert IterDomain.merge(ragged(3, 5, 2), IterDomain(0, 4)).extents == [12, 20, 8]
    _, by_gpu = IterDomain.partition(IterDomain(0, 100), GPU_OFFSETS)
    assert IterDomain.merge(IterDomain(0, 2), by_gpu).extents == [55, 35, 65, 45]


@TABLE.works("IterDomain::split", note="of a ragged domain each component: [3, 5, 2] by 2 is [2, 3, 1] and 2")
def _split() -> None:
    outer, inner = IterDomain.split(ragged(3, 5, 2), 2)
    assert (outer.extents, inner.extent) == ([2, 3, 1], 2)


@TABLE.works("indivisible split", note="a tile whose last run is short: no predicate, and nothing is stored for holes")
def _indivisible() -> None:
    assert [d.extent for d in IterDomain.split(IterDomain(0, 6), 4)] == [2, 4]
    tiled = rg.split(np.arange(6), axis=0, factor=4)
    assert tiled.shape == (2, 4)
    assert rg.merge(tiled, axis=0).tolist() == [0, 1, 2, 3, 4, 5]


@TABLE.works("schedules 1 and 2", note="2 x 5 split by 4, then merged: [4, 4]; merged, then split: [3, 4]")
def _schedules() -> None:
    domain = TensorDomain([IterDomain(0, 2), IterDomain(0, 5)])
    assert domain.split(1, 4).merge(0).extents == [4, 4]
    assert domain.merge(0).split(0, 4).extents == [3, 4]


@TABLE.works("TensorDomain", note="several ragged domains, independent or nested; `TensorDomain.of` an array")
def _tensor_domain() -> None:
    experts = IterDomain.partition(IterDomain(0, 8), [0, 5, 8])
    by_expert = IterDomain.partition(IterDomain(0, 10), [0, 1, 1, 3, 4, 5, 6, 7, 10])
    domain = TensorDomain([*experts, *by_expert, IterDomain(0, 512)])
    assert domain.extents == [2, [5, 3], 8, [1, 0, 2, 1, 1, 1, 1, 3], 512]
    assert TensorDomain.of(as_nested(tokens(), EXPERT_OFFSETS)).extents == [3, [127, 0, 198], 2]


@TABLE.works("asNested", note="`as_nested`; also extents for offsets; values keep their order")
def _as_nested() -> None:
    data = tokens()
    nested = as_nested(data, EXPERT_OFFSETS, ragged_dim=0)
    assert [len(part) for part in nested.unbind()] == [127, 0, 198]
    np.testing.assert_array_equal(nested.values, data)
    assert as_nested(data, [127, 0, 198], extents=True).offsets.tolist() == EXPERT_OFFSETS.tolist()


@TABLE.works("asFlattened", note="`as_flattened`; moves data along a batch dim that is not next to the ragged one")
def _as_flattened() -> None:
    np.testing.assert_array_equal(as_flattened(as_nested(tokens(), EXPERT_OFFSETS), 0, 1), tokens())
    by_expert = as_nested(np.arange(200).reshape(2, 100), GPU_OFFSETS, 1)
    assert as_flattened(by_expert, 0, 2).lengths.tolist() == [55, 35, 65, 45]


@TABLE.differs("TensorView", why="an array of NumPy, or a `RaggedArray`; its domains are `TensorDomain.of` it")
def _tensor_view() -> None:
    assert isinstance(as_nested(tokens(), EXPERT_OFFSETS), rg.RaggedArray)


@TABLE.differs("TensorView::partition", why="`as_nested`, or `partition` of a `TensorDomain`")
def _tensor_partition() -> None:
    by_expert = as_nested(np.zeros((2, 100, 3)), GPU_OFFSETS, 1)
    domain = TensorDomain([IterDomain(0, n) for n in (2, 100, 3)]).partition(1, GPU_OFFSETS)
    assert TensorDomain.of(by_expert).extents == domain.extents == [2, 4, [[30, 0, 40, 30], [25, 35, 25, 15]], 3]


@TABLE.works("select", note="`rg.select` of arrays, `TensorDomain.select` of domains")
def _select() -> None:
    assert TensorDomain([IterDomain(0, 3), ragged(3, 5, 2), IterDomain(0, 4)]).select(0, 1).extents == [5, 4]
    nested = as_nested(np.arange(40).reshape(10, 4), [0, 3, 8, 10])
    np.testing.assert_array_equal(rg.select(nested, 1, axis=0), np.arange(12, 32).reshape(5, 4))


@TABLE.differs("split of a batch", why="the factor has to divide: there are no components to fill it up")
def _split_of_a_batch() -> None:
    merged = as_flattened(as_nested(np.zeros((2, 100)), GPU_OFFSETS, 1), 0, 2)
    assert TensorDomain.of(merged).split(0, 2).extents == [2, 2, [[55, 35], [65, 45]]]
    assert TensorDomain.of(rg.split(merged, axis=0, factor=2)).extents == [2, 2, [[55, 35], [65, 45]]]
    refused(LayoutError, lambda: TensorDomain.of(merged).split(0, 3))


@TABLE.differs("offset outputs", why="a result brings its offsets along; nothing is injected into a program's outputs")
def _offset_outputs() -> None:
    assert (as_nested(tokens(), EXPERT_OFFSETS) + 1).offsets.tolist() == EXPERT_OFFSETS.tolist()


TABLE.not_applicable(
    "IrBuilder", "Fusion", "FusionGuard", "TensorViewBuilder", "addInput", "addOutput", why="`rg.jit` traces Python"
)
TABLE.not_applicable(
    "IdModel", "TensorIndexer", "ValType", "dispatch", "iostream", why="internals of nvFuser's compiler"
)
TABLE.not_applicable("Resize", "DivisibleSplit", why="a way to explain an indivisible split; see above")
