"""The ops of one iteration of a loop, on vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import ValueMap, clone, copy_attributes
from ragged_dialect.ir.match import byte_size, defining_op, made_by
from ragged_dialect.lowering.buffers.subviews import root
from ragged_dialect.lowering.math.library import call_masked
from ragged_dialect.lowering.vector.body import Accumulator, Body, Guard, guard_of
from ragged_dialect.lowering.vector.divisions import divided, has_floats
from ragged_dialect.lowering.vector.lanes import (
    lanes_type,
    last_lane,
    load_lanes,
    load_pieces,
    moved_up,
    numbers_from,
    splat,
    store_lanes,
    store_pieces,
    turned,
)
from ragged_dialect.lowering.vector.machine import CACHE_LINE, Registers
from ragged_dialect.lowering.vector.walks import Walk


class Step:
    """The ops of one iteration on vectors. `known` has vectors by the values they are of, `same` has scalars for
    what is uniform."""

    def __init__(self, body: Body, lanes: int, at: ir.Value, mask: ir.Value | None) -> None:
        self.body, self.lanes, self.at, self.mask = body, lanes, at, mask
        self.known: dict[ir.Value, ir.Value] = {}
        self.same: ValueMap = {body.index: at}

    def run(self, folded: list[Accumulator], carried: list[ir.Value]) -> list[ir.Value]:
        """Make the ops; what is carried on."""
        scans = {one.combiner.ops[0]: (one, so_far) for one, so_far in zip(folded, carried, strict=True) if one.scanned}
        for op in self.body.ops:
            if op in scans:
                self._scan(*scans[op])
            else:
                self._emit(op)
        return [self._fold(one, total) for one, total in zip(folded, carried, strict=True)]

    def _scan(self, one: Accumulator, so_far: ir.Value) -> None:
        """What there is so far in each lane: of the lanes by steps of 1, 2, 4 …, then with what was before them."""
        identity = splat(one.combiner.identity(), self.lanes)
        made = self.vector(one.element)
        if self.mask is not None:
            made = arith.select(self.mask, made, identity)
        step = 1
        while step < self.lanes:
            made = one.combiner.apply(made, moved_up(made, identity, step))
            step *= 2
        self.known[one.combiner.result] = one.combiner.apply(made, so_far)

    def _fold(self, one: Accumulator, total: ir.Value) -> ir.Value:
        if one.scanned:
            return splat(last_lane(self.known[one.combiner.result]), self.lanes)
        made = one.combiner.apply(self.vector(one.element), total)
        return made if self.mask is None else arith.select(self.mask, made, total)

    def vector(self, value: ir.Value) -> ir.Value:
        """A value as a vector."""
        if value not in self.known:
            self.known[value] = numbers_from(self.at, self.lanes) if value == self.body.index else self._spread(value)
        return self.known[value]

    def _spread(self, value: ir.Value) -> ir.Value:
        return splat(self.same.get(value, value), self.lanes)

    def _emit(self, op: ir.Operation) -> None:
        if op in self.body.walks:
            self._walk(self.body.walks[op])
        elif op.results and op.results[0] in self.body.uniform:
            self.uniform(op)
        elif op.name == "memref.load":
            self.known[op.results[0]] = self.gather(op) if op in self.body.gathered else self.load(op)
        elif op.name == "memref.store":
            self.store(op)
        elif (guard := guard_of(op)) is not None:
            self.known[op.results[0]] = self._guarded(guard)
        else:
            if op.results[0] in self.body.shifted or op.results[0] in self.body.falling:
                self.shift(op)
            self.compute(op)

    def shift(self, op: ir.Operation) -> None:
        """Make the index that accesses have, of the first iteration."""
        clone(op, self.same)

    def uniform(self, op: ir.Operation) -> None:
        """Make what is the same for all iterations."""
        clone(op, self.same)

    def compute(self, op: ir.Operation) -> None:
        """Make an op on vectors."""
        self.known[op.results[0]] = of_lanes(op, [self.vector(x) for x in op.operands], self.lanes, self.body.registers)

    def _guarded(self, guard: Guard) -> ir.Value:
        """What is usual, and the call for lanes where it is not: behind a branch."""
        bit = ir.IntegerType.get_signless(1)
        usual, condition, *operands = (self.vector(x) for x in (guard.usual, guard.condition, *guard.call.operands))
        rare = arith.xori(condition, splat(build.constant(bit, 1), self.lanes))
        if self.mask is not None:
            rare = arith.andi(rare, self.mask)
        some = vector.reduction(bit, ir.Attribute.parse("#vector.kind<or>"), rare)

        def called() -> list[ir.Value]:
            return [arith.select(rare, call_masked(guard.call, operands, rare), usual)]

        return flow.choose(some, called, lambda: [usual], [usual.type])[0]

    def _walk(self, walk: Walk) -> None:
        """A loop that all lanes go through together; what it reads at places that vary is gathered."""
        before, after = (region.blocks[0] for region in walk.loop.regions)
        lanes = [x in walk.varying for x in walk.state]

        def of(values: Iterable[ir.Value], lanes: Sequence[bool]) -> list[ir.Value]:
            pairs = zip(values, lanes, strict=False)  # behind its condition the end of the first block has the state
            return [self.vector(x) if wide else self.same.get(x, x) for x, wide in pairs]

        def name(arguments: Iterable[ir.Value], values: Iterable[ir.Value]) -> None:
            for argument, value in zip(arguments, values, strict=True):
                (self.known if argument in walk.varying else self.same)[argument] = value

        def make(block: ir.Block, values: list[ir.Value], lanes: Sequence[bool]) -> list[ir.Value]:
            known, same = dict(self.known), dict(self.same)
            name(block.arguments, values)
            *ops, end = (op.operation for op in block.operations)
            for op in ops:
                if op.results[0] not in walk.varying:
                    clone(op, self.same)
                elif op.name == "memref.load":
                    self.known[op.results[0]] = self.gather(op)
                else:
                    self.compute(op)
            made = of(end.operands, lanes)
            self.known, self.same = known, same  # without what is known in the block alone
            return made

        def goes_on(state: list[ir.Value]) -> ir.Value:
            return make(before, state, [False])[0]

        start = of(walk.loop.operands, lanes)
        name(walk.loop.results, flow.repeat(start, goes_on, lambda state: make(after, state, lanes)))

    def gather(self, op: ir.Operation) -> ir.Value:
        """What a load reads for each lane at a place of its own."""
        buffer, *places, last = op.operands
        type_ = lanes_type(self.lanes, op.results[0].type)
        start = [*(self.same.get(x, x) for x in places), build.value(0)]
        mask = splat(build.constant(ir.IntegerType.get_signless(1), 1), self.lanes) if self.mask is None else self.mask
        zeros = splat(build.constant(type_.element_type, 0), self.lanes)
        return vector.gather(type_, buffer, start, self.vector(last), mask, zeros)

    def load(self, op: ir.Operation) -> ir.Value:
        """What a load reads, from where its first iteration does."""
        buffer, *places = [self.same.get(x, x) for x in op.operands]
        type_ = lanes_type(self.lanes, op.results[0].type)
        if self._falls(op):
            return turned(load_lanes(type_, buffer, *self._fallen(places)))
        looked_up = any(_is_looked_up(x) for x in list(op.operands)[1:])  # what is read next is elsewhere
        ahead = 0 if self.body.registers is None else self.body.registers.ahead
        if ahead and (self.mask is not None or self.body.reads) and not looked_up:
            size = byte_size(op.results[0].type)
            for line in range(0, self.lanes * size, CACHE_LINE):
                there = build.add(places[-1], (ahead + line) // size)
                memref.prefetch(buffer, [*places[:-1], there], False, 3, True)
        if self._rest is not None and _is_row_on_stack(buffer):
            return load_pieces(type_, buffer, places, self._rest)
        return load_lanes(type_, buffer, places, self.mask)

    @property
    def _rest(self) -> int | None:
        """How many lanes there are, where that is known and less than all."""
        return None if self.mask is None else self.body.rest

    def _is_in_place(self, buffer: ir.Value) -> bool:
        """Whether what is written is read by the same loop: a mask leaves lanes out that are the next row's first,
        which would be read when this one is in memory (Zen 4)."""
        return any(op.name == "memref.load" and root(op.operands[0]) == root(buffer) for op in self.body.ops)

    def store(self, op: ir.Operation) -> None:
        """Write what a store writes."""
        made = self.vector(op.operands[0])
        buffer, *places = [self.same.get(x, x) for x in list(op.operands)[1:]]
        if self._falls(op):
            store_lanes(turned(made), buffer, *self._fallen(places))
        elif self._rest is not None and (_is_row_on_stack(buffer) or self._is_in_place(buffer)):
            store_pieces(made, buffer, places, self._rest)
        else:
            store_lanes(made, buffer, places, self.mask)

    def _falls(self, op: ir.Operation) -> bool:
        """Whether the place of an access falls: it is that of the last lane on then, and lanes are turned round."""
        return op.operands[len(op.operands) - 1] in self.body.falling

    def _fallen(self, places: list[ir.Value]) -> tuple[list[ir.Value], ir.Value | None]:
        """The place of the last lane, and the mask from there on."""
        *above, first = places
        mask = None if self.mask is None else turned(self.mask)
        return [*above, build.value(build.sub(first, self.lanes - 1))], mask


# Runs ---------------------------------------------------------------------------------------------


def _is_row_on_stack(buffer: ir.Value) -> bool:
    """Whether a buffer is one row, on the stack: LLVM keeps it in registers where nothing accesses it with a mask."""
    whole = root(buffer)
    return made_by(whole, "memref.alloca") is not None and set(whole.type.shape[:-1]) <= {1}


def _is_looked_up(place: ir.Value) -> bool:
    """Whether an index is computed of what is in memory."""
    seen: set[ir.Operation] = set()
    left = [place]
    while left:
        op = defining_op(left.pop())
        if op is not None and op.name == "memref.load":
            return True
        if op is not None and op.name.startswith("arith.") and op not in seen:
            seen.add(op)
            left += op.operands
    return False


def of_lanes(op: ir.Operation, operands: list[ir.Value], lanes: int, registers: Registers | None) -> ir.Value:
    """The result of an op on vectors."""
    result = op.results[0].type
    if op.name == "arith.select" and isinstance(result, ir.BF16Type):
        return _select_bits(*operands)
    if has_floats(op, registers):
        return divided(op.name, *operands)
    attributes = copy_attributes(op)
    return ir.Operation.create(op.name, [lanes_type(lanes, result)], operands, attributes).result


def _select_bits(condition: ir.Value, true: ir.Value, false: ir.Value) -> ir.Value:
    """One of two short floats by their bits: LLVM has no masks for bf16, and a branch for each lane (5 ns)."""
    bits = lanes_type(true.type.shape[0], ir.IntegerType.get_signless(16))
    chosen = arith.select(condition, *(arith.bitcast(bits, x) for x in (true, false)))
    return arith.bitcast(true.type, chosen)
