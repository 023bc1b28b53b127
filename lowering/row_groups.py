"""Flat ops over the same rows, which run chunk by chunk in one loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from ragged_dialect._mlir import DYNAMIC, arith, ir, memref, scf
from ragged_dialect.generic import indexing_maps, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import captures, find_ops
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers import (
    extent_key,
    is_address,
    is_allocation,
    is_buffer,
    is_own,
    plain_dim,
    range_view,
    root,
)

_FLAT = ("linalg.generic", "linalg.fill", "linalg.copy")
_SHARED = 128
"""Rows of a chunk of a product at least: it reads all of its other operand for each chunk."""

_LINE = 64
"""Bytes of a cache line."""

Place = tuple[ir.Value, int]
"""A buffer, and its dim that rows are along, -1 for one that all rows see the same of."""


@dataclass
class RowGroup:
    """Flat ops in their order, with their places, whose first loops are over the same rows. `lengths` has all that is
    known to be the number of rows, `places` how buffers are accessed, by what they are views of."""

    ops: dict[ir.Operation, list[Place]] = field(default_factory=dict[ir.Operation, list[Place]])
    lengths: set[Hashable] = field(default_factory=set[Hashable])
    places: dict[ir.Value, set[Place]] = field(default_factory=dict[ir.Value, set[Place]])
    written: set[ir.Value] = field(default_factory=set[ir.Value])
    mapping: Mapping = field(default_factory=Mapping)

    def add(self, op: ir.Operation, places: list[Place]) -> bool:
        """Add an op, where it is over the same rows, and sees of other rows nothing that the group writes."""
        lengths = {extent_key(x, dim) for x, dim in places if dim >= 0}
        captured = [(x, -1) for x in captures([op]) if is_buffer(x) and x not in list(op.operands)]
        written = {root(x) for x in _outs(op)}
        accessed = {root(x): {(x, dim)} for x, dim in places}
        for x, dim in (*places, *captured):
            accessed.setdefault(root(x), set()).add((x, dim))
        mapping = Mapping.of(op)
        if not self.ops:
            self.mapping = mapping
        elif not (lengths & self.lengths and self._is_free(accessed, written) and self.mapping.takes(mapping)):
            return False
        self.ops[op] = places
        self.lengths |= lengths
        self.written |= written
        for buffer, found in accessed.items():
            self.places.setdefault(buffer, set()).update(found)
        return True

    def _is_free(self, accessed: dict[ir.Value, set[Place]], written: set[ir.Value]) -> bool:
        if not all(is_own(buffer) for buffer in (*self.places, *accessed)):
            return False
        for buffer in (self.written & set(accessed)) | (written & set(self.places)):
            found = self.places[buffer] | accessed[buffer]
            if len(found) != 1 or any(dim < 0 for _, dim in found):
                return False
        return True


def row_groups(block: ir.Block) -> Iterator[RowGroup]:
    """The flat ops of a block by the loops they can run in, with nothing but address arithmetic between them."""
    group = RowGroup()
    for op in [op.operation for op in block.operations]:
        places = _places(op) if op.name in _FLAT else None
        if places is not None and group.add(op, places):
            continue
        if places is not None or not is_address(op):
            if group.ops:
                yield group
            group = RowGroup()
            if places is not None:
                group.add(op, places)
    if group.ops:
        yield group


def _outs(op: ir.Operation) -> list[ir.Value]:
    outs = 1 if op.name != "linalg.generic" else list(op.attributes["operandSegmentSizes"])[1]
    return list(op.operands)[-outs:]


def _places(op: ir.Operation) -> list[Place] | None:
    """The buffers of an op, by the dim that its first loop indexes; None where it cannot be cut along it."""
    maps = indexing_maps(op)
    if maps[0].n_dims == 0 or not _first_is_parallel(op):
        return None
    dims = [plain_dim(m, 0) for m in maps]
    places = [(x, dim) for x, dim in zip(op.operands, dims, strict=True) if dim is not None and is_buffer(x)]
    return None if None in dims or all(dim < 0 for _, dim in places) else places


def _first_is_parallel(op: ir.Operation) -> bool:
    return op.name != "linalg.generic" or iterator_kinds(op)[0] == "parallel"


def count_from(op: ir.Operation, low: ir.Value, loop: int = 0) -> None:
    """Let an index of an op, which has the rows from one on, be that of all rows."""
    for index in find_ops(op, "linalg.index"):
        if index.attributes["dim"].value == loop:
            with ir.InsertionPoint.after(index), index.location:
                row = arith.addi(index.results[0], low)
            index.results[0].replace_all_uses_except(row, row.owner.operation)


# Cutting ------------------------------------------------------------------------------------------


def rows_of_chunk(group: RowGroup, chunk: int) -> int:
    """The rows of about so many elements of the widest buffer of a group."""
    least = _SHARED if is_product(group) and group.mapping.tile is None else 1
    return max(least, (group.mapping.tile or chunk) // max(inner_size(*place) for place in _along(group)))


def cut(group: RowGroup, chunk: int) -> None:
    """Run the ops of a group in chunks of rows, in a loop where the last one is."""
    chunk = group.mapping.tile or chunk
    for op in group.ops:
        Mapping().give(op)
    static = [length for length in group.lengths if isinstance(length, int)]
    if static and static[0] * max(inner_size(*place) for place in _along(group)) <= chunk:
        return
    (last, own), rows = list(group.ops.items())[-1], rows_of_chunk(group, chunk)
    with ir.InsertionPoint(last), last.location:
        x, dim = next(place for place in reversed(own) if place[1] >= 0)  # a result, no temporary
        extent = static[0] if static else memref.dim(x, build.value(dim))
        loop = scf.ForOp(build.value(0), build.value(build.ceildiv(extent, rows)), build.value(1))
        if not group.mapping.is_serial:
            loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(loop.body):
            low = build.mul(loop.induction_variable, rows)
            size = build.minimum(rows, build.sub(extent, low))
            scf.yield_([])
    narrow(group, low, size, rows, list(loop.body.operations)[-1].operation)


def narrow(group: RowGroup, low: Mixed, size: Mixed, rows: int, end: ir.Operation) -> None:
    """Move the ops of a group before an op, to run on `size` rows from `low` on, which are at most `rows`."""
    with ir.InsertionPoint(end), end.location:
        views = {place: _chunk_of(place, group, low, size, rows) for place in _along(group)}
    for op in group.ops:
        dims = [plain_dim(m, 0) for m in indexing_maps(op)]
        op.move_before(end)
        count_from(op, build.value(low))
        for k, x in enumerate(list(op.operands)):
            dim = dims[k]
            op.operands[k] = x if dim is None or dim < 0 else views[x, dim]


def _along(group: RowGroup) -> list[Place]:
    """The places of a group that rows are along."""
    return [place for found in group.places.values() for place in found if place[1] >= 0]


def is_product(group: RowGroup) -> bool:
    """Whether rows are multiplied with a matrix that all of them see."""
    return any(_is_product(*item) for item in group.ops.items())


def _is_product(op: ir.Operation, places: list[Place]) -> bool:
    """Whether all rows are multiplied with the same matrix."""
    if op.name != "linalg.generic" or "reduction" not in iterator_kinds(op):
        return False
    return any(dim < 0 and x.type.rank > 1 for x, dim in places)


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


def inner_size(x: ir.Value, dim: int) -> int:
    """Static elements of one step of a dim; dynamic dims count as 64."""
    total = 1
    for k, s in enumerate(x.type.shape):
        if k != dim:
            total *= 64 if s == DYNAMIC else max(s, 1)
    return total
