"""Components of at most one register: all that is done to one is done there, with no loop and no memory in between."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import body_ops, byte_size, constant_int, defining_op, made_by, terminator
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.lowering.buffers.subviews import VIEWS
from ragged_dialect.lowering.vector.body import Accumulator, Body, Unfit, accessed, apart, body_of
from ragged_dialect.lowering.vector.emit import before, carried_into, counted, folded_lanes, is_count, total_of
from ragged_dialect.lowering.vector.lanes import first_lanes
from ragged_dialect.lowering.vector.machine import Registers
from ragged_dialect.lowering.vector.step import Step

Row: TypeAlias = "tuple[ir.Value, tuple[ir.Value, ...]]"
"""A place that a loop goes along: a buffer and the indices before the last one, which is that of the loop."""


@dataclass(frozen=True)
class ShortComponents:
    """A loop over components, with several loops along each, one after the other: the ops from where the `length` of a
    component is known on, the loops along it with what they do, and those over `blocks` that some of these are in."""

    loop: ir.Operation
    length: ir.Value
    ops: tuple[ir.Operation, ...]
    bodies: dict[ir.Operation, Body]
    blocks: frozenset[ir.Operation]

    @staticmethod
    def of(loop: ir.Operation) -> ShortComponents | None:
        """What a loop does to a component; None where it has loops along anything else, or fewer than two."""
        ops = body_ops(loop.regions[0].blocks[0])
        inner = [op for op in ops if op.name == "scf.for"]
        if loop.results or len(inner) < 2:
            return None
        length = inner[0].operands[1]
        made = defining_op(length)
        if made is None or made not in ops or not all(_is_whole(op, length) for op in inner):
            return None
        along = {op: op if constant_int(op.operands[2]) == 1 else _along_block(op, length) for op in inner}
        loops = [one for one in along.values() if one is not None]
        if len(loops) < len(inner) or len(find_ops(loop, "scf.for")) > 1 + len({*inner, *loops}):
            return None
        try:
            bodies = {one: body_of(one) for one in loops}
        except Unfit:
            return None
        own = tuple(ops[ops.index(made) + 1 :])
        allocs = [op for op in own if op.name == "memref.alloc"]
        late = any(defining_op(x) in own for op in allocs for x in op.operands)
        if late or any(body.packed is not None or body.walks for body in bodies.values()):
            return None
        return ShortComponents(loop, length, own, bodies, frozenset(op for op in inner if along[op] != op))

    def fits(self, registers: Registers) -> bool:
        """Whether there are masks for all that is read and written, and a block has all of a component."""
        lanes = self._lanes(registers)
        bodies = self.bodies.values()
        fit = all(body.bytes <= set(registers.masked) and body.gathers(registers) for body in bodies)
        return fit and all((constant_int(block.operands[2]) or 0) >= lanes for block in self.blocks)

    def _lanes(self, registers: Registers) -> int:
        """Elements of the widest type in a register."""
        widths = [size for body in self.bodies.values() for size in body.wide]
        for body in self.bodies.values():
            widths += [byte_size(one.element.type) for one in body.accumulators if not is_count(body, one)]
        return registers.least(max(widths, default=8))

    def emit(self, registers: Registers) -> None:
        """Put a branch around the ops, and beside it what is done to a component of one register."""
        lanes = self._lanes(registers)
        for body in self.bodies.values():
            body.registers = registers
        end = terminator(self.loop.regions[0].blocks[0])
        with ir.InsertionPoint(end), self.loop.location:
            rest = arith.subi(self.length, build.value(1))
            short = build.below(rest, lanes)
            choice = scf.IfOp(short, has_else=True)
            with ir.InsertionPoint(choice.then_block):
                _Component(self, lanes).emit(self.ops)
                scf.yield_([])
            with ir.InsertionPoint(choice.else_block):
                last = scf.YieldOp([])
        for op in self.ops:
            if op.name == "memref.alloc":
                op.move_before(choice.operation)
            elif op.name == "memref.dealloc":
                op.move_before(end)
            else:
                op.move_before(last.operation)


def _is_whole(loop: ir.Operation, length: ir.Value) -> bool:
    return constant_int(loop.operands[0]) == 0 and loop.operands[1] == length


def _along_block(loop: ir.Operation, length: ir.Value) -> ir.Operation | None:
    """The loop along a block in a loop over blocks, of which a component of one register has one."""
    inner = [op for op in find_ops(loop, "scf.for") if op != loop]
    index, step = loop.regions[0].blocks[0].arguments[0], loop.operands[2]
    if len(inner) != 1 or inner[0].block != loop.regions[0].blocks[0]:
        return None
    low, high, one = list(inner[0].operands)[:3]
    least = made_by(high, "arith.minsi")
    end = None if least is None else made_by(least.operands[0], "arith.addi")
    if least is None or end is None or least.operands[1] != length or list(end.operands) != [index, step]:
        return None
    return inner[0] if low == index and constant_int(one) == 1 else None


class _Component:
    """The ops of a component of at most `lanes` elements: `known` has what stands for values, `held` the vectors that
    rows in memory are equal to."""

    def __init__(self, found: ShortComponents, lanes: int) -> None:
        self.found, self.lanes = found, lanes
        self.known: ValueMap = {}
        self.held: dict[Row, ir.Value] = {}
        self.zero = build.value(0)
        self.mask = first_lanes(found.length, lanes)
        self.hidden = {op.results[0] for op in found.ops if op.name == "memref.alloc" and self._is_hidden(op)}

    def _is_hidden(self, alloc: ir.Operation) -> bool:
        """Whether a row that is held is all that is in a buffer."""
        rows = {op: row_of(body, op) for body in self.found.bodies.values() for op in body.ops}
        users = [use.owner.operation for use in alloc.results[0].uses]
        used = {rows.get(user) for user in users if user.name != "memref.dealloc"}
        return None not in used and len(used) < 2

    def emit(self, ops: Iterable[ir.Operation]) -> None:
        """Make ops, with loops as one step each."""
        for op in ops:
            if op in self.found.bodies:
                self._step(self.found.bodies[op])
            elif op in self.found.blocks:
                self._block(op)
            elif op.name not in ("memref.alloc", "memref.dealloc"):
                clone(op, self.known)
                self.forget(op)

    def _block(self, loop: ir.Operation) -> None:
        """Make the first block of some, which is all there is."""
        block = loop.regions[0].blocks[0]
        *ops, end = (op.operation for op in block.operations)
        high = next(op for op in ops if op in self.found.bodies).operands[1]
        inits = [self.known.get(x, x) for x in list(loop.operands)[3:]]
        self.known |= dict(zip(block.arguments, [self.zero, *inits], strict=True))
        self.known[high] = self.found.length
        self.emit(op for op in ops if op != defining_op(high))
        self.known |= {r: self.known.get(x, x) for r, x in zip(loop.results, end.operands, strict=True)}

    def _step(self, body: Body) -> None:
        """Make one iteration of all elements."""
        kept = [one for one in body.accumulators if not is_count(body, one)]
        carried = [carried_into(one, self.lanes, before(body, one, self.known)) for one in kept]
        made = _Once(self, body).run(kept, carried)
        totals = {one: folded_lanes(one, x) for one, x in zip(kept, made, strict=True)}
        for one in body.accumulators:
            folded = totals[one] if one in totals else self._count(one)
            self._keep(body, one, total_of(one, folded, before(body, one, self.known)))

    def _count(self, one: Accumulator) -> ir.Value:
        element = self.known.get(one.element, one.element)
        return counted(element, self.zero, self.found.length)

    def _keep(self, body: Body, one: Accumulator, total: ir.Value) -> None:
        """Put what was folded where it belongs."""
        if one.store is not None:
            buffer, *place = (self.known.get(x, x) for x in list(one.store.operands)[1:])
            memref.store(total, buffer, place)
            self.forget(one.store)
            return
        assert one.number is not None
        self.known[body.loop.results[one.number]] = total

    def forget(self, op: ir.Operation) -> None:
        """Forget what an op may have written: nothing else goes to what is hidden."""
        for inner in ops_in(op):
            if inner.name == "memref.store":
                into = inner.operands[1]
                self.held = {r: x for r, x in self.held.items() if r[0] in self.hidden or apart(r[0], into)}
            elif not inner.name.startswith(("arith.", "math.", "scf.")) and inner.name not in {"memref.load", *VIEWS}:
                self.held = {row: x for row, x in self.held.items() if row[0] in self.hidden}


class _Once(Step):
    """The ops of a loop along a component, once."""

    def __init__(self, component: _Component, body: Body) -> None:
        super().__init__(body, component.lanes, component.zero, component.mask)
        self.component = component
        self.same |= {value: x for value, x in component.known.items() if value != body.index}

    def load(self, op: ir.Operation) -> ir.Value:
        """What is known to be in memory, or what is there."""
        row, held = row_of(self.body, op), self.component.held
        if row is None:
            return super().load(op)
        if row not in held:
            held[row] = super().load(op)
        return held[row]

    def store(self, op: ir.Operation) -> None:
        """Write what a store writes, but for buffers of which nothing else is read."""
        row = row_of(self.body, op)
        self.component.forget(op)
        if row is None or row[0] not in self.component.hidden:
            super().store(op)
        if row is not None:
            self.component.held[row] = self.vector(op.operands[0])


def row_of(body: Body, op: ir.Operation) -> Row | None:
    """The row of elements that an access of a body goes along."""
    if op.name not in ("memref.load", "memref.store"):
        return None
    buffer, *indices = accessed(op)
    if not indices or indices[-1] != body.index or any(body.is_inside(x) for x in (buffer, *indices[:-1])):
        return None
    return buffer, tuple(indices[:-1])
