"""`IterDomain` and `RaggedIterDomain`: dims with their extents and what is uniform over components."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from ragged_dialect.arrays.core import validation
from ragged_dialect.arrays.core.arguments import check_ragged, integer, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.dims import transpose
from ragged_dialect.arrays.index.levels import merge, partition
from ragged_dialect.errors import ArgumentError, LayoutError, RangeError

Table: TypeAlias = "npt.NDArray[np.int64]"
"""Extents: of rank 0 for a regular domain, of the components with an axis per batch for a ragged one."""

ParallelType = Enum("ParallelType", "Serial TIDx TIDy TIDz BIDx BIDy BIDz DIDx DIDy DIDz Stream Unroll Vectorize")
"""What the loop over a dim is mapped to."""
IterType = Enum("IterType", "Iteration Reduction Broadcast")
"""What happens along a dim."""


class IterDomain:
    """A dim: a loop from `start`, which is 0, over `extent` indices, mapped to threads by its parallel type.

    ArgumentError for another start or a negative extent."""

    def __init__(
        self,
        start: int,
        extent: int,
        parallel_type: ParallelType = ParallelType.Serial,
        iter_type: IterType = IterType.Iteration,
        is_rfactor_domain: bool = False,
    ) -> None:
        start, extent = integer("IterDomain", "start", start), integer("IterDomain", "extent", extent)
        if start != 0 or extent < 0:
            raise ArgumentError(f"IterDomain: expected start 0 and an extent of at least 0, got {start} and {extent}")
        self.start = start
        self._extent = extent
        self.table: Table = np.array(extent, np.int64)
        self._parallel_type = parallel_type
        self.iter_type = iter_type
        self.is_rfactor_domain = is_rfactor_domain

    @property
    def extent(self) -> int:
        """How many indices; of a ragged domain, those of all components."""
        return self._extent

    @property
    def extents(self) -> Any:
        """The extent; of a ragged domain, lists of those of its components."""
        return self._extent

    @property
    def parallel_type(self) -> ParallelType:
        """What the loop is mapped to."""
        return self._parallel_type

    def parallelize(self, parallel_type: ParallelType) -> None:
        """Map the loop to something."""
        self._parallel_type = parallel_type

    @property
    def uniform(self) -> tuple[ParallelType, IterType, int, bool]:
        """The properties that the components of a ragged domain share."""
        return self.parallel_type, self.iter_type, self.start, self.is_rfactor_domain

    @staticmethod
    def partition(domain: IterDomain, offsets: npt.ArrayLike) -> tuple[IterDomain, RaggedIterDomain]:
        """Non-uniform parts of a domain: the batch of the parts, and a ragged domain of their extents.

        Offsets [K + 1] partition a regular domain. Offsets [M, K + 1] partition each of the M components of a ragged
        one, relative to its start, or M copies of a regular one. RuntimeCheckError for offsets that do not fit,
        LayoutError for another rank."""
        check_domains("partition", domain)
        rows, table = _rows(offsets), domain.table
        if rows.ndim not in (1, 2) or (rows.ndim == 1 and table.ndim):
            raise LayoutError(f"partition: expected offsets of rank {2 if table.ndim else '1 or 2'}, got {rows.ndim}")
        if rows.ndim == 2 and table.ndim and len(rows) != table.size:
            raise LayoutError(f"partition: expected {table.size} rows of offsets, got {len(rows)}")
        counts = table.shape if table.ndim else rows.shape[:-1]
        whole = np.broadcast_to(table, counts).reshape(-1)
        width, parts_per_row = rows.shape[-1], max(rows.shape[-1] - 1, 0)
        for row, extent in zip(rows.reshape(whole.size, width), whole, strict=True):
            validation.check_offsets(validation.index_vector(row, "partition"), "partition", 1, int(extent))
        parts = np.diff(rows).reshape(*counts, parts_per_row)
        batch = IterDomain(0, parts_per_row, iter_type=domain.iter_type)
        above = domain.batches if isinstance(domain, RaggedIterDomain) else (None,) * len(counts)
        return batch, ragged_of(parts, (*above, batch), domain)

    @staticmethod
    def merge(outer: IterDomain, inner: IterDomain) -> IterDomain:
        """Two domains as one. A batch and the ragged domain below it give the concatenation of the components: the
        inverse of `partition`, or for an outer batch the sums over its components, which moves data. A ragged domain
        and a regular one give a ragged one, two regular ones a regular one.

        LayoutError for another pair, a batch that is not one of the ragged domain, and for domains in parallel."""
        _refuse_parallel("merge", outer, inner)
        if isinstance(inner, RaggedIterDomain):
            if isinstance(outer, RaggedIterDomain):
                raise LayoutError("merge: expected at most one ragged domain, got two")
            return inner.without(inner.level(outer))
        table = outer.table * inner.extent
        return ragged_of(table, outer.batches, outer) if isinstance(outer, RaggedIterDomain) else _regular(table, outer)

    @staticmethod
    def split(domain: IterDomain, factor: int) -> tuple[IterDomain, IterDomain]:
        """An outer domain of ceil(extent / factor), for every component of a ragged one, and an inner one of `factor`,
        whose last run may be short. ArgumentError for a factor below 1, LayoutError for a domain in parallel."""
        _refuse_parallel("split", domain)
        factor = integer("split", "factor", factor)
        if factor < 1:
            raise ArgumentError(f"split: expected a factor of at least 1, got {factor}")
        table = -(-domain.table // factor)
        inner = IterDomain(0, factor, iter_type=domain.iter_type)
        if isinstance(domain, RaggedIterDomain):
            return ragged_of(table, domain.batches, domain), inner
        return _regular(table, domain), inner

    def __repr__(self) -> str:
        mapped = "" if self.parallel_type is ParallelType.Serial else f", {self.parallel_type.name}"
        return f"{self.__class__.__name__}({self.extents}{mapped})"


class RaggedIterDomain(IterDomain):
    """A dim whose extent varies: one domain per component, all with the same properties but for the extent. The
    components may be ragged domains of equally many components.

    `batches` are the domains that it lies below, outermost first, None where that is not known. LayoutError for
    components that differ in a uniform property or in nesting."""

    def __init__(self, nested_domains: Sequence[IterDomain], batches: Sequence[IterDomain | None] = ()) -> None:
        check_domains("RaggedIterDomain", *listed("RaggedIterDomain", "domains", nested_domains))
        found = {domain.uniform for domain in nested_domains}
        if len(found) > 1:
            raise LayoutError("RaggedIterDomain: expected components with equal properties, got different ones")
        shapes = {domain.table.shape for domain in nested_domains}
        if len(shapes) > 1:
            raise LayoutError("RaggedIterDomain: expected components of one nesting, got different ones")
        parallel_type, iter_type, _, rfactor = found.pop() if found else IterDomain(0, 0).uniform
        self.nested_domains = tuple(nested_domains)
        super().__init__(0, sum(d.extent for d in nested_domains), parallel_type, iter_type, rfactor)
        shape = shapes.pop() if shapes else (0,) * max(len(batches) - 1, 0)
        self.table = np.array([d.table for d in nested_domains], np.int64).reshape(len(nested_domains), *shape)
        self.batches = tuple(batches) or (None,) * self.table.ndim

    @property
    def parallel_type(self) -> ParallelType:
        """What the loops of all components are mapped to."""
        return self.nested_domains[0].parallel_type if self.nested_domains else self._parallel_type

    def parallelize(self, parallel_type: ParallelType) -> None:
        """Map the loops of all components to something."""
        self._parallel_type = parallel_type
        for domain in self.nested_domains:
            domain.parallelize(parallel_type)

    @property
    def extents(self) -> list[Any]:
        """Extents of the components, in lists where those are ragged."""
        return [domain.extents for domain in self.nested_domains]

    @property
    def offsets(self) -> list[int]:
        """Where the components start in contiguous storage, with the total at the end."""
        return [0, *accumulate(d.extent for d in self.nested_domains)]

    def extent_for_component(self, index: int) -> int:
        """Extent of a component. RangeError for one that there is not."""
        return self.component(index).extent

    def offset_for_component(self, index: int) -> int:
        """Where a component starts in contiguous storage. RangeError for one that there is not."""
        self.component(index)
        return self.offsets[index]

    def component(self, index: int) -> IterDomain:
        """The domain of a component. RangeError for one that there is not."""
        index = integer("component", "index", index)
        if not 0 <= index < len(self.nested_domains):
            raise RangeError(f"expected a component in [0, {len(self.nested_domains)}), got {index}")
        return self.nested_domains[index]

    def level(self, batch: IterDomain) -> int:
        """Which of the batches a domain is: itself, or the first of its extent. LayoutError for another domain."""
        counts = self.table.shape
        for at, known in enumerate(self.batches):
            if known is batch:
                return at
        if batch.extent not in counts:
            raise LayoutError(
                f"merge: expected a batch of {' or '.join(map(str, counts))} components, got {batch.extent}"
            )
        return counts.index(batch.extent)

    def without(self, level: int) -> IterDomain:
        """The components of a batch concatenated."""
        table = self.table.sum(axis=level)
        batches = self.batches[:level] + self.batches[level + 1 :]
        return ragged_of(table, batches, self) if batches else _regular(table, self)


def ragged_of(table: Table, batches: Sequence[IterDomain | None], like: IterDomain) -> RaggedIterDomain:
    """A ragged domain of a table of extents, with the uniform properties of another domain."""
    if table.ndim == 1:
        return RaggedIterDomain([_regular(extent, like) for extent in table], batches)
    return RaggedIterDomain([ragged_of(row, batches[1:], like) for row in table], batches)


def _regular(extent: np.integer | np.ndarray, like: IterDomain) -> IterDomain:
    return IterDomain(0, int(extent), like.parallel_type, like.iter_type, like.is_rfactor_domain)


def _rows(offsets: npt.ArrayLike) -> np.ndarray:
    try:
        return np.asarray(offsets)
    except ValueError as error:
        raise LayoutError("partition: expected rows of offsets of one length, got several lengths") from error


def check_domains(op: str, *domains: object) -> None:
    """ArgumentError for what is no iteration domain."""
    for domain in domains:
        if not isinstance(domain, IterDomain):
            raise ArgumentError(f"{op}: expected iteration domains, got {type(domain).__name__}")


def _refuse_parallel(op: str, *domains: IterDomain) -> None:
    check_domains(op, *domains)
    for domain in domains:
        if domain.parallel_type is not ParallelType.Serial:
            raise LayoutError(
                f"{op}: expected serial domains, got {domain.parallel_type.name} ({op} before parallelize)"
            )


def as_nested(data: Dense, offsets_or_extents: Dense, ragged_dim: int = 0, *, extents: bool = False) -> RaggedArray:
    """Dim `ragged_dim` of data in components: a batch dim and a ragged one in its place. The
    values keep their order.

    `offsets_or_extents` are offsets, [K + 1], or with `extents` the extents of the components, [K]; or, of a ragged
    dim or one below a dense dim, one such row per component or index: [M, K + 1]. RuntimeCheckError where they do
    not fit the dim."""
    return partition(data, offsets_or_extents, axis=ragged_dim, lengths=extents)


def as_flattened(nested: RaggedArray, batch_dim: int = 0, ragged_dim: int = 1) -> Dense:
    """The components of a ragged dim along one of its batch dims joined: the inverse of `as_nested` where the batch
    dim is the one before the ragged dim. Along a batch dim further out, component k of the result joins the components
    k, which moves data.

    LayoutError for a dim that is no batch of the ragged dim."""
    check_ragged("as_flattened", nested)
    batch_dim, ragged_dim = (integer("as_flattened", "dim", dim) for dim in (batch_dim, ragged_dim))
    number, level, letters = nested.layout.level(ragged_dim)
    first = nested.layout.dims(number)[0]
    if not first <= batch_dim < ragged_dim or letters[level] not in "rw" or set(letters[:level]) != {"d"}:
        raise LayoutError(
            f"as_flattened: expected a ragged dim and one of its batch dims, got dims {ragged_dim} and {batch_dim} "
            f'of layout "{nested.layout}"'
        )
    if batch_dim != ragged_dim - 1:
        order = [d for d in range(nested.ndim) if d != batch_dim]
        order.insert(ragged_dim - 1, batch_dim)
        nested = transpose(nested, axes=tuple(order))
    return merge(nested, axis=ragged_dim - 1)
