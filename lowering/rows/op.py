"""A flat op as one over rows: the loop that can be cut, and where its buffers have rows."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from math import prod

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.generic import indexing_maps, iterator_kinds, outs_of
from ragged_dialect.ir.walk import captures
from ragged_dialect.lazy import cached_property
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import extent_key, inner_size, is_buffer, plain_dim, root, writes_around
from ragged_dialect.lowering.skew.parts import Parts

FLAT = ("linalg.generic", "linalg.fill", "linalg.copy")

_PER_RESULT = 16
"""Elements of a chunk for each result of a reduction: what is left of all chunks is 1/16 of the widest buffer."""

Place = tuple[ir.Value, int]
"""A buffer, and its dim that rows are along, -1 for one that all rows see the same of."""


@dataclass(frozen=True)
class RowOp:
    """A flat op, the number of its loop over rows, and its buffers by the dim that this indexes; `parts` where it
    reduces all rows into a few elements."""

    op: ir.Operation
    loop: int
    places: tuple[Place, ...]
    parts: Parts | None = None

    @staticmethod
    def of(op: ir.Operation, results: int = 0) -> RowOp | None:
        """An op by its first loop, or by that along which it reduces rows into at most so many results; None where it
        cannot be cut along one."""
        if op.name not in FLAT or writes_around(op):
            return None
        kinds = iterator_kinds(op) if op.name == "linalg.generic" else ["parallel"]
        for loop, kind in enumerate(kinds if _results(op) <= results else ()):
            places = _places(op, loop) if kind == "reduction" else None
            if places is not None and any(dim >= 0 and x.type.shape[dim] == DYNAMIC for x, dim in places):
                parts = Parts.over(op, loop)
                if parts is not None and not parts.runs:
                    return RowOp(op, loop, places, parts)
        places = _places(op, 0) if indexing_maps(op)[0].n_dims and kinds[0] == "parallel" else None
        return None if places is None or all(dim < 0 for _, dim in places) else RowOp(op, 0, places)

    @cached_property
    def lengths(self) -> set[Hashable]:
        """All that is known to be the number of rows."""
        return {extent_key(x, dim) for x, dim in self.places if dim >= 0}

    @cached_property
    def accessed(self) -> dict[ir.Value, dict[Place, None]]:
        """How buffers are accessed, by what they are views of; in order, which arguments of kernels come to have."""
        found: dict[ir.Value, dict[Place, None]] = {}
        captured = [(x, -1) for x in captures([self.op]) if is_buffer(x) and x not in list(self.op.operands)]
        for x, dim in (*self.places, *captured):
            found.setdefault(root(x), {})[x, dim] = None
        return found

    @property
    def written(self) -> set[ir.Value]:
        """What is written, by what it is a view of."""
        return {root(x) for x in outs_of(self.op)}

    @cached_property
    def width(self) -> int:
        """The elements of a row of the widest buffer."""
        return max(inner_size(x, dim) for x, dim in self.places if dim >= 0)

    @cached_property
    def written_width(self) -> int:
        """The elements of a row of the widest buffer that it writes."""
        outs = list(outs_of(self.op))
        return max((inner_size(x, dim) for x, dim in self.places if dim >= 0 and x in outs), default=0)

    @property
    def least(self) -> int:
        """The rows of a chunk at least."""
        return 1 if self.parts is None else int(_PER_RESULT * _results(self.op)) // self.width

    @property
    def is_product(self) -> bool:
        """Whether all rows are multiplied with the same matrix."""
        if self.op.name != "linalg.generic" or "reduction" not in iterator_kinds(self.op):
            return False
        return any(dim < 0 and x.type.rank > 1 for x, dim in self.places)


def _results(op: ir.Operation) -> float:
    """The elements of the largest result of an op, infinity where they are not known, or it says how it is done."""
    shapes = [x.type.shape if is_buffer(x) else [DYNAMIC] for x in outs_of(op)]
    if Mapping.of(op) != Mapping() or any(DYNAMIC in shape for shape in shapes):
        return float("inf")
    return max(map(prod, shapes))


def _places(op: ir.Operation, loop: int) -> tuple[Place, ...] | None:
    """The buffers of an op, by the dim that a loop indexes; None where it cannot be cut along it."""
    dims = [plain_dim(m, loop) for m in indexing_maps(op)]
    places = [(x, dim) for x, dim in zip(op.operands, dims, strict=True) if dim is not None and is_buffer(x)]
    return None if None in dims else tuple(places)
