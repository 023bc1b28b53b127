"""Loops over rows: what these are folded into, one row, is in registers, and short rows lie side by side in vectors."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import body_ops, byte_size, constant_int, definer, is_float, is_made_in, made_by
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.buffers.subviews import is_address
from ragged_dialect.lowering.loops.annotations import keep_rolled
from ragged_dialect.lowering.nests.combiners import Combiner
from ragged_dialect.lowering.nests.masked import Mask
from ragged_dialect.lowering.vector import settled
from ragged_dialect.lowering.vector.body import Body, Unfit, accessed, apart, body_of, free_combiner
from ragged_dialect.lowering.vector.columns import joined, picked
from ragged_dialect.lowering.vector.emit import SHORTEST, counted, full
from ragged_dialect.lowering.vector.lanes import first_lanes, lanes_type, splat
from ragged_dialect.lowering.vector.machine import Registers
from ragged_dialect.lowering.vector.step import Step

_REGISTERS = 8
"""Vector registers that several rows side by side may have."""


class Several(NamedTuple):
    """Rows that lie side by side in `parts` vectors of some `lanes`: a power of two of them."""

    parts: int
    lanes: int


@dataclass(frozen=True)
class Kept:
    """A place of the row, by its load and its store: a row goes on from what the one before left."""

    load: ir.Operation
    store: ir.Operation

    @property
    def combiner(self) -> Combiner | None:
        """How elements are folded, where the order of that is free."""
        return free_combiner(self.load.results[0], self.store.operands[0])

    @property
    def is_free(self) -> bool:
        """Whether nothing but that needs what there is so far."""
        found = self.combiner
        if found is None:
            return False
        inside = {*found.ops, self.store}
        values = [self.load.results[0], *(op.results[0] for op in found.ops)]
        return all(use.owner.operation in inside for value in values for use in value.uses)

    def is_count(self, loop: ir.Operation, inner: ir.Operation) -> bool:
        """Whether every row adds the same integer."""
        found = self.combiner
        if found is None or found.ops[0].name != "arith.addi":
            return False
        return not is_made_in(found.element, inner, loop)


@dataclass(frozen=True)
class RowFold:
    """A loop over rows around one along a row of `columns` elements, None where only the data knows: what is `kept` of
    the rows, and what is `counted`, as each adds the same; `beside` is what is done once for a row, `written` stores
    elements of the rows."""

    loop: ir.Operation
    body: Body
    kept: tuple[Kept, ...]
    counted: tuple[Kept, ...]
    columns: int | None
    beside: tuple[ir.Operation, ...]
    written: tuple[ir.Operation, ...]

    @staticmethod
    def of(loop: ir.Operation) -> RowFold | None:
        """What a loop folds; None where it does what no vectors of rows can."""
        ops = body_ops(loop.regions[0].blocks[0])
        inner = [op for op in ops if op.name == "scf.for"]
        beside = tuple(op for op in ops if op.name != "scf.for")
        if len(inner) != 1 or loop.results or inner[0].results or constant_int(loop.operands[2]) != 1:
            return None
        columns, kept = constant_int(inner[0].operands[1]), _kept(loop, inner[0])
        if constant_int(inner[0].operands[0]) != 0 or columns == 0 or kept is None or not all(map(_is_pure, beside)):
            return None
        try:
            body = body_of(inner[0])
        except Unfit:
            return None
        if body.packed is not None or body.accumulators or body.walks or body.gathered or body.falling:
            return None
        stores = [op for op in body.ops if op.name == "memref.store"]
        read = [op.operands[0] for op in beside if op.name == "memref.load"]
        if not stores or not all(apart(x, op.operands[1]) for x in read for op in stores):
            return None
        counted = tuple(one for one in kept if one.is_count(loop, inner[0]))
        written = tuple(op for op in stores if op not in [one.store for one in kept])
        body.reads = not written
        kept = tuple(one for one in kept if one not in counted)
        return RowFold(loop, body, kept, counted, columns, beside, written)

    @property
    def known(self) -> int:
        """The number of columns, where it is known."""
        assert self.columns is not None
        return self.columns

    def fits(self, registers: Registers) -> bool:
        """Whether there are masks for what is left of a row, or nothing is. Rows that LLVM unrolls are its own, unless
        a vector has several."""
        return self._has_registers(registers) or self._has_tiles(registers)

    def _has_registers(self, registers: Registers) -> bool:
        """Whether half of the registers keep a row. Rows in parts, one part after the other, are read across memory:
        maxima of 512 columns take 1.5 times as long so as row by row, with what is kept in memory."""
        if self.columns is None:
            return False
        if self.written and self._several(registers) is None:
            return False  # scans of 128 columns take 1.6 times as long by rows
        lanes, least = _lanes(self.columns), registers.least(max(self.body.wide))
        return lanes <= registers.count // 2 * least and (
            lanes == self.columns or self.body.bytes <= set(registers.masked)
        )

    def _has_tiles(self, registers: Registers) -> bool:
        """Whether a register of columns after the other can go along all rows, since all that is read is either of the
        row alone or of the column alone, as where all pairs of two vectors meet."""
        if self.written or not self.kept or not self.body.bytes <= set(registers.masked):
            return False
        if is_made_in(self.body.loop.operands[1], self.loop):
            return False
        counts = [op for one in (*self.kept, *self.counted) for op in (one.load, one.store)]
        return all(self._is_same(op) for op in self._loads() if op not in counts)

    def _loads(self) -> list[ir.Operation]:
        """What is read of a row."""
        return [op for op in self.body.ops if op.name == "memref.load" and op.results[0] not in self.body.uniform]

    def emit(self, registers: Registers) -> None:
        """Replace the loop by one that carries vectors."""
        self.body.registers = registers
        with ir.InsertionPoint(self.loop), self.loop.location:
            if not self._has_registers(registers):
                self._tiles(registers)
            elif (several := self._several(registers)) is None:
                self._row(self._one_row(), {})
            else:
                self._flat(several)
        self.loop.erase()

    def _tiles(self, registers: Registers) -> None:
        """The loop over rows for each vector of columns; none where there are no rows, and maybe none to read."""
        low, high = list(self.loop.operands)[:2]
        some = build.less(low, high)
        count = arith.select(some, self.body.loop.operands[1], build.value(0))
        widest = max(self.body.wide)
        lanes, least = registers.lanes(widest, len(self.body.ops)), registers.least(widest)
        end = full(build.value(0), count, lanes)
        kept = [one.load for one in (*self.kept, *self.counted)]

        def part(at: ir.Value, lanes: int, mask: ir.Value | None) -> None:
            outside = Step(self.body, lanes, at, mask)
            self._row(outside, {op: outside.load(op) for op in self._loads() if op not in kept})

        flow.strided(0, lanes, end, [], lambda at, _: part(at, lanes, None))
        flow.strided(end, least, count, [], lambda at, _: part(at, least, first_lanes(arith.subi(count, at), least)))

    def _kept_rows(self, at: ir.Value, lanes: int) -> tuple[ir.Value, ir.Value]:
        """The rows from the first to the last that masks of indices keep for some of the columns of a vector."""
        low, high = list(self.loop.operands)[:2]
        combiners = [c for one in self.kept if one.is_free and (c := one.combiner) is not None]
        if len(combiners) == len(self.kept) and not self.written:
            ranges = {self.body.index: (at, build.add(at, lanes - 1))}
            for mask in Mask.all_of(self.loop, self.body.ops, combiners, [False] * len(combiners)):
                low, high = mask.narrow(low, high, ranges)
        return low, high

    @property
    def firsts(self) -> dict[ir.Operation, tuple[ir.Value, ir.Value]]:
        """What each of all that is kept is folded by, where that is the number of the first row for which a condition
        holds, with both: of rows from the last to the first, the last one for which it does. What there was before the
        rows is folded with that one."""
        found: dict[ir.Operation, tuple[ir.Value, ir.Value]] = {}
        for one in self.kept:
            combiner = one.combiner if one.is_free else None
            chosen = None if combiner is None else made_by(combiner.element, "arith.select")
            if combiner is None or chosen is None or combiner.ops[0].name != "arith.minui":
                return {}
            condition, row, none = chosen.operands
            counted = made_by(row, "arith.index_cast")
            rows = self.loop.regions[0].blocks[0].arguments[0]
            if constant_int(none) != -1 or row.type != build.i64() or counted is None or counted.operands[0] != rows:
                return {}
            found[combiner.ops[0]] = condition, row
        return {} if self.written else found

    def _row(self, outside: Step, same: dict[ir.Operation, ir.Value]) -> None:
        """The loop over rows of a vector each; `same` has what is read for all of them."""
        before = [outside.load(one.load) for one in self.kept]
        nothing = [one.combiner.identity() for one in self.kept if one.combiner is not None] if self.firsts else []
        inits = [splat(x, outside.lanes) for x in nothing] or before
        mask = first_lanes(build.value(self.known), outside.lanes) if isinstance(outside, _Scalars) else outside.mask

        def step(row: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            if self.firsts:
                row = arith.subi(arith.addi(low, build.sub(high, 1)), row)
            one = _Row(self, outside.lanes, outside.at, mask, row)
            one.loaded |= same
            return one.run_on(carried)

        low, high = self._kept_rows(outside.at, outside.lanes)
        pure = not (self.counted or self.written)
        combiners = [one.combiner for one in self.kept if one.is_free and one.combiner is not None]
        found = settled.folded(
            combiners if pure and len(combiners) == len(self.kept) else [], low, 1, high, inits, step, across=False
        )
        registers, floats = self.body.registers, all(is_float(one.load.results[0].type) for one in self.kept)
        if found and floats and registers is not None and outside.lanes > registers.least(max(self.body.wide)):
            # What copies would save is less than the branches of what is left over: sums, variances and softmaxes of 64
            # columns take 0.95 of the time on a Zen 5 core, variances of one register of columns up to 1.1, and
            # `argmax`, whose rows are folded as integers, 1.45.
            keep_rolled(definer(found[0]))
        for one, result, old in zip(self.kept, found, before, strict=True):
            combiner = one.combiner if self.firsts else None
            outside.known[one.store.operands[0]] = result if combiner is None else combiner.apply(result, old)
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

    def _several(self, registers: Registers) -> Several | None:
        """The vectors of several rows: one of two registers where that has whole rows, else as many registers as have.
        None where a row is longer than half of them, rows do not lie side by side or may not be put together in any
        order, or something is read that is neither these nor the same row for all."""
        counts = [op for one in self.counted for op in (one.load, one.store)]
        accesses = [op for op in self.body.ops if op.name.startswith("memref.") and op not in counts]
        widths = [byte_size(accessed(op)[0].type.element_type) for op in accesses]
        if not widths or self.columns is None:  # all rows only count
            return None
        least, masked = registers.least(max(widths)), self.body.bytes <= set(registers.masked)
        columns = self.columns
        whole = least % columns == 0
        lanes = 2 * least if whole else math.lcm(columns, least)
        one_row = 2 * columns > (least if whole else lanes) or lanes > _REGISTERS * least
        if one_row or not masked or not all(_is_arithmetic(op) for op in (*self.beside, *self._uniform())):
            return None
        kept = [op for one in self.kept for op in (one.load, one.store)]
        others = [op for op in accesses if op not in kept]
        free = all(one.is_free for one in self.kept)
        if not free or not all(self._is_dense(op) or (op not in self.written and self._is_same(op)) for op in others):
            return None
        return Several(1, lanes) if whole else Several(lanes // least, least)

    def _uniform(self) -> list[ir.Operation]:
        """What is the same for all columns, but for what is read: that is asked for by itself."""
        return [op for op in self.body.ops if op.results and op.results[0] in self.body.uniform]

    def _is_dense(self, access: ir.Operation) -> bool:
        """Whether rows are read or written that lie side by side."""
        buffer, *indices = accessed(access)
        strides, _ = buffer.type.get_strides_and_offset()
        rows = self.loop.regions[0].blocks[0].arguments[0]
        return indices[-2:] == [rows, self.body.index] and strides[-2:] == [self.known, 1]

    def _is_same(self, load: ir.Operation) -> bool:
        """Whether a load reads one row for all rows."""
        *rest, last = load.operands
        return last == self.body.index and not any(is_made_in(x, self.loop, self.body.loop) for x in rest)

    def _flat(self, several: Several) -> None:
        """The loop over as many rows as there are in some vectors; those beyond the last are neither folded nor
        written."""
        parts, lanes = several
        columns = self.known
        combiners = [c for one in self.kept if (c := one.combiner) is not None]
        low, high = list(self.loop.operands)[:2]
        one_row = self._one_row()
        kept = [one.load for one in (*self.kept, *self.counted)]
        same = [op for op in self.body.ops if op.name == "memref.load" and op not in kept and self._is_same(op)]
        at_once = parts * lanes // columns

        def loop(low: ir.Value, high: ir.Value, inits: list[ir.Value], *, masked: bool) -> list[ir.Value]:
            def step(row: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
                left = arith.muli(arith.subi(high, row), build.value(columns))
                rows = {op: one_row.load(op) for op in same}  # in the loop: without rows there may be none to read
                results: list[ir.Value] = []
                for part in range(parts):
                    at, own = build.value(part * lanes), carried[part * len(combiners) : (part + 1) * len(combiners)]
                    mask = first_lanes(arith.subi(left, at), lanes) if masked else None
                    found = _Rows(self, lanes, at, mask, row, rows, part * lanes).run_on(own)
                    pairs = zip(found, own, strict=True)
                    results += found if mask is None else [arith.select(mask, *pair) for pair in pairs]
                return results

            return flow.strided(low, at_once, high, inits, step)

        folded = [splat(c.identity(), lanes) for _ in range(parts) for c in combiners]
        if self.written:  # masked at the end only: see `vectorize`
            end = full(low, high, at_once)
            folded, low = loop(low, end, folded, masked=False), end
        folded = loop(low, high, folded, masked=True)
        for number, (one, combiner) in enumerate(zip(self.kept, combiners, strict=True)):
            own = _row_of(combiner, folded[number :: len(combiners)], columns)
            one_row.known[one.store.operands[0]] = combiner.apply(own, one_row.load(one.load))
            one_row.store(one.store)
        self._count(one_row)

    def _one_row(self) -> Step:
        """The ops on one row, outside of the loop."""
        lanes, columns = _lanes(self.known), self.known
        if lanes != columns and lanes <= SHORTEST:
            return _Scalars(self, lanes)
        mask = None if lanes == columns else first_lanes(build.value(columns), lanes)
        return Step(self.body, lanes, build.value(0), mask)


class _Row(Step):
    """The ops of one iteration over rows, which is at a row; what some loads read is known."""

    def __init__(
        self,
        fold: RowFold,
        lanes: int,
        at: ir.Value,
        mask: ir.Value | None,
        row: ir.Value,
    ) -> None:
        super().__init__(fold.body, lanes, at, mask)
        self.fold, self.firsts = fold, fold.firsts
        self.loaded: dict[ir.Operation, ir.Value] = {}
        self.same[fold.loop.regions[0].blocks[0].arguments[0]] = row

    def run_on(self, carried: list[ir.Value]) -> list[ir.Value]:
        """Make the ops; what becomes of what is carried."""
        self.prepare()
        self.loaded |= {one.load: value for one, value in zip(self.fold.kept, carried, strict=True)}
        self.run([], [])
        return [self.vector(one.store.operands[0]) for one in self.fold.kept]

    def prepare(self) -> None:
        """Make what is done once for a row."""
        for op in self.fold.beside:
            clone(op, self.same)

    def load(self, op: ir.Operation) -> ir.Value:
        """What is carried, or is in memory. What is counted is not known before all rows are."""
        if any(op == one.load for one in self.fold.counted):
            return splat(build.constant(op.results[0].type, 0), self.lanes)
        return self.loaded[op] if op in self.loaded else super().load(op)

    def compute(self, op: ir.Operation) -> None:
        """Make an op on vectors; of a row that comes before all others so far, what is asked for is its number."""
        if op not in self.firsts:
            super().compute(op)
            return
        condition, row = self.firsts[op]
        so_far = next(one.load.results[0] for one in self.fold.kept if op.results[0] == one.store.operands[0])
        self.known[op.results[0]] = arith.select(self.vector(condition), self.vector(row), self.vector(so_far))

    def store(self, op: ir.Operation) -> None:
        """Write what a store writes, but for what is kept."""
        if op in self.fold.written:
            super().store(op)


class _Rows(_Row):
    """The ops of one iteration over several rows side by side, from an element on; `same` has rows that are read by
    each."""

    def __init__(
        self,
        fold: RowFold,
        lanes: int,
        at: ir.Value,
        mask: ir.Value | None,
        row: ir.Value,
        same: dict[ir.Operation, ir.Value],
        first: int,
    ) -> None:
        super().__init__(fold, lanes, at, mask, row)
        self.firsts = {}  # these rows come from the first to the last
        places = [divmod(first + lane, fold.known) for lane in range(lanes)]
        rows = arith.addi(splat(row, lanes), _numbers([row for row, _ in places]))
        self.known |= {
            fold.loop.regions[0].blocks[0].arguments[0]: rows,
            fold.body.index: _numbers([column for _, column in places]),
        }
        for op, found in same.items():
            self.loaded[op] = picked(found, [column for _, column in places])

    def prepare(self) -> None:
        """Make what differs from row to row, which is in a vector."""
        for op in self.fold.beside:
            self.compute(op)

    def shift(self, op: ir.Operation) -> None:
        """No access has such an index, which may be one of a row."""

    def uniform(self, op: ir.Operation) -> None:
        """Make what differs from row to row."""
        self.compute(op)


class _Scalars(Step):
    """The ops on one row that is read and written by elements: LLVM unrolls loops over so few, and what was written by
    elements is not yet there for a load with a mask, nor the other way round (30 ns on a Zen 5 core)."""

    def __init__(self, fold: RowFold, lanes: int) -> None:
        super().__init__(fold.body, lanes, build.value(0), None)
        self._columns = fold.known

    def _places(self, access: ir.Operation, first: int) -> tuple[ir.Value, list[list[ir.Value]]]:
        buffer, *places = [self.same.get(x, x) for x in list(access.operands)[first:]]
        return buffer, [[*places[:-1], build.add(places[-1], column)] for column in range(self._columns)]

    def load(self, op: ir.Operation) -> ir.Value:
        """The elements in a vector, which is zero beyond."""
        buffer, places = self._places(op, 0)
        row = splat(build.constant(op.results[0].type, 0), self.lanes)
        for column, place in enumerate(places):
            row = vector.insert(memref.load(buffer, place), row, [], [column])
        return row

    def store(self, op: ir.Operation) -> None:
        """The elements of a vector, one by one."""
        buffer, places = self._places(op, 1)
        row = self.vector(op.operands[0])
        for column, place in enumerate(places):
            memref.store(vector.extract(row, [], [column]), buffer, place)


def _lanes(columns: int) -> int:
    """Lanes for a row."""
    return 1 << (columns - 1).bit_length()


def _numbers(numbers: list[int]) -> ir.Value:
    type_ = lanes_type(len(numbers), build.index_type())
    return arith.constant(
        type_, ir.DenseElementsAttr.get([ir.IntegerAttr.get(build.index_type(), n) for n in numbers], type_)
    )


def _row_of(combiner: Combiner, parts: list[ir.Value], columns: int) -> ir.Value:
    """Rows side by side in some vectors folded as a tree, halves with each other, into one, in the first lanes of a
    power of two."""
    rows = joined(parts)
    count = rows.type.shape[0]
    while count > columns:
        count //= 2
        lanes = 1 << (count - 1).bit_length()
        first = build.lanes_of(rows, 0, lanes)
        last = rows.type.shape[0] - 1
        second = picked(rows, [min(count + lane, last) for lane in range(lanes)])
        rows = combiner.apply(second, first)
    return rows


def _kept(loop: ir.Operation, inner: ir.Operation) -> tuple[Kept, ...] | None:
    """Places that are the same for all rows; None where one is not read once before it is written."""
    ops = [op.operation for op in inner.regions[0].blocks[0].operations]
    index = inner.regions[0].blocks[0].arguments[0]
    found: list[Kept] = []
    for store in [op for op in ops if op.name == "memref.store"]:
        place = list(store.operands)[1:]
        loads = [op for op in ops if op.name == "memref.load" and list(op.operands) == place]
        outside = all(x == index or not is_made_in(x, inner, loop) for x in place)
        if outside and len(loads) == 1:
            found.append(Kept(loads[0], store))
        elif outside:
            return None
    return tuple(found)


def _is_arithmetic(op: ir.Operation) -> bool:
    return op.name.startswith("arith.") and len(op.results) == 1


def _is_pure(op: ir.Operation) -> bool:
    """Whether an op writes nothing; a branch does not if none of its ops does."""
    if op.name == "scf.if":
        return all(_is_pure(inner) for inner in ops_in(op) if inner != op)
    pure = ("memref.load", "memref.prefetch", "scf.yield")
    return op.name.startswith(("arith.", "math.")) or op.name in pure or is_address(op)
