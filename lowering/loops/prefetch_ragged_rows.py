"""`prefetch-ragged-rows`: rows of large tables are asked for before they are looked up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import byte_size, constant_int, defining_op, is_made_in, is_number, made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.vector.machine import CACHE_LINE
from ragged_dialect.passes.base import RaggedPass

_AHEAD = 8192
"""Bytes of rows that are asked for before they are read. On a Zen 5 core bags of 60 rows of 64 float32, of tables of
200,000 and 1,000,000, take 0.5 to 0.6 of the time so, with half as many 0.75 to 0.8, and with a quarter as long as
without."""

_LARGE = 1 << 19
"""Bytes of tables from which on rows are asked for: half of a second cache of 1 MB, as Zen 5 has. Bags take up to 1.4
times as long with it where the table is in the first cache, and as long where it is in the second."""


class PrefetchRaggedRows(RaggedPass):
    """Let loops over rows of a table, whose numbers are in memory, ask for those that come later.

    ```mlir
    scf.for %k = %lo to %hi step %c1 { %id = memref.load %ids[%k] … scf.for %f … { memref.load %table[%id, %f] … } }
    // becomes
    %large = … memref.dim %table, %c0 …
    scf.for %k = %lo to %hi step %c1 {
      scf.if %large { %later = memref.load %ids[min(%k + 32, last)] … memref.prefetch %table[%later, %c0] … }
      %id = memref.load %ids[%k] …
    }
    ```

    Processors foresee rows next to each other only. Those of later components are asked for too: a window of a vector
    of numbers is left for what is behind it, up to the end of the vector. The last element of a row is asked for as
    well, since rows seldom begin at a line. Rows of a line and more, of as many columns as are known. Preconditions:
    linalg ops are loops; before vectorize-ragged-loops.
    """

    def run(self, op: ir.Operation) -> None:
        """Ask in every loop over rows of a module."""
        for loop in find_ops(op, "scf.for"):
            inner = [o.operation for o in loop.regions[0].blocks[0].operations if o.operation.name == "scf.for"]
            if len(inner) == 1 and constant_int(loop.operands[2]) == 1 and len(find_ops(inner[0], "scf.for")) == 1:
                for lookup in dict.fromkeys(_lookups(loop, inner[0])):
                    lookup.ask()


@dataclass(frozen=True)
class _Lookup:
    """Rows of a table, by the indices before the last one, of which a loop reads some `columns` from the `first` one
    on; the ops that make the indices of that of the loop, in order."""

    loop: ir.Operation
    table: ir.Value
    indices: tuple[ir.Value, ...]
    first: ir.Value
    columns: int
    ops: tuple[ir.Operation, ...]

    def ask(self) -> None:
        """Ask for a later row at the start of the loop's body."""
        size = byte_size(self.table.type.element_type)
        row = self.columns * size
        body = self.loop.regions[0].blocks[0]
        with ir.InsertionPoint(self.loop), self.loop.location:
            large = build.at_least(memref.dim(self.table, build.value(0)), -(-_LARGE // row))
        with ir.InsertionPoint.at_block_begin(body), self.loop.location, flow.when(large):
            known: ValueMap = {}
            for op in self.ops:
                if op.name == "memref.load":
                    known[op.results[0]] = self._later(op.operands[0], max(_AHEAD // row, 1))
                else:
                    clone(op, known)
            place = [known.get(x, x) for x in self.indices]
            last = self.columns - 1
            for column in (*range(0, last, CACHE_LINE // size), last):
                memref.prefetch(self.table, [*place, build.value(build.add(self.first, column))], False, 3, True)

    def _later(self, numbers: ir.Value, ahead: int) -> ir.Value:
        """An entry of a vector some places behind that of the loop, or its last one; behind a window of it, too."""
        at: Mixed = build.add(self.loop.regions[0].blocks[0].arguments[0], ahead)
        view = made_by(numbers, "memref.subview")
        if view is not None and list(view.attributes["static_strides"]) == [1]:
            (offset,) = view.attributes["static_offsets"]
            numbers, at = view.operands[0], build.add(at, view.operands[1] if offset == DYNAMIC else offset)
        last = build.sub(memref.dim(numbers, build.value(0)), 1)
        return memref.load(numbers, [build.value(build.minimum(at, last))])


def _lookups(loop: ir.Operation, inner: ir.Operation) -> Iterator[_Lookup]:
    """The rows that the loop in a loop over rows reads along."""
    columns, first = _columns(inner), inner.operands[0]
    index = inner.regions[0].blocks[0].arguments[0]
    if columns is None or constant_int(inner.operands[2]) != 1 or is_made_in(first, loop):
        return
    loads = [op.operation for op in inner.regions[0].blocks[0].operations if op.operation.name == "memref.load"]
    for op in loads:  # those of a branch may be at what is made in it
        table, *indices = op.operands
        if len(indices) < 2 or indices.pop() != index or not is_number(op.results[0].type):
            continue
        if is_made_in(table, loop, inner):
            continue
        ops = _made_of(indices, loop, inner)
        size = byte_size(table.type.element_type)
        if ops is not None and any(o.name == "memref.load" for o in ops) and columns * size >= CACHE_LINE:
            yield _Lookup(loop, table, tuple(indices), first, columns, tuple(ops))


def _columns(inner: ir.Operation) -> int | None:
    """How many iterations a loop has: all or, of a block of some, at most."""
    low, high = (constant_int(x) for x in list(inner.operands)[:2])
    if low is not None and high is not None:
        return high - low
    least = made_by(inner.operands[1], "arith.minsi")
    end = None if least is None else made_by(least.operands[0], "arith.addi")
    return None if end is None or end.operands[0] != inner.operands[0] else constant_int(end.operands[1])


def _made_of(values: list[ir.Value], loop: ir.Operation, inner: ir.Operation) -> list[ir.Operation] | None:
    """The ops in two loops that make values of entries of vectors at the index of the outer one, in order; None where
    others do."""
    row = loop.regions[0].blocks[0].arguments[0]
    found: list[ir.Operation] = []
    for value in values:
        if not is_made_in(value, loop, inner) or any(value in op.results for op in found):
            continue
        op = defining_op(value)
        if op is None:
            return None
        if op.name == "memref.load":
            if list(op.operands)[1:] != [row] or is_made_in(op.operands[0], loop, inner):
                return None
        else:
            before = _made_of([x for x in op.operands if x != row], loop, inner)
            if not op.name.startswith("arith.") or before is None or row in op.operands:
                return None
            found += [o for o in before if o not in found]
        found.append(op)
    return found
