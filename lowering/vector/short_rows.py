"""Loops over short rows, one of which is in each lane of a vector: rows need not wait for their own sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.fast_math import flags_of, give_flags
from ragged_dialect.ir.match import body_ops, byte_size, constant_int, defining_op, entry_of
from ragged_dialect.lowering.loops.annotations import keep_rolled
from ragged_dialect.lowering.vector.body import Unfit, apart, body_of, require_element, require_vector_form, strides_of
from ragged_dialect.lowering.vector.columns import columns_of, largest_factor, rows_of
from ragged_dialect.lowering.vector.emit import SHORTEST, full
from ragged_dialect.lowering.vector.lanes import first_lanes, lanes_type, load_lanes, numbers_from, splat, store_lanes
from ragged_dialect.lowering.vector.machine import CACHE_LINE, Registers
from ragged_dialect.lowering.vector.step import of_lanes

_LONGEST = 32
"""Columns of a row at most: as many registers as AVX-512 has."""

_FOLDED = 12
"""Columns up to which rows that are not scans are in lanes: with AVX-512 softmaxes of 9 to 12 float32 take 0.3 to 0.4
of the time, layer norms 0.7 to 1.1; from 14 on softmaxes take 0.7, but layer norms 1.6."""

_LARGEST_FACTOR = 7
"""Of the number of columns: registers are taken apart by its prime factors, by that many shuffles each."""

_UNROLLED = 128
"""Ops of all columns together up to which there is code for each column: more takes longer to compile."""


@dataclass(frozen=True)
class Place:
    """What a load reads or a store writes: an element of a `row`, next to those of other rows; one of a `column` of the
    rows, which lie one after the other; or the `same` for all rows."""

    kind: Literal["row", "column", "same"]
    buffer: ir.Value
    indices: tuple[ir.Value, ...]

    @property
    def element(self) -> ir.Type:
        """The type of its elements."""
        return self.buffer.type.element_type


@dataclass(frozen=True)
class ShortRows:
    """A loop over rows around one over `columns` of each, which goes from column to column with what is kept of a row
    in memory; the accesses in it by their ops."""

    loop: ir.Operation
    inner: ir.Operation
    columns: int
    places: dict[ir.Operation, Place]

    @staticmethod
    def of(loop: ir.Operation) -> ShortRows | None:
        """The rows of a loop; None where it has others, or does anything but that."""
        ops = body_ops(loop.regions[0].blocks[0])
        if len(ops) != 1 or ops[0].name != "scf.for" or loop.results or constant_int(loop.operands[2]) != 1:
            return None
        if not isinstance(ops[0].operands[0].type, ir.IndexType):
            return None
        low, high, step = (constant_int(x) for x in list(ops[0].operands)[:3])
        if low != 0 or step != 1 or high is None or not 1 < high <= _LONGEST or ops[0].results:
            return None
        if largest_factor(high) > _LARGEST_FACTOR:
            return None
        made = ShortRows(loop, ops[0], high, {})
        try:
            for op in made.ops:
                made._classify(op)
        except Unfit:
            return None
        stored = {place for op, place in made.places.items() if op.name == "memref.store"}
        if not any(place.kind == "row" for place in made.places.values()) or any(x.kind == "same" for x in stored):
            return None
        known = set(made.places.values())
        if not all(apart(a.buffer, b.buffer) for a in stored for b in known if a != b):
            return None
        return made

    @property
    def ops(self) -> list[ir.Operation]:
        """What is done for each element."""
        return body_ops(self.inner.regions[0].blocks[0])

    @property
    def row(self) -> ir.Value:
        """The number of a row."""
        return self.loop.regions[0].blocks[0].arguments[0]

    @property
    def column(self) -> ir.Value:
        """The number of a column."""
        return self.inner.regions[0].blocks[0].arguments[0]

    def _classify(self, op: ir.Operation) -> None:
        if op.name not in ("memref.load", "memref.store"):
            require_vector_form(op)
            return
        buffer, *indices = list(op.operands)[op.name == "memref.store" :]
        require_element(buffer.type.element_type)
        strides = strides_of(buffer)
        inside = [self._is_inside(x) for x in indices]
        if self._is_inside(buffer) or any(
            here and x not in (self.row, self.column) for here, x in zip(inside, indices)
        ):
            raise Unfit("a place that is computed")
        if not any(x == self.row for x in indices):
            kind = "same"
        elif indices[-1] == self.row and strides[-1] == 1 and inside.count(True) == 1:
            kind = "row"
        elif indices[-2:] == [self.row, self.column] and strides[-2:] == [self.columns, 1] and inside.count(True) == 2:
            kind = "column"
        else:
            raise Unfit("an access across memory")
        self.places[op] = Place(kind, buffer, tuple(indices))

    def _is_inside(self, value: ir.Value) -> bool:
        op = defining_op(value)
        block = value.owner if op is None else op.block
        return block in (self.row.owner, self.column.owner)

    def fits(self, registers: Registers) -> bool:
        """Whether this is faster than what else there is: rows of less than eight columns are unrolled by LLVM, which
        takes registers of four rows apart as well. Long ones, but for scans, run along memory, and so do those that are
        whole registers, where they are only folded, or only written (sums of 8 float64 take 0.6 of the time so)."""
        lanes = self.lanes(registers)
        if self.columns < SHORTEST:
            return lanes >= SHORTEST
        try:
            if not body_of(self.inner).gathers(registers):
                return True
        except Unfit:
            return True
        stored = {self.places[op].kind for op in self.ops if op.name == "memref.store"}
        return self.columns <= _FOLDED and (self.columns % lanes != 0 or len(stored) > 1)

    def lanes(self, registers: Registers) -> int:
        """Rows of a vector."""
        values = [x for op in self.ops for x in (*op.operands, *op.results) if x not in (self.row, self.column)]
        return registers.least(max(byte_size(x.type) for x in values if not isinstance(x.type, ir.MemRefType)))

    def emit(self, registers: Registers) -> None:
        """Replace the loop by one over as many rows as a vector has lanes. What is left of the rows has masks, where
        the processor has these, else the loop as it was."""
        for op in self.ops:  # the same for rows of both loops
            if "fastmath" in op.attributes:
                give_flags(op, flags_of(op) - {"reassoc"})
        lanes = self.lanes(registers)
        masked = {byte_size(place.element) for place in self.places.values()} <= set(registers.masked)
        low, high = list(self.loop.operands)[:2]
        with ir.InsertionPoint(self.loop), self.loop.location:
            end = high if masked else full(low, high, lanes)

            def tile(first: ir.Value, _: list[ir.Value]) -> None:
                _Tile(self, first, registers, arith.subi(high, first) if masked else None).run()

            flow.strided(low, lanes, end, [], tile)
        if masked:
            self.loop.erase()
        else:
            self.loop.operands[0] = end
            keep_rolled(self.inner)


class _Tile:
    """As many rows as there are lanes, from one on, or fewer if that is all that is `left`."""

    def __init__(self, rows: ShortRows, first: ir.Value, registers: Registers, left: ir.Value | None) -> None:
        self.rows, self.first, self.registers, self.left = rows, first, registers, left
        self.lanes = lanes = rows.lanes(registers)
        self.whole = None if left is None else build.at_least(left, lanes)
        self.loaded = self._places("memref.load")
        self.stored = self._places("memref.store")

    def _places(self, name: str) -> list[Place]:
        found = dict.fromkeys(self.rows.places[op] for op in self.rows.ops if op.name == name)
        return [place for place in found if place.kind != "same"]

    def run(self) -> None:
        """Load what there is of the rows, go from column to column, and store what was written."""
        held = {place: self._load(place) for place in self.loaded}
        for place in self.stored:
            held.setdefault(place, [])
        if len(self.rows.ops) * self.rows.columns <= _UNROLLED:
            for column in range(self.rows.columns):
                self._column(build.value(column), _Held(held, column))
        else:
            self._loop(held)
        for place in self.stored:
            self._store(place, held[place])

    def _loop(self, held: dict[Place, list[ir.Value]]) -> None:
        """A loop over the columns, which are in memory of its own."""
        count = self.rows.columns
        rows = [place for place in held if place.kind == "row"]
        with ir.InsertionPoint(entry_of(self.rows.loop)):
            shapes = {
                place: ir.MemRefType.get([count, self.lanes], place.element) for place in held if place not in rows
            }
            room = {place: memref.alloca(type_, [], [], alignment=CACHE_LINE) for place, type_ in shapes.items()}
        for place, memory in room.items():
            for column, value in enumerate(held[place]):
                vector.store(value, memory, [build.value(column), build.value(0)])
        zeros = {place: splat(build.constant(place.element, 0), self.lanes) for place in rows}

        def step(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            kept = _InMemory(dict(zip(rows, carried, strict=True)), room, (number, build.value(0)))
            self._column(number, kept)
            return [kept.rows[place] for place in rows]

        made = flow.for_loop(count, [(held[place] or [zeros[place]])[0] for place in rows], step)
        held.update((place, [result]) for place, result in zip(rows, made, strict=True))
        for place in self.stored:
            if place in room:
                columns = [[build.value(column), build.value(0)] for column in range(count)]
                held[place] = [vector.load(lanes_type(self.lanes, place.element), room[place], at) for at in columns]

    def _column(self, column: ir.Value, kept: _Held | _InMemory) -> None:
        """The ops for the elements of a column."""
        rows, known = self.rows, {self.rows.column: splat(column, self.lanes)}
        for op in rows.ops:
            place = rows.places.get(op)
            if place is None:
                operands = [self._vector(x, known) for x in op.operands]
                known[op.results[0]] = of_lanes(op, operands, self.lanes, self.registers)
            elif place.kind == "same":
                there = [column if x == rows.column else x for x in place.indices]
                known[op.results[0]] = splat(memref.load(place.buffer, there), self.lanes)
            elif op.name == "memref.load":
                known[op.results[0]] = kept.load(place)
            else:
                kept.store(place, self._vector(op.operands[0], known))

    def _vector(self, value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
        if value not in known:
            known[value] = numbers_from(self.first, self.lanes) if value == self.rows.row else splat(value, self.lanes)
        return known[value]

    # Memory ------------------------------------------------------------------------------------------

    def _registers(self, place: Place, masked: bool) -> list[tuple[list[ir.Value], ir.Value | None]]:
        """Where the registers of a place are, and the masks of what is left of the rows."""
        count = self.rows.columns if place.kind == "column" else 1
        found: list[tuple[list[ir.Value], ir.Value | None]] = []
        for k in range(count):
            at = [self.first if x == self.rows.row else x for x in place.indices]
            if place.kind == "column":
                at[-1] = build.value(k * self.lanes)
            mask = None
            if masked and self.left is not None:
                mask = first_lanes(build.value(build.sub(build.mul(self.left, count), k * self.lanes)), self.lanes)
            found.append((at, mask))
        return found

    def _load(self, place: Place) -> list[ir.Value]:
        type_ = lanes_type(self.lanes, place.element)

        def load(masked: bool) -> list[ir.Value]:
            return [load_lanes(type_, place.buffer, at, mask) for at, mask in self._registers(place, masked)]

        count = self.rows.columns if place.kind == "column" else 1
        return columns_of(self._by_need(load, [type_] * count))

    def _store(self, place: Place, values: list[ir.Value]) -> None:
        rows = rows_of(values)

        def store(masked: bool) -> list[ir.Value]:
            for (at, mask), value in zip(self._registers(place, masked), rows, strict=True):
                store_lanes(value, place.buffer, at, mask)
            return []

        self._by_need(store)

    def _by_need(self, access: Callable[[bool], list[ir.Value]], types: Sequence[ir.Type] = ()) -> list[ir.Value]:
        """What an access gives, with masks where not all rows are left: masked stores take ten cycles and more on some
        processors (AMD's)."""
        if self.whole is None:
            return access(False)
        return flow.choose(self.whole, lambda: access(False), lambda: access(True), types)


@dataclass(frozen=True)
class _Held:
    """Vectors at a column whose number is known, one for the rows or one for each column."""

    held: dict[Place, list[ir.Value]]
    number: int

    def load(self, place: Place) -> ir.Value:
        """That of a place."""
        return self.held[place][self.number if place.kind == "column" else 0]

    def store(self, place: Place, value: ir.Value) -> None:
        """Put it there."""
        at = self.number if place.kind == "column" else 0
        self.held[place][at : at + 1] = [value]


@dataclass(frozen=True)
class _InMemory:
    """Vectors at a column of a loop: those of rows, and memory for those of columns."""

    rows: dict[Place, ir.Value]
    room: dict[Place, ir.Value]
    at: tuple[ir.Value, ir.Value]

    def load(self, place: Place) -> ir.Value:
        """That of a place."""
        if place in self.rows:
            return self.rows[place]
        memory = self.room[place]
        return vector.load(lanes_type(memory.type.shape[1], place.element), memory, self.at)

    def store(self, place: Place, value: ir.Value) -> None:
        """Put it there."""
        if place in self.rows:
            self.rows[place] = value
        else:
            vector.store(value, self.room[place], self.at)
