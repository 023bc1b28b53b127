"""Loops over short rows, one of which is in each lane of a vector: rows need not wait for their own sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, scf, vector
from ragged_dialect.ir import build
from ragged_dialect.ir.fast_math import flags_of, give_flags
from ragged_dialect.ir.match import constant_int, defining_op
from ragged_dialect.lowering.loop_annotations import LOOP, NOT_UNROLLED
from ragged_dialect.lowering.vector.body import Unfit, apart, body_of, require_vector_form, width
from ragged_dialect.lowering.vector.emit import first_lanes, full, lanes_type, of_lanes, splat
from ragged_dialect.lowering.vector.machine import Registers

_LONGEST = 16
"""Columns of a row at most: as many registers, half of AVX-512's."""


@dataclass(frozen=True)
class Place:
    """What a load reads or a store writes of a row: `by_row` elements next to those of other rows, by column one of the
    elements of the row, which lie next to each other, or `same` for all rows."""

    kind: str
    buffer: ir.Value
    indices: tuple[ir.Value, ...]


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
        ops = [op.operation for op in list(loop.regions[0].blocks[0].operations)[:-1]]
        if len(ops) != 1 or ops[0].name != "scf.for" or loop.results or constant_int(loop.operands[2]) != 1:
            return None
        low, high, step = (constant_int(x) for x in list(ops[0].operands)[:3])
        if low != 0 or step != 1 or high is None or not 1 < high <= _LONGEST or ops[0].results:
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
        return [op.operation for op in list(self.inner.regions[0].blocks[0].operations)[:-1]]

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
        strides, _ = buffer.type.get_strides_and_offset()
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
        """Whether rows have less than two registers, or nothing else makes vectors of them: layer norms of 16 float64
        take two thirds of the time row by row."""
        if self.columns < 2 * self._lanes(registers):
            return True
        try:
            body_of(self.inner)
        except Unfit:
            return True
        return False

    def _lanes(self, registers: Registers) -> int:
        values = [x for op in self.ops for x in (*op.operands, *op.results) if x not in (self.row, self.column)]
        return registers.least(max(width(x.type) for x in values if not isinstance(x.type, ir.MemRefType)))

    def emit(self, registers: Registers) -> None:
        """Replace the loop by one over as many rows as a vector has lanes, and one for what is left of them, with masks
        where the processor has these."""
        for op in self.ops:  # the same for rows of both loops
            if "fastmath" in op.attributes:
                give_flags(op, flags_of(op) - {"reassoc"})
        lanes = self._lanes(registers)
        held = {width(place.buffer.type.element_type) for place in self.places.values()}
        low, high = list(self.loop.operands)[:2]
        with ir.InsertionPoint(self.loop), self.loop.location:
            end = full(low, high, lanes)
            self._tiles(low, end, lanes, masked=False)
            if held <= set(registers.masked):
                self._tiles(end, high, lanes, masked=True)
                self.loop.erase()
            else:
                self.loop.operands[0] = end
                self.inner.attributes[LOOP] = ir.Attribute.parse(NOT_UNROLLED)

    def _tiles(self, low: ir.Value, high: ir.Value, lanes: int, *, masked: bool) -> None:
        made = scf.ForOp(low, high, build.value(lanes))
        with ir.InsertionPoint(made.body):
            left = arith.subi(high, made.induction_variable) if masked else None
            _Tile(self, made.induction_variable, lanes, left).run()
            scf.yield_([])


class _Tile:
    """As many rows as there are lanes, from one on, of which some are `left`."""

    def __init__(self, rows: ShortRows, first: ir.Value, lanes: int, left: ir.Value | None) -> None:
        self.rows, self.first, self.lanes, self.left = rows, first, lanes, left
        self.kept: dict[Place, list[ir.Value]] = {}
        """What is in memory: a vector by row, or one for each column."""

    def run(self) -> None:
        """Load what there is of the rows, go from column to column, and store what was written."""
        places = dict.fromkeys(place for place in self.rows.places.values() if place.kind != "same")
        loaded = {self.rows.places[op] for op in self.rows.ops if op.name == "memref.load"}
        for place in places:
            self.kept[place] = self._load(place) if place in loaded else [None] * self._width(place)
        for column in range(self.rows.columns):
            self._column(column)
        for place in dict.fromkeys(self.rows.places[op] for op in self.rows.ops if op.name == "memref.store"):
            self._store(place, self.kept[place])

    def _width(self, place: Place) -> int:
        return self.rows.columns if place.kind == "column" else 1

    def _column(self, column: int) -> None:
        rows = self.rows
        known = {rows.column: splat(build.value(column), self.lanes)}
        for op in rows.ops:
            place = rows.places.get(op)
            if place is None:
                operands = [self._vector(x, known) for x in op.operands]
                known[op.results[0]] = of_lanes(op, operands, self.lanes)
            elif place.kind == "same":
                there = [build.value(column) if x == rows.column else x for x in place.indices]
                known[op.results[0]] = splat(memref.load(place.buffer, there), self.lanes)
            elif op.name == "memref.load":
                known[op.results[0]] = self.kept[place][column % self._width(place)]
            else:
                self.kept[place][column % self._width(place)] = self._vector(op.operands[0], known)

    def _vector(self, value: ir.Value, known: dict[ir.Value, ir.Value]) -> ir.Value:
        if value not in known:
            known[value] = splat(value, self.lanes) if value != self.rows.row else self._numbers()
        return known[value]

    def _numbers(self) -> ir.Value:
        steps = vector.step(lanes_type(self.lanes, build.index_type()))
        return arith.addi(splat(self.first, self.lanes), steps)

    # Memory ------------------------------------------------------------------------------------------

    def _registers(self, place: Place) -> list[tuple[list[ir.Value], ir.Value | None]]:
        """Where the registers of a place are, and the masks of what is left of the rows."""
        count = self._width(place)
        found: list[tuple[list[ir.Value], ir.Value | None]] = []
        for k in range(count):
            at = [self.first if x == self.rows.row else x for x in place.indices]
            if place.kind == "column":
                at[-1] = build.value(k * self.lanes)
            left = None if self.left is None else build.sub(build.mul(self.left, count), k * self.lanes)
            found.append((at, None if left is None else first_lanes(build.value(left), self.lanes)))
        return found

    def _load(self, place: Place) -> list[ir.Value]:
        element = place.buffer.type.element_type
        type_, found = lanes_type(self.lanes, element), list[ir.Value]()
        for at, mask in self._registers(place):
            if mask is None:
                found.append(vector.load(type_, place.buffer, at))
            else:
                zeros = splat(build.constant(element, 0), self.lanes)
                found.append(vector.maskedload(type_, place.buffer, at, mask, zeros))
        return _columns(found)

    def _store(self, place: Place, values: list[ir.Value]) -> None:
        for (at, mask), value in zip(self._registers(place), _rows(values), strict=True):
            if mask is None:
                vector.store(value, place.buffer, at)
            else:
                vector.maskedstore(place.buffer, at, mask, value)


# Rows and columns ---------------------------------------------------------------------------------


def _columns(registers: list[ir.Value]) -> list[ir.Value]:
    """The columns of rows that lie one after the other in as many registers as there are columns: every `p`th element
    of each `p` registers, for the prime factors of that number."""
    p = _factor(len(registers))
    if p == 1:
        return registers
    lanes = registers[0].type.shape[0]
    groups = [_joined(registers[k : k + p]) for k in range(0, len(registers), p)]
    parts = [_columns([_picked(x, range(j, p * lanes, p)) for x in groups]) for j in range(p)]
    return [parts[k % p][k // p] for k in range(len(registers))]


def _rows(columns: list[ir.Value]) -> list[ir.Value]:
    """The inverse: registers in which rows lie one after the other."""
    p = _factor(len(columns))
    if p == 1:
        return columns
    lanes = columns[0].type.shape[0]
    parts = [_rows(columns[j::p]) for j in range(p)]
    found: list[ir.Value] = []
    for group in zip(*parts, strict=True):
        joined = _joined(group)
        for k in range(p):
            found.append(_picked(joined, [n % p * lanes + n // p for n in range(k * lanes, (k + 1) * lanes)]))
    return found


def _factor(count: int) -> int:
    return next((p for p in range(2, count + 1) if count % p == 0), 1)


def _joined(parts: Sequence[ir.Value]) -> ir.Value:
    """The lanes of some vectors one after the other."""
    found, *others = parts
    for other in others:
        count, more = found.type.shape[0], other.type.shape[0]
        if more < count:  # operands of a shuffle have one type as vectors of LLVM
            other = vector.shuffle(other, other, [min(k, more - 1) for k in range(count)])
        found = vector.shuffle(found, other, list(range(count + more)))
    return found


def _picked(lanes: ir.Value, numbers: Sequence[int]) -> ir.Value:
    return vector.shuffle(lanes, lanes, list(numbers))
