"""`TensorDomain`: the domains of a tensor, and what the ops on one of its dims make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import integer, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.compat.nvfuser.domains import (
    IterDomain,
    ParallelType,
    RaggedIterDomain,
    check_domains,
    ragged_of,
)
from ragged_dialect.errors import AxisError, LayoutError, RangeError


class TensorDomain:
    """Iteration domains, outermost first. A ragged domain stands right below its batches.

    Every op gives another tensor domain, and is the one of the same name on arrays. LayoutError where a ragged
    domain has no batches of its extents before it."""

    def __init__(self, domains: Sequence[IterDomain]) -> None:
        check_domains("TensorDomain", *listed("TensorDomain", "domains", domains))
        self.domains: list[IterDomain] = []
        for dim, domain in enumerate(domains):
            if isinstance(domain, RaggedIterDomain):
                levels = domain.table.ndim
                above = self.domains[dim - levels :] if dim >= levels else []
                if tuple(d.table.tolist() for d in above) != domain.table.shape:
                    shown = " and ".join(map(str, domain.table.shape))
                    raise LayoutError(f"expected batches of {shown} components before ragged dim {dim}, got others")
                domain = RaggedIterDomain(domain.nested_domains, above)
            self.domains.append(domain)

    @staticmethod
    def of(array: RaggedArray | Dense) -> TensorDomain:
        """The domains of an array. LayoutError for levels whose numbers of components vary."""
        if not isinstance(array, RaggedArray):
            return TensorDomain([IterDomain(0, extent) for extent in storage.peek(array).shape])
        found: list[IterDomain] = []
        for axis, extent in zip(array.axes, array.buffer.shape, strict=True):
            found += [IterDomain(0, extent)] if axis is None else _of_structure(axis, extent)
        return TensorDomain(found)

    @property
    def extents(self) -> list[Any]:
        """Extents of the domains, lists of them for ragged ones."""
        return [domain.extents for domain in self.domains]

    def __len__(self) -> int:
        return len(self.domains)

    def __getitem__(self, dim: int) -> IterDomain:
        dim = integer("TensorDomain", "dim", dim)
        if not -len(self) <= dim < len(self):
            raise AxisError(f"expected dim in [{-len(self)}, {len(self)}), got {dim}")
        return self.domains[dim]

    def partition(self, dim: int, offsets: npt.ArrayLike) -> TensorDomain:
        """A dim as a batch and a ragged dim; see `IterDomain.partition`. Rows of offsets of a regular dim are for the
        indices of the dim before it."""
        if self._below(dim) is not None:
            raise LayoutError(f"partition: expected a dim without a ragged dim below it, got batch dim {dim}")
        made = IterDomain.partition(self[dim], offsets)
        return self._replaced(dim, dim + 1, made)

    def merge(self, outer: int, inner: int | None = None) -> TensorDomain:
        """A dim with the one after it, or an outer batch with the ragged dim `inner` below it; see
        `IterDomain.merge`. LayoutError for dims that are not below one another."""
        ragged = self._below(outer)
        inner = outer + 1 if inner is None else integer("merge", "inner", inner)
        if ragged is not None and inner < ragged:
            return self._merge_batches(outer, ragged)
        if inner != outer + 1 and inner != ragged:
            raise LayoutError(
                f"merge: expected a dim and the next one, or a batch and its ragged dim, got {outer} and {inner}"
            )
        made = IterDomain.merge(self[outer], self[inner])
        return TensorDomain([*self.domains[:outer], *self.domains[outer + 1 : inner], made, *self.domains[inner + 1 :]])

    def split(self, dim: int, factor: int) -> TensorDomain:
        """A dim in an outer one and an inner one of `factor`; see `IterDomain.split`. LayoutError for a batch that
        `factor` does not divide: there are no components to fill it up."""
        made = IterDomain.split(self[dim], factor)
        ragged = self._below(dim)
        if ragged is None:
            return self._replaced(dim, dim + 1, made)
        if self[dim].extent % factor:
            raise LayoutError(f"split: expected a factor that divides batch extent {self[dim].extent}, got {factor}")
        level = dim - (ragged - self[ragged].table.ndim)
        return self._regrouped(dim, dim + 1, made, ragged, level, level + 1)

    def select(self, dim: int, index: int) -> TensorDomain:
        """One index of a dim: of a batch, the ragged dim below becomes that of the component, a regular one when no
        batch is left. RangeError for an index that a domain does not have."""
        domain = self[dim]
        shortest = int(domain.table.min()) if domain.table.size else 0
        index = integer("select", "index", index)
        if not 0 <= index < shortest:
            raise RangeError(f"select: expected an index in [0, {shortest}), got {index}")
        ragged = self._below(dim)
        if ragged is None:
            return self._replaced(dim, dim + 1, [])
        below = self[ragged]
        level = dim - (ragged - below.table.ndim)
        table = np.asarray(below.table.take(index, axis=level))
        made = ragged_of(table, (), below) if table.ndim else IterDomain(0, int(table), *below.uniform[:2])
        return TensorDomain([*self.domains[:dim], *self.domains[dim + 1 : ragged], made, *self.domains[ragged + 1 :]])

    def parallelize(self, dim: int, parallel_type: ParallelType) -> None:
        """Map the loop of a dim to something: of all components, where it is ragged."""
        self[dim].parallelize(parallel_type)

    def _below(self, dim: int) -> int | None:
        """The ragged dim that a dim is a batch of."""
        dim = integer("TensorDomain", "dim", dim)
        for at in range(dim + 1, len(self)):
            domain = self.domains[at]
            if isinstance(domain, RaggedIterDomain):
                return at if at - domain.table.ndim <= dim else None
        return None

    def _replaced(self, first: int, last: int, made: Sequence[IterDomain]) -> TensorDomain:
        return TensorDomain([*self.domains[:first], *made, *self.domains[last:]])

    def _merge_batches(self, outer: int, ragged: int) -> TensorDomain:
        made = IterDomain.merge(self[outer], self[outer + 1])
        level = outer - (ragged - self[ragged].table.ndim)
        return self._regrouped(outer, outer + 2, [made], ragged, level, level + 2)

    def _regrouped(
        self, first: int, last: int, made: Sequence[IterDomain], ragged: int, level: int, end: int
    ) -> TensorDomain:
        """Batches [first, last) of a ragged dim replaced by others; they are levels [level, end) of its table."""
        below = self[ragged]
        shape = below.table.shape
        table = below.table.reshape(*shape[:level], *(d.extent for d in made), *shape[end:])
        domains = [*self.domains[:first], *made, *self.domains[last:ragged], ragged_of(table, (), below)]
        return TensorDomain([*domains, *self.domains[ragged + 1 :]])

    def __repr__(self) -> str:
        return f"TensorDomain({self.domains})"


def _of_structure(axis: Structure, extent: int) -> list[IterDomain]:
    """The domains of a nested storage axis of `extent` elements."""
    body = axis.letters.rstrip("t")
    tiles = [IterDomain(0, e or 0) for e in axis.extents[len(body) :]]
    width = int(np.prod([t.extent for t in tiles], initial=1))
    batches = [IterDomain(0, e or 0) for e in axis.extents[: len(body) - 1]]
    if body == "d":
        return [IterDomain(0, -(-extent // width)), *tiles]
    if set(body[:-1]) != {"d"} or body[-1] == "d":
        raise LayoutError(f'expected one ragged level per axis, got levels "{axis.letters}"')
    lengths = np.asarray(storage.to_host(axis.lengths(len(body) - 1)))
    table = -(-lengths // width)
    return [*batches, ragged_of(table.reshape([b.extent for b in batches]), (), IterDomain(0, 0)), *tiles]
