"""Products of the rows of components, which are apart: loops over tiles of rows instead of loops over components.

A component that is much longer than the others keeps no thread waiting then, and what is left of a tile for the next
product is as large as a tile.
"""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import body_ops
from ragged_dialect.iteration import PARALLEL
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_address, offsets_of, size_key
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.lowering.rows.cutting import narrow
from ragged_dialect.lowering.rows.groups import CHUNK, RowGroup, row_groups
from ragged_dialect.lowering.search import owner

_SHARES = 256
"""Parts that tiles are shared out in, at most: several for each thread of a machine, so that none waits for long."""


@dataclass(frozen=True)
class ComponentTiles:
    """A bufferized forall over components whose ops run over the rows of one, as `offsets` has them."""

    forall: ir.Operation
    group: RowGroup
    offsets: ir.Value

    @staticmethod
    def of(forall: ir.Operation, chunk: int = CHUNK) -> ComponentTiles | None:
        """What a forall computes, where that are products of rows and nothing else, and lengths come from offsets."""
        block = forall.regions[0].blocks[0]
        if len(block.arguments) != 1 or Mapping.of(forall) != Mapping():
            return None
        groups = list(row_groups(block, chunk))
        if len(groups) != 1 or not groups[0].is_product:
            return None
        others = [op for op in body_ops(block) if op not in groups[0].ops]
        if not all(is_address(op) or op.name == "memref.load" for op in others):
            return None
        lengths = [op.results[0] for op in others if op.name == "arith.subi"]
        for length in lengths:
            offsets = offsets_of(length, block.arguments[0])
            if offsets is not None and offsets.owner != block and size_key(length) in groups[0].lengths:
                return ComponentTiles(forall, groups[0], offsets)
        return None

    def emit(self) -> None:
        """Replace the forall by a loop over tiles of the rows of a chunk. Before the tiles of a component are all
        those of the ones before it, at most one of them empty: that is as many as rows fill, and one for each. Threads
        have tiles one after the other, of which only the first one's component is searched for."""
        rows = self.group.rows
        with ir.InsertionPoint(self.forall), self.forall.location:
            count = build.value(counts_of(self.forall)[0])
            first = self._offset(0)
            tiles = build.add(build.divide(build.sub(self._offset(count), first), rows), count)
            each = build.add(build.divide(tiles, _SHARES), 1)
            parts = build.ceildiv(tiles, each)
            loop = scf.ForOp(build.value(0), build.value(parts), build.value(1))
            loop.operation.attributes[PARALLEL] = ir.UnitAttr.get()
        with ir.InsertionPoint(loop.body), self.forall.location:
            low = build.mul(loop.induction_variable, each)
            high = build.minimum(build.add(low, each), tiles)
            inits = [owner(lambda g: self._first_tile(g, first, rows), build.value(low), count)]
            inner = scf.ForOp(build.value(low), build.value(high), build.value(1), inits)
            scf.yield_([])
        with ir.InsertionPoint(inner.body), self.forall.location:
            self._tile(inner.induction_variable, inner.inner_iter_args[0], first, rows)
        self.forall.erase()

    def _tile(self, tile: ir.Value, component: ir.Value, first: ir.Value, rows: int) -> None:
        """What is done with a tile, and the component of the next one."""
        after = build.value(build.add(component, 1))
        before = build.sub(tile, self._first_tile(component, first, rows))
        low = build.value(build.mul(before, rows))
        left = build.sub(build.sub(self._offset(after), self._offset(component)), low)
        end = flow.branch(build.more(left, 0))
        ends = build.at_most(self._first_tile(after, first, rows), build.add(tile, 1))
        scf.yield_([arith.select(ends, after, component)])
        with ir.InsertionPoint(end):
            size = build.minimum(left, rows)
        block = self.forall.regions[0].blocks[0]
        block.arguments[0].replace_all_uses_with(component)
        for op in body_ops(block):
            if op not in self.group.ops:
                op.move_before(end)
        narrow(self.group, low, size, rows, end)

    def _offset(self, at: build.Mixed) -> ir.Value:
        return build.to_index(memref.load(self.offsets, [build.value(at)]))

    def _first_tile(self, component: ir.Value, first: ir.Value, rows: int) -> ir.Value:
        """The tiles before those of a component."""
        return build.value(build.add(build.divide(build.sub(self._offset(component), first), rows), component))
