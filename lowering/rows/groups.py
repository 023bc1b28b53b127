"""Flat ops over the same rows, which can run in one loop."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field

from ragged_dialect._mlir import ir
from ragged_dialect.generic import outs_of
from ragged_dialect.ir.walk import captures
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_address, is_buffer, is_own, root, writes_around
from ragged_dialect.lowering.rows.op import FLAT, Place, RowOp

_SHARED, _NARROW = 256, 32
"""Rows of a chunk of a product at least, as it reads all of its other operand for each chunk; half as many of up to so
many elements, which stay in the first cache. With AMX products of 256 and 1,024 bf16 take 0.9 and 0.8 of the time that
128 rows take, of 16 and 32 1.2 to 1.4; those of float32 0.95 to 1 (Intel Xeon)."""

CHUNK = 16384
"""Elements of a chunk, of the widest buffer: what several ops need of them stays in an L2 cache of 256 KiB."""

_PASSES, _FEWER = 3, 16
"""Ops that go through the rows of a chunk, one more for each that writes them, from which on it has so much fewer
elements: it stays in the first cache. Of float32 with 64 features layer norms take 0.7 of the time so, softmaxes of
rows 0.85 (AMD EPYC, Zen 5), `x - x.mean(-1)` and `rg.rms_norm` 0.5 to 0.7 with 3 to 512 features (Zen 4). Two sums of
what is read take 1.1 to 1.3 times as long, one pass 1.5."""

_MOST = 32
"""Ops of a group: what LLVM takes for a loop grows faster than the number of its ops."""

_VECTOR = 16
"""Rows that a chunk has a multiple of: short ones are in the lanes of vectors, and what is left of them has masks. With
it softmaxes of 12 float32 take 0.92 of the time (Zen 5)."""


@dataclass
class RowGroup:
    """Flat ops in their order, whose loops are over the same rows. `lengths` has all that is known to be the number of
    rows, `places` how buffers are accessed, by what they are views of."""

    chunk: int = CHUNK
    ops: dict[ir.Operation, RowOp] = field(default_factory=dict[ir.Operation, RowOp])
    lengths: set[Hashable] = field(default_factory=set[Hashable])
    places: dict[ir.Value, dict[Place, None]] = field(default_factory=dict[ir.Value, dict[Place, None]])
    written: set[ir.Value] = field(default_factory=set[ir.Value])
    mapping: Mapping = field(default_factory=Mapping)

    def add(self, found: RowOp) -> bool:
        """Add an op, where it is over the same rows, and sees of other rows nothing that the group writes."""
        mapping = Mapping.of(found.op)
        if not self.ops:
            self.mapping = mapping
        elif not (found.lengths & self.lengths and self._is_free(found) and self.mapping.takes(mapping)):
            return False
        elif len(self.ops) == _MOST or max(found.least, *(other.least for other in self.ops.values())) > self.rows:
            return False
        self.ops[found.op] = found
        self.lengths |= found.lengths
        self.written |= found.written
        for buffer, places in found.accessed.items():
            self.places.setdefault(buffer, {}).update(places)
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
        width = self.width
        often = sum((op.width == width) + (op.written_width == width) for op in self.ops.values()) >= _PASSES
        rows = (self.mapping.tile or (self.chunk // _FEWER if often else self.chunk)) // width
        if self.mapping.tile is None and rows > _VECTOR:
            rows -= rows % _VECTOR
        least = [op.least for op in self.ops.values()]
        if self.is_product and self.mapping.tile is None:
            least.append(_SHARED if width > _NARROW else _SHARED // 2)
        return max(rows, 1, *least)


def row_groups(block: ir.Block, chunk: int, results: int = 0) -> Iterator[RowGroup]:
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
    if op.name in FLAT and not writes_around(op):
        inner = [x for x in captures([op]) if is_buffer(x)]
        return {root(x) for x in (*op.operands, *inner) if is_buffer(x)}, {root(x) for x in outs_of(op)}
    if op.name == "memref.load":
        return {root(op.operands[0])}, set()
    if op.name == "memref.copy":
        return {root(op.operands[0])}, {root(op.operands[1])}
    return None
