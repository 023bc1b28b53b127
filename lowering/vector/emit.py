"""Loops of vectors from loops of scalars."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import islice

from ragged_dialect._mlir import arith, ir, memref, scf, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import byte_size, constant_int, defining_op, enclosing, made_by
from ragged_dialect.ir.walk import inside, replace
from ragged_dialect.lowering.loops.annotations import LOOP, is_of_vectors, keep_vectors
from ragged_dialect.lowering.vector import settled
from ragged_dialect.lowering.vector.body import Accumulator, Body, Kept, Run, Unfit
from ragged_dialect.lowering.vector.lanes import first_lanes, last_lane, number_of, splat
from ragged_dialect.lowering.vector.machine import Registers
from ragged_dialect.lowering.vector.step import Step

_WITH_NAN = 3
"""Instructions of a maximum that keeps NaN."""

_CHEAP = 3
"""Instructions for a register up to which three registers more are less than a branch that is guessed wrongly: with it
lists of 1 to 16 take 2 ns more each for sums on a Zen 5 core, as long for maxima, those of 5 a third of the time."""

_MOVED = 1024
"""Bytes from which on a copy or a fill is a loop of scalars, of which LLVM makes a call: of a short one it takes 12 ns,
four times a register with a mask, of a long one less than vectors do (Zen 5: 16 KiB 0.95 of the time)."""

_GATHERED = 6
"""Elements up to which single ones are looked up one by one: two take a third of the time of a vector with a mask, six
three quarters (Zen 4)."""

_SCANNED = 8
"""Lanes from which on a scan is faster by steps of 1, 2, 4 … than in order: of four (AVX2, 64 bits) sums take 0.9 to
1.2, maxima of integers up to 2 times as long (Zen 5)."""

_PACKED = (1, 2, 4)
"""Elements of runs that are stored side by side. Runs of up to two take 0.8 ns each so, with AVX2 5, where a loop over
each takes 5 (Zen 5)."""

_SIDE_BY_SIDE = 4
"""Bytes of the least elements that all processors with masks put side by side in a register."""

SHORTEST = 8
"""Iterations of loops whose count is static below which LLVM unrolls them."""


def vectorize(body: Body, registers: Registers, *, long: bool = False) -> bool:
    """Replace a loop by one of vectors, with a mask at its end, or with the loop itself after it; whether it is long
    enough for that. `long` ones have more iterations than a register lanes as a rule. Stores are not masked before what
    is left for the end, which has a register at a time: masked ones take ten cycles and more on some processors
    (AMD's)."""
    body.registers = registers
    _require_lanes(body, registers)
    if body.run is not None:
        return _pack(body, body.run, registers)
    if body.kept is not None:
        return _store_kept(body, body.kept, registers)
    low, high = body.loop.operands[0], body.loop.operands[1]
    first, last = constant_int(low), constant_int(high)
    count = None if first is None or last is None else last - first
    kept = [byte_size(one.element.type) for one in body.accumulators if not is_count(body, one)]
    widest = max([*kept, *body.wide], default=8)
    is_scan = any(one.scanned for one in body.accumulators)
    if is_scan and registers.least(widest) < _SCANNED:
        return False
    lanes = registers.least(widest) if is_scan or body.gathered else registers.lanes(widest, len(body.ops))
    masked = body.bytes <= set(registers.masked)
    if count is not None:
        if count < SHORTEST:
            return False
        lanes = min(lanes, 1 << ((count - 1).bit_length() if masked else count.bit_length() - 1))
    whole = count is not None and count % lanes == 0
    stores = any(op.name == "memref.store" for op in body.ops)
    least = registers.least(widest)
    if count is None and body.moves:
        _beside(body, lambda elements: build.at_least(elements, _MOVED // max(body.bytes)))
    if count is None and body.gathered and not body.accumulators:
        keep_vectors(_beside(body, lambda elements: build.at_most(elements, _GATHERED)))
    with ir.InsertionPoint(body.loop), body.loop.location:
        rest = count
        if masked and not whole and stores and not is_scan:  # whose end is masked behind its loop
            _emit(body, lanes, masked=False, whole=False)
            if count is not None and least < lanes and count % lanes >= least:
                _emit(body, least, masked=False, whole=False)
            lanes = min(lanes, least)
            rest = None if count is None else count % lanes
        if rest == 0:
            replace(body.loop, *list(body.loop.operands)[3:])
            return True
        alone = masked and count is None and not stores and least < lanes and not long and _may_be_short(body)
        body.rest = rest if masked and not whole and rest is not None and rest < lanes else None
        _emit(body, lanes, masked, whole, least if alone else None)
    return True


def _require_lanes(body: Body, registers: Registers) -> None:
    """Unfit where what is looked up is read one by one, or faster so."""
    if not body.gathers(registers):
        raise Unfit("an access across memory")
    if body.gathered and all(map(_is_near, body.gathered)) and _only_moves(body):
        raise Unfit("a copy in another order")


def _only_moves(body: Body) -> bool:
    """Whether all that is stored was loaded."""
    stored = [op.operands[0] for op in body.ops if op.name == "memref.store"]
    return not body.accumulators and body.packed is None and all(made_by(x, "memref.load") for x in stored)


def _is_near(load: ir.Operation) -> bool:
    """Whether the place of a load is some from another one on, as in steps and of places in a component: what is read
    is in the first cache then, where single loads take a third to two thirds of the time of a vector's (Zen 4). What is
    anywhere in a table waits for memory, and many loads of a vector for it at once."""
    op = defining_op(load.operands[len(load.operands) - 1])
    while op is not None and op.name in ("arith.index_cast", "arith.index_castui"):
        op = defining_op(op.operands[0])
    return op is not None and op.name in ("arith.addi", "arith.subi", "arith.muli")


def _beside(body: Body, stays: Callable[[ir.Value], ir.Value]) -> ir.Operation:
    """The loop as it is, for numbers of elements that are better left to LLVM; the other one is in a branch then."""
    low, high = list(body.loop.operands)[:2]
    with ir.InsertionPoint(body.loop), body.loop.location:
        choice = scf.IfOp(stays(arith.subi(high, low)), has_else=True)
        with ir.InsertionPoint(choice.then_block):
            same = body.loop.clone().operation
            scf.yield_([])
        with ir.InsertionPoint(choice.else_block):
            last = scf.YieldOp([])
    body.loop.move_before(last.operation)
    return same


def _may_be_short(body: Body) -> bool:
    """Whether rows of one register take a way of their own: where a loop runs for every row, and what it does for
    registers without elements costs more than a branch that is guessed wrongly. Of several loops over a row the first
    one's branch tells how those of the others go."""
    rows = enclosing(body.loop)
    while LOOP in rows.attributes:  # of blocks of a row, of which there is one as a rule
        rows = enclosing(rows)
    if rows.name != "scf.for":
        return False
    loops = (op for op in inside(rows) if op.name == "scf.for")  # a row may have hundreds: two will do
    several = (loop for loop in loops if LOOP not in loop.attributes or is_of_vectors(loop))
    if len(list(islice(several, 2))) > 1:
        return True
    work = [op for op in body.ops if not op.results or op.results[0] not in body.uniform]
    folds = [op.name for one in body.accumulators for op in one.combiner.ops]
    cost = len(work) + sum(_WITH_NAN if name in ("arith.maximumf", "arith.minimumf") else 1 for name in folds)
    return cost > _CHEAP


def _emit(body: Body, lanes: int, masked: bool, whole: bool, least: int | None = None) -> None:
    """A loop over vectors, and what is left of the loop; of `least` lanes a vector in its place where one is enough."""
    low, high = body.loop.operands[0], body.loop.operands[1]
    tail = not (masked or whole)
    end = full(low, high, lanes) if tail else high
    folded = [one for one in body.accumulators if not is_count(body, one)]
    if least is None:
        made = _folds(body, folded, lanes, end, mask=masked and not whole)
    else:
        left = arith.subi(high, low)
        few = build.at_most(left, least)

        def alone() -> list[ir.Value]:
            carried = [carried_into(one, least, before(body, one)) for one in folded]
            once = Step(body, least, low, first_lanes(left, least)).run(folded, carried)
            return [folded_lanes(one, x) for one, x in zip(folded, once, strict=True)]

        types = [one.element.type for one in folded]
        made = flow.choose(few, alone, lambda: _folds(body, folded, lanes, end, mask=True), types)
    parts = dict(zip(folded, made, strict=True))
    for one in body.accumulators:
        folded_now = parts[one] if one in parts else counted(one.element, low, end)
        _keep(body, one, total_of(one, folded_now, before(body, one)), tail)
    if tail:
        body.loop.operands[0] = end
    else:
        body.loop.erase()


def _folds(body: Body, folded: list[Accumulator], lanes: int, end: ir.Value, *, mask: bool) -> list[ir.Value]:
    """What is folded by a loop over vectors. Those at its end have a mask: in loops that store all of them, which are
    few; in others, where it takes a third of the time of cheap folds, one behind the loop."""
    low, carried = body.loop.operands[0], [carried_into(one, lanes, before(body, one)) for one in folded]
    apart = mask and bool(folded)
    last = full(low, end, lanes) if apart else end

    def step(at: ir.Value, carried: list[ir.Value], *, mask: bool) -> list[ir.Value]:
        return Step(body, lanes, at, first_lanes(arith.subi(end, at), lanes) if mask else None).run(folded, carried)

    def each(at: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        keep_vectors(ir.InsertionPoint.current.block.owner.operation)
        return step(at, carried, mask=mask and not apart)

    pure = not any(op.name == "memref.store" for op in body.ops)
    made = settled.folded(
        [one.combiner for one in folded] if pure else [], low, lanes, last, carried, each, across=True
    )
    if apart:
        whole, types = made, [x.type for x in made]
        made = flow.choose(build.less(last, end), lambda: step(last, whole, mask=True), lambda: whole, types)
    return [folded_lanes(one, x) for one, x in zip(folded, made, strict=True)]


def full(low: ir.Value, high: ir.Value, lanes: int) -> ir.Value:
    """Where the last whole vector ends."""
    left: ir.Value = arith.subi(high, low)
    return arith.addi(low, arith.andi(build.maximum(left, 0), build.value(-lanes)))


def _pack(body: Body, run: Run, registers: Registers) -> bool:
    """Fill runs of a few elements by stores of the lanes that have one, side by side, with no branch for each; what is
    masked has no element. A vector that has longer ones is left to the loop as it was."""
    if byte_size(run.value.type) not in registers.packed:
        return False
    lanes, loop = registers.bytes // 8, body.loop
    low, high = loop.operands[0], loop.operands[1]
    with ir.InsertionPoint(loop), loop.location:
        made = scf.ForOp(low, high, build.value(lanes))
        with ir.InsertionPoint(made.body):
            at = made.induction_variable
            step = Step(body, lanes, at, first_lanes(arith.subi(high, at), lanes))
            step.run([], [])
            end = arith.minsi(arith.addi(at, build.value(lanes)), high)
            last = _store_short(run, step, _PACKED)
            scf.yield_([])
    loop.move_before(last)
    loop.operands[0], loop.operands[1] = at, end
    return True


def _store_short(run: Run, step: Step, limits: Sequence[int]) -> ir.Operation:
    """Store runs of at most one of some numbers of elements, the first that is enough: the end of the branch for
    longer ones."""
    if not limits:
        return scf.YieldOp([]).operation
    choice = scf.IfOp(_are_short(step.vector(run.length), limits[0]), has_else=True)
    with ir.InsertionPoint(choice.then_block):
        _store_packed(run, step, limits[0])
    with ir.InsertionPoint(choice.else_block):
        last = _store_short(run, step, limits[1:])
        if limits[1:]:
            scf.yield_([])
    return last


def _are_short(lengths: ir.Value, most: int) -> ir.Value:
    """Whether no length is above a number; one below 0 is large as an unsigned number."""
    short = arith.cmpi(arith.CmpIPredicate.ule, lengths, splat(build.value(most), lengths.type.shape[0]))
    return vector.reduction(short.type.element_type, ir.Attribute.parse("#vector.kind<and>"), short)


def _store_packed(run: Run, step: Step, each: int) -> None:
    """Store runs of at most so many elements: lanes for `each` of a run, of which there are as many vectors."""
    lengths, values = step.vector(run.length), step.vector(run.value)
    lanes = lengths.type.shape[0]
    numbers = arith.remui(vector.step(lengths.type), splat(build.value(each), lanes))
    for first in range(0, lanes, lanes // each):
        own = [first + lane // each for lane in range(lanes)]
        some = build.below(numbers, vector.shuffle(lengths, lengths, own))
        start = vector.extract(step.vector(run.start), [], [first])
        vector.compressstore(run.buffer, [start], some, vector.shuffle(values, values, own))
    scf.yield_([])


def _store_kept(body: Body, kept: Kept, registers: Registers) -> bool:
    """Store the lanes that are kept side by side. What is left for the end is done by the loop as it was."""
    loop = body.loop
    if not registers.compresses:
        return False
    lanes = registers.least(max(byte_size(kept.value.type), _SIDE_BY_SIDE))
    low, high, _, place = loop.operands
    with ir.InsertionPoint(loop), loop.location:
        last = full(low, high, lanes)
        made = scf.ForOp(low, last, build.value(lanes), [place])
        with ir.InsertionPoint(made.body):
            step = Step(body, lanes, made.induction_variable, None)
            step.run([], [])
            mask, so_far = step.vector(kept.condition), made.inner_iter_args[0]
            vector.compressstore(kept.buffer, [so_far], mask, step.vector(kept.value))
            scf.yield_([arith.addi(so_far, number_of(mask))])
        keep_vectors(made.operation)
    loop.operands[0], loop.operands[3] = last, made.results[0]
    return True


# Folds --------------------------------------------------------------------------------------------


def is_count(body: Body, one: Accumulator) -> bool:
    """Whether the same integer is added in every iteration, from outside of the loop."""
    return not one.scanned and one.combiner.ops[0].name == "arith.addi" and not body.is_inside(one.element)


def counted(element: ir.Value, low: ir.Value, high: ir.Value) -> ir.Value:
    """What a number of iterations add, of the same integer."""
    left: ir.Value = arith.subi(high, low)
    count, type_ = build.maximum(left, 0), element.type
    if not isinstance(type_, ir.IndexType):
        count = arith.index_cast(type_, count)
    return arith.muli(element, count)


def before(body: Body, one: Accumulator, known: Mapping[ir.Value, ir.Value] | None = None) -> Callable[[], ir.Value]:
    """What an accumulator has before a loop; `known` has what stands for values there."""

    def of(value: ir.Value) -> ir.Value:
        return value if known is None else known.get(value, value)

    if one.store is not None:
        buffer, *place = map(of, list(one.store.operands)[1:])
        return lambda: memref.load(buffer, place)
    assert one.number is not None
    operand = 3 + one.number
    return lambda: of(body.loop.operands[operand])


def carried_into(one: Accumulator, lanes: int, before: Callable[[], ir.Value]) -> ir.Value:
    """What lanes begin with: a scan with what there is before, a fold with nothing."""
    return splat(before() if one.scanned else one.combiner.identity(), lanes)


def folded_lanes(one: Accumulator, lanes: ir.Value) -> ir.Value:
    """What an accumulator has of all lanes."""
    if one.scanned:
        return last_lane(lanes)
    return build.folded(lanes, lambda first, second: one.combiner.apply(second, first))


def total_of(one: Accumulator, folded: ir.Value, before: Callable[[], ir.Value]) -> ir.Value:
    """What an accumulator has after a loop: a scan began with what there was before."""
    return folded if one.scanned else one.combiner.apply(folded, before())


def _keep(body: Body, one: Accumulator, total: ir.Value, tail: bool) -> None:
    """Put what a loop folded where it belongs, or where what is left of the loop goes on from."""
    if one.store is not None:
        place = list(one.store.operands)[1:]
        memref.store(total, place[0], place[1:])
        return
    assert one.number is not None
    if tail:
        body.loop.operands[3 + one.number] = total
    else:
        body.loop.results[one.number].replace_all_uses_with(total)
