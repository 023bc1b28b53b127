"""Loops over rows that fold them into one row, which stays in registers."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, scf
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import constant_int, defining_op
from ragged_dialect.lowering.buffers import is_address
from ragged_dialect.lowering.combiners import Combiner
from ragged_dialect.lowering.vector.body import Body, Unfit, apart, body_of, free_combiner
from ragged_dialect.lowering.vector.emit import SHORTEST, Step, counted, first_lanes, halved, splat
from ragged_dialect.lowering.vector.machine import Registers

_REGISTERS = 8
"""Vector registers that a row may have: half of those of AVX2. Rows in parts, one part after the other, are read across
memory: maxima of 256 columns took 1.3 times as long so as row by row, with what is kept in memory."""


@dataclass(frozen=True)
class Kept:
    """A place of the row, by its load and its store: a row goes on from what the one before left."""

    load: ir.Operation
    store: ir.Operation

    @property
    def combiner(self) -> Combiner | None:
        """How elements are folded, where the order of that is free."""
        return free_combiner(self.load.results[0], self.store.operands[0])

    def is_count(self, loop: ir.Operation, inner: ir.Operation) -> bool:
        """Whether every row adds the same integer."""
        found = self.combiner
        if found is None or found.ops[0].name != "arith.addi":
            return False
        return not (_is_in(inner, found.element) or _is_in(loop, found.element))


@dataclass(frozen=True)
class RowFold:
    """A loop over rows around one along a row of `columns` elements: what is `kept` of the rows, and what is `counted`,
    as each adds the same; `beside` is what is done once for a row."""

    loop: ir.Operation
    body: Body
    kept: tuple[Kept, ...]
    counted: tuple[Kept, ...]
    columns: int
    beside: tuple[ir.Operation, ...]

    @staticmethod
    def of(loop: ir.Operation) -> RowFold | None:
        """What a loop folds; None where it does anything else."""
        ops = [op.operation for op in list(loop.regions[0].blocks[0].operations)[:-1]]
        inner = [op for op in ops if op.name == "scf.for"]
        beside = tuple(op for op in ops if op.name != "scf.for")
        if len(inner) != 1 or loop.results or inner[0].results or constant_int(loop.operands[2]) != 1:
            return None
        columns, kept = constant_int(inner[0].operands[1]), _kept(loop, inner[0])
        if constant_int(inner[0].operands[0]) != 0 or not columns or not kept or not all(map(_is_pure, beside)):
            return None
        try:
            body = body_of(inner[0])
        except Unfit:
            return None
        if body.run is not None or body.accumulators:
            return None
        if sum(op.name == "memref.store" for op in body.ops) > len(kept):  # scans of 128 columns take 1.6 times as long
            return None
        read = [op.operands[0] for op in beside if op.name == "memref.load"]
        if not all(apart(x, op.operands[1]) for x in read for op in body.ops if op.name == "memref.store"):
            return None
        counted = tuple(one for one in kept if one.is_count(loop, inner[0]))
        body.reads = True
        return RowFold(loop, body, tuple(one for one in kept if one not in counted), counted, columns, beside)

    def fits(self, registers: Registers) -> bool:
        """Whether there are masks for what is left of a row, or nothing is. Rows that LLVM unrolls are its own, unless
        a vector has several."""
        if self.columns < SHORTEST and not self._several(registers):
            return False
        lanes, least = self._lanes, registers.least(max(self.body.wide))
        return lanes <= _REGISTERS * least and (lanes == self.columns or self.body.bytes <= set(registers.masked))

    @property
    def _lanes(self) -> int:
        return 1 << (self.columns - 1).bit_length()

    def emit(self, registers: Registers) -> None:
        """Replace the loop by one that carries vectors."""
        with ir.InsertionPoint(self.loop), self.loop.location:
            several = self._several(registers)
            if several:
                self._flat(several)
            else:
                self._row()
        self.loop.erase()

    def _row(self) -> None:
        """The loop over rows of a vector each."""
        at, lanes = build.value(0), self._lanes
        mask = None if lanes == self.columns else first_lanes(build.value(self.columns), lanes)
        outside = Step(self.body, lanes, at, mask)
        inits = [outside.load(one.load) for one in self.kept]
        made = scf.ForOp(*list(self.loop.operands)[:3], inits)
        with ir.InsertionPoint(made.body):
            step = _Row(self, lanes, at, mask, made.induction_variable)
            scf.yield_(step.run_on(list(made.inner_iter_args)))
        for one, result in zip(self.kept, made.results, strict=True):
            outside.known[one.store.operands[0]] = result
            outside.store(one.store)
        self._count(outside)

    def _count(self, outside: Step) -> None:
        """Add what all rows together add to what is counted."""
        low, high = list(self.loop.operands)[:2]
        for one in self.counted:
            assert one.combiner is not None
            total = splat(counted(one.combiner.element, low, high), outside.lanes)
            outside.known[one.store.operands[0]] = one.combiner.apply(total, outside.load(one.load))
            outside.store(one.store)

    # Several rows in a vector ------------------------------------------------------------------------

    def _several(self, registers: Registers) -> int:
        """The lanes of several rows; 0 where a vector has one: where rows are no power of two or do not lie side by
        side, something else is read, or they may not be put together in any order."""
        least, masked = registers.least(max(self.body.wide)), self.body.bytes <= set(registers.masked)
        one_row = self.columns & (self.columns - 1) != 0 or 2 * self.columns > least
        if one_row or not masked or self.beside or self.body.uniform:
            return 0
        kept = [op for one in (*self.kept, *self.counted) for op in (one.load, one.store)]
        others = [op for op in self.body.ops if op.name.startswith("memref.") and op not in kept]
        free = all(one.combiner is not None for one in self.kept)
        dense = all(op.name == "memref.load" and self._is_dense(op) for op in others)
        return 2 * least if free and dense else 0

    def _is_dense(self, load: ir.Operation) -> bool:
        buffer, *indices = load.operands
        strides, _ = buffer.type.get_strides_and_offset()
        rows = self.loop.regions[0].blocks[0].arguments[0]
        return indices[-2:] == [rows, self.body.index] and strides[-2:] == [self.columns, 1]

    def _flat(self, lanes: int) -> None:
        """The loop over as many rows as there are in a vector; those beyond the last are not folded."""
        columns = self.columns
        combiners = [one.combiner for one in self.kept]
        low, high = list(self.loop.operands)[:2]
        inits = [splat(c.identity(), lanes) for c in combiners if c is not None]
        made = scf.ForOp(low, high, build.value(lanes // columns), inits)
        with ir.InsertionPoint(made.body):
            row, carried = made.induction_variable, list(made.inner_iter_args)
            mask = first_lanes(arith.muli(arith.subi(high, row), build.value(columns)), lanes)
            results = _Row(self, lanes, build.value(0), mask, row).run_on(carried)
            scf.yield_([arith.select(mask, new, old) for new, old in zip(results, carried, strict=True)])
        outside = Step(self.body, columns, build.value(0), None)
        for one, combiner, total in zip(self.kept, combiners, made.results, strict=True):
            assert combiner is not None
            own = halved(combiner, total, lanes, columns)
            outside.known[one.store.operands[0]] = combiner.apply(own, outside.load(one.load))
            outside.store(one.store)
        self._count(outside)


class _Row(Step):
    """The ops of one iteration over rows, which is at a row."""

    def __init__(self, fold: RowFold, lanes: int, at: ir.Value, mask: ir.Value | None, row: ir.Value) -> None:
        super().__init__(fold.body, lanes, at, mask)
        self.fold = fold
        self.same[fold.loop.regions[0].blocks[0].arguments[0]] = row

    def run_on(self, carried: list[ir.Value]) -> list[ir.Value]:
        """Make the ops; what becomes of what is carried."""
        for op in self.fold.beside:
            clone(op, self.same)
        self._carried = {one.load: value for one, value in zip(self.fold.kept, carried, strict=True)}
        self.run([], [])
        return [self.vector(one.store.operands[0]) for one in self.fold.kept]

    def load(self, op: ir.Operation) -> ir.Value:
        """What is carried, or is in memory."""
        return self._carried[op] if op in self._carried else super().load(op)

    def store(self, op: ir.Operation) -> None:
        """What is kept is not written."""


def _kept(loop: ir.Operation, inner: ir.Operation) -> tuple[Kept, ...]:
    """Places that are the same for all rows."""
    ops = [op.operation for op in inner.regions[0].blocks[0].operations]
    index = inner.regions[0].blocks[0].arguments[0]
    found: list[Kept] = []
    for store in [op for op in ops if op.name == "memref.store"]:
        place = list(store.operands)[1:]
        loads = [op for op in ops if op.name == "memref.load" and list(op.operands) == place]
        outside = all(x == index or not (_is_in(inner, x) or _is_in(loop, x)) for x in place)
        if outside and len(loads) == 1:
            found.append(Kept(loads[0], store))
        elif outside:
            return ()
    return tuple(found)


def _is_in(loop: ir.Operation, value: ir.Value) -> bool:
    """Whether a loop, but none in it, makes a value."""
    op = defining_op(value)
    block = value.owner if op is None else op.block
    return block == loop.regions[0].blocks[0]


def _is_pure(op: ir.Operation) -> bool:
    return op.name.startswith(("arith.", "math.")) or op.name == "memref.load" or is_address(op)
