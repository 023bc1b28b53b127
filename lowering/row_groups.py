"""Flat ops over the same rows, which run chunk by chunk in one loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from math import prod

from ragged_dialect._mlir import DYNAMIC, ir, memref, scf
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import captures
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lazy import cached_property
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers import (
    extent_key,
    inner_size,
    is_address,
    is_allocation,
    is_buffer,
    is_own,
    plain_dim,
    range_view,
    root,
)
from ragged_dialect.lowering.skew.parts import Parts, count_from

_FLAT = ("linalg.generic", "linalg.fill", "linalg.copy")
_SHARED = 128
"""Rows of a chunk of a product at least: it reads all of its other operand for each chunk."""

_LINE = 64
"""Bytes of a cache line."""

CHUNK = 16384
"""Elements of a chunk, of the widest buffer: what several ops need of them stays in an L2 cache of 256 KiB."""

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
        if op.name not in _FLAT:
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
    def accessed(self) -> dict[ir.Value, set[Place]]:
        """How buffers are accessed, by what they are views of."""
        found: dict[ir.Value, set[Place]] = {}
        captured = [(x, -1) for x in captures([self.op]) if is_buffer(x) and x not in list(self.op.operands)]
        for x, dim in (*self.places, *captured):
            found.setdefault(root(x), set()).add((x, dim))
        return found

    @property
    def written(self) -> set[ir.Value]:
        """What is written, by what it is a view of."""
        return {root(x) for x in _outs(self.op)}

    @property
    def width(self) -> int:
        """The elements of a row of the widest buffer."""
        return max(inner_size(x, dim) for x, dim in self.places if dim >= 0)

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


@dataclass
class RowGroup:
    """Flat ops in their order, whose loops are over the same rows. `lengths` has all that is known to be the number of
    rows, `places` how buffers are accessed, by what they are views of."""

    chunk: int = CHUNK
    ops: dict[ir.Operation, RowOp] = field(default_factory=dict[ir.Operation, RowOp])
    lengths: set[Hashable] = field(default_factory=set[Hashable])
    places: dict[ir.Value, set[Place]] = field(default_factory=dict[ir.Value, set[Place]])
    written: set[ir.Value] = field(default_factory=set[ir.Value])
    mapping: Mapping = field(default_factory=Mapping)

    def add(self, found: RowOp) -> bool:
        """Add an op, where it is over the same rows, and sees of other rows nothing that the group writes."""
        mapping = Mapping.of(found.op)
        if not self.ops:
            self.mapping = mapping
        elif not (found.lengths & self.lengths and self._is_free(found) and self.mapping.takes(mapping)):
            return False
        elif max(found.least, *(other.least for other in self.ops.values())) > self.rows:
            return False
        self.ops[found.op] = found
        self.lengths |= found.lengths
        self.written |= found.written
        for buffer, places in found.accessed.items():
            self.places.setdefault(buffer, set()).update(places)
        return True

    def _is_free(self, found: RowOp) -> bool:
        if not all(is_own(buffer) for buffer in (*self.places, *found.accessed)):
            return False
        for buffer in (self.written & set(found.accessed)) | (found.written & set(self.places)):
            places = self.places[buffer] | found.accessed[buffer]
            if len(places) != 1 or any(dim < 0 for _, dim in places):
                return False
        return True

    def stands(self, op: ir.Operation) -> bool:
        """Whether an op may be done before all of the group, which comes before it."""
        accessed = _accessed(op)
        if accessed is None:
            return False
        reads, writes = accessed
        if not all(is_own(buffer) for buffer in (*self.places, *reads, *writes)):
            return False
        return not (writes & set(self.places) or reads & self.written)

    @property
    def along(self) -> list[Place]:
        """The places that rows are along."""
        return [place for found in self.places.values() for place in found if place[1] >= 0]

    @property
    def is_product(self) -> bool:
        """Whether rows are multiplied with a matrix that all of them see."""
        return any(op.is_product for op in self.ops.values())

    @property
    def width(self) -> int:
        """The elements of a row of the widest buffer."""
        return max(op.width for op in self.ops.values())

    @property
    def rows(self) -> int:
        """The rows of a chunk: those of about so many elements of the widest buffer."""
        rows = (self.mapping.tile or self.chunk) // self.width
        least = [op.least for op in self.ops.values()]
        return max(rows, 1, _SHARED if self.is_product and self.mapping.tile is None else 1, *least)


def row_groups(block: ir.Block, chunk: int = CHUNK, results: int = 0) -> Iterator[RowGroup]:
    """The flat ops of a block by the loops they can run in, reductions of all rows into at most so many elements among
    them. What is between the ops of a group can be done before all of them."""
    groups: list[RowGroup] = []
    for op in [op.operation for op in block.operations]:
        if is_address(op):
            continue
        found = RowOp.of(op, results)
        home = None if found is None else next((group for group in groups[::-1] if group.add(found)), None)
        done = [group for group in groups if group is not home and not group.stands(op)]
        yield from done
        groups = [group for group in groups if group not in done]
        if found is not None and home is None:
            groups.append(RowGroup(chunk))
            groups[-1].add(found)
    yield from groups


def _accessed(op: ir.Operation) -> tuple[set[ir.Value], set[ir.Value]] | None:
    """The buffers that an op reads and writes, by what they are views of; None where that is not known."""
    if op.name in _FLAT:
        inner = [x for x in captures([op]) if is_buffer(x)]
        return {root(x) for x in (*op.operands, *inner) if is_buffer(x)}, {root(x) for x in _outs(op)}
    if op.name == "memref.load":
        return {root(op.operands[0])}, set()
    if op.name == "memref.copy":
        return {root(op.operands[0])}, {root(op.operands[1])}
    return None


def _outs(op: ir.Operation) -> list[ir.Value]:
    outs = 1 if op.name != "linalg.generic" else list(op.attributes["operandSegmentSizes"])[1]
    return list(op.operands)[-outs:]


def _results(op: ir.Operation) -> float:
    """The elements of the largest result of an op, infinity where they are not known, or it says how it is done."""
    shapes = [x.type.shape if is_buffer(x) else [DYNAMIC] for x in _outs(op)]
    if Mapping.of(op) != Mapping() or any(DYNAMIC in shape for shape in shapes):
        return float("inf")
    return max(map(prod, shapes))


def _places(op: ir.Operation, loop: int) -> tuple[Place, ...] | None:
    """The buffers of an op, by the dim that a loop indexes; None where it cannot be cut along it."""
    dims = [plain_dim(m, loop) for m in indexing_maps(op)]
    places = [(x, dim) for x, dim in zip(op.operands, dims, strict=True) if dim is not None and is_buffer(x)]
    return None if None in dims else tuple(places)


# Cutting ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Rooms:
    """Where the reductions of a group leave what each chunk comes to, by the numbers of their outs, and the chunk."""

    of: dict[ir.Operation, dict[int, ir.Value]]
    chunk: ir.Value


def cut(group: RowGroup) -> None:
    """Run the ops of a group in chunks of rows, in a loop where the last one is. What is left of the chunks by
    reductions is put together after that, in their order: results do not depend on the number of threads."""
    for op in group.ops:
        Mapping().give(op)
    static = [length for length in group.lengths if isinstance(length, int)]
    if static and static[0] * group.width <= (group.mapping.tile or group.chunk):
        return
    last, rows = list(group.ops.values())[-1], group.rows
    with ir.InsertionPoint(last.op), last.op.location:
        x, dim = next(place for place in reversed(last.places) if place[1] >= 0)  # a result, no temporary
        extent = static[0] if static else memref.dim(x, build.value(dim))
        chunks = build.ceildiv(extent, rows)
        reduced = {op: found.parts for op, found in group.ops.items() if found.parts is not None}
        rooms = {op: parts.rooms(chunks) for op, parts in reduced.items()}
        loop = scf.ForOp(build.value(0), build.value(chunks), build.value(1))
        if not group.mapping.is_serial:
            loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(loop.body):
            low = build.mul(loop.induction_variable, rows)
            size = build.minimum(rows, build.sub(extent, low))
            scf.yield_([])
        for op, parts in reduced.items():
            parts.combine(rooms[op])
    end = list(loop.body.operations)[-1].operation
    narrow(group, low, size, rows, end, Rooms(rooms, loop.induction_variable))


def narrow(group: RowGroup, low: Mixed, size: Mixed, rows: int, end: ir.Operation, rooms: Rooms | None = None) -> None:
    """Move the ops of a group before an op, to run on `size` rows from `low` on, which are at most `rows`; what
    reductions leave of them goes into `rooms`."""
    with ir.InsertionPoint(end), end.location:
        views = {place: _chunk_of(place, group, low, size, rows) for place in group.along}
    for op, found in group.ops.items():
        dims = [plain_dim(m, found.loop) for m in indexing_maps(op)]
        operands = [views.get((x, -1 if dim is None else dim), x) for x, dim in zip(op.operands, dims, strict=True)]
        if rooms is not None and found.parts is not None:
            with ir.InsertionPoint(end), op.location:
                found.parts.one(rooms.chunk, low, operands, rooms.of[op])
            op.erase()
            continue
        op.move_before(end)
        count_from(op, build.value(low))
        for k, x in enumerate(operands):
            op.operands[k] = x


def _chunk_of(place: Place, group: RowGroup, low: Mixed, size: Mixed, rows: int) -> ir.Value:
    """The rows of a chunk. What only the group uses is allocated for a chunk."""
    x, dim = place
    if not is_allocation(x) or any(use.owner.operation not in group.ops for use in x.uses):
        return range_view(x, dim, low, size)
    shape = [rows if k == dim else s for k, s in enumerate(x.type.shape)]
    type_ = ir.MemRefType.get(shape, x.type.element_type, None, x.type.memory_space)
    dynamic = [k for k, s in enumerate(x.type.shape) if s == DYNAMIC]
    sizes = [value for k, value in zip(dynamic, definer(x).operands, strict=True) if k != dim]
    return range_view(memref.alloc(type_, sizes, [], alignment=_LINE), dim, 0, size)
