"""Bodies of loops that can run on vectors along memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ragged_dialect._mlir import ir
from ragged_dialect.ir.fast_math import flags_of
from ragged_dialect.ir.match import (
    body_ops,
    byte_size,
    constant_int,
    definer,
    is_made_in,
    is_number,
    made_by,
    terminator,
)
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.attributes import GUARD
from ragged_dialect.lowering.buffers.subviews import is_own, layout_strides, offsets_of, root
from ragged_dialect.lowering.loops.annotations import LOOP, NOT_UNROLLED
from ragged_dialect.lowering.nests.combiners import Combiner, find_combiner
from ragged_dialect.lowering.vector.machine import Registers
from ragged_dialect.lowering.vector.walks import Walk

_ROUNDED = frozenset({"arith.addf", "arith.mulf"})
_MATH = frozenset(f"math.{name}" for name in ("absf", "absi", "ceil", "copysign", "floor", "fma", "sqrt", "trunc"))
"""What processors have for vectors."""
_SHORT_OPS = frozenset(f"arith.{name}" for name in ("bitcast", "extf", "select", "truncf"))
"""What there is for short floats, which are widened in registers."""

_WIDTHS = (1, 8, 16, 32, 64, 128)
"""Bits of integers that vectors have as memory does."""


class Unfit(Exception):
    """Why a loop cannot run on vectors."""


@dataclass(frozen=True)
class Accumulator:
    """What a loop folds: how, and where what it has so far is: a value that the loop carries, by number, or a place
    in memory, by its load and its store. What is `scanned` is used in every iteration, by what else the loop does."""

    combiner: Combiner
    number: int | None
    load: ir.Operation | None = None
    store: ir.Operation | None = None
    scanned: bool = False

    @property
    def element(self) -> ir.Value:
        """What is folded."""
        return self.combiner.element


@dataclass(frozen=True)
class Run:
    """What a loop writes in runs, each of which follows the one before: the loop over a run, which puts one value
    everywhere, the view of the run, the value, and where the run starts and how long it is."""

    loop: ir.Operation
    view: ir.Operation
    value: ir.Value
    start: ir.Value
    length: ir.Value

    @property
    def buffer(self) -> ir.Value:
        """What the runs are parts of."""
        return self.view.operands[0]


@dataclass(frozen=True)
class Kept:
    """What a loop keeps of its iterations, side by side from a place on that it carries: the branch that stores it, and
    what makes the next place."""

    branch: ir.Operation
    store: ir.Operation
    next: tuple[ir.Operation, ir.Operation]

    @property
    def condition(self) -> ir.Value:
        """Whether an iteration is kept."""
        return self.branch.operands[0]

    @property
    def value(self) -> ir.Value:
        """What is stored of it."""
        return self.store.operands[0]

    @property
    def buffer(self) -> ir.Value:
        """What it is stored in."""
        return self.store.operands[1]


@dataclass(frozen=True)
class Guard:
    """What `MathLibrary.guarded` makes: `usual` where `condition` holds, else what a call gives."""

    condition: ir.Value
    usual: ir.Value
    call: ir.Operation


@dataclass
class Body:
    """The ops of a loop, in order: those that are the same for every iteration, those that become vectors, what they
    fold, and the runs that they write, or what they keep. `shifted` has indices that are a number further than that
    of the loop, `falling` those that fall as it rises, `bytes` the widths of elements in memory, `wide` those in
    registers. It only `reads` where it stores nothing, or all rows to one place. `gathered` are loads at places of
    their own for each iteration, by the bytes of an element, `walks` loops in it that vectors go through together,
    `registers` those that it becomes one of, and `rest` the lanes of its last vector, where that is less than all and
    known."""

    loop: ir.Operation
    run: Run | None = None
    kept: Kept | None = None
    shifted: set[ir.Value] = field(default_factory=set[ir.Value])
    falling: set[ir.Value] = field(default_factory=set[ir.Value])
    uniform: set[ir.Value] = field(default_factory=set[ir.Value])
    accumulators: list[Accumulator] = field(default_factory=list[Accumulator])
    bytes: set[int] = field(default_factory=set[int])
    wide: set[int] = field(default_factory=set[int])
    reads: bool = False
    registers: Registers | None = None
    rest: int | None = None
    gathered: dict[ir.Operation, int] = field(default_factory=dict[ir.Operation, int])
    walks: dict[ir.Operation, Walk] = field(default_factory=dict[ir.Operation, Walk])

    def gathers(self, registers: Registers) -> bool:
        """Whether registers can read what it looks up."""
        return set(self.gathered.values()) <= {*registers.gathered}

    @property
    def block(self) -> ir.Block:
        """The block of the loop."""
        return self.loop.regions[0].blocks[0]

    @property
    def index(self) -> ir.Value:
        """The index of the loop."""
        return self.block.arguments[0]

    @property
    def moves(self) -> bool:
        """Whether it only copies or fills, of which LLVM makes a call; not of bfloat, nor a loop of vectors."""
        if any(isinstance(value.type, ir.BF16Type) for op in self.ops for value in op.operands):
            return False
        computes = any(not op.name.startswith("memref.") and op.results[0] not in self.uniform for op in self.ops)
        return bool(self.bytes) and not (computes or self.accumulators or self.packed)

    @property
    def packed(self) -> Run | Kept | None:
        """What is stored side by side, wherever the iterations are."""
        return self.run or self.kept

    @property
    def ops(self) -> list[ir.Operation]:
        """The ops but for the terminator and those of accumulators; what combines a scanned one is an op."""
        own = {op for one in self.accumulators for op in (one.load, one.store)}
        own |= {op for one in self.accumulators if not one.scanned for op in one.combiner.ops}
        own |= set() if self.run is None else {self.run.loop, self.run.view}
        own |= set() if self.kept is None else {self.kept.branch, *self.kept.next}
        return [op for op in body_ops(self.block) if op not in own]

    def is_inside(self, value: ir.Value) -> bool:
        """Whether the loop makes a value."""
        return is_made_in(value, self.loop)


def body_of(loop: ir.Operation) -> Body:
    """What a loop does. Unfit for one that has loops or branches in it but for one that fills runs, that does not run
    along memory, or whose iterations depend on each other otherwise than by folds."""
    if constant_int(loop.operands[2]) != 1:
        raise Unfit("its step")
    if not isinstance(loop.operands[0].type, ir.IndexType):
        raise Unfit("its number is no index")
    if LOOP in loop.attributes and str(loop.attributes[LOOP]) == str(ir.Attribute.parse(NOT_UNROLLED)):
        raise Unfit("it runs rarely")
    body = Body(loop, _run_of(loop), _kept_of(loop))
    _find_carried(body)
    _find_stored(body)
    _classify(body)
    if any(
        one.scanned and (not body.is_inside(one.element) or one.element in body.uniform) for one in body.accumulators
    ):
        raise Unfit("a scan of one value")  # which LLVM takes minutes for in 64 lanes
    _require_apart(body)
    body.reads = not any(op.name == "memref.store" for op in body.ops)
    return body


def guard_of(op: ir.Operation) -> Guard | None:
    """That of a branch, if it is one."""
    if GUARD not in op.attributes:
        return None
    blocks = [[inner.operation for inner in region.blocks[0].operations] for region in op.regions]
    if [[inner.name for inner in block] for block in blocks] != [["scf.yield"], ["llvm.call", "scf.yield"]]:
        return None
    return Guard(op.operands[0], blocks[0][0].operands[0], blocks[1][0])


# Folds --------------------------------------------------------------------------------------------


def _find_carried(body: Body) -> None:
    *_, last = body.block.operations
    if body.kept is not None:
        return
    for number, (argument, yielded) in enumerate(zip(list(body.block.arguments)[1:], last.operands, strict=True)):
        found = _accumulator(body, argument, yielded, number)
        if found is None:
            raise Unfit("what it carries")
        body.accumulators.append(found)


def _find_stored(body: Body) -> None:
    """Loads of places that are the same in every iteration, folded into and stored again."""
    loads = [op.operation for op in body.block.operations if op.operation.name == "memref.load"]
    for op in body.block.operations:
        store = op.operation
        if store.name != "memref.store" or any(body.is_inside(x) for x in list(store.operands)[1:]):
            continue
        before = [load for load in loads if list(load.operands) == list(store.operands)[1:]]
        found = (
            _accumulator(body, before[0].results[0], store.operands[0], None, before[0], store)
            if len(before) == 1
            else None
        )
        if found is None:
            raise Unfit("a store to one place")
        body.accumulators.append(found)


def _accumulator(
    body: Body,
    so_far: ir.Value,
    result: ir.Value,
    number: int | None,
    load: ir.Operation | None = None,
    store: ir.Operation | None = None,
) -> Accumulator | None:
    """What a loop folds, or scans."""
    folded = free_combiner(so_far, result)
    if folded is not None:
        return Accumulator(folded, number, load, store)
    scanned = free_combiner(so_far, result, [op.operation for op in body.block.operations])
    if scanned is None or not scanned.takes_pairs or any(use.owner.operation not in scanned.ops for use in so_far.uses):
        return None
    return Accumulator(scanned, number, load, store, scanned=True)


def free_combiner(accumulator: ir.Value, result: ir.Value, beside: Sequence[ir.Operation] = ()) -> Combiner | None:
    """How a result is folded, where the order of that is free; ops of `beside` may use it."""
    found = find_combiner(accumulator, result, beside)
    if found is None or found.ops[0].name not in _ROUNDED:
        return found
    return found if "reassoc" in flags_of(found.ops[0]) else None


# Runs ---------------------------------------------------------------------------------------------


def fills_runs(loop: ir.Operation) -> bool:
    """Whether there is a loop in it, that fills runs."""
    try:
        return _run_of(loop) is not None
    except Unfit:
        return False


def _run_of(loop: ir.Operation) -> Run | None:
    """The runs that a loop fills: of a view of entries offsets[i] to offsets[i + 1], for its index i."""
    inner = [op.operation for op in loop.regions[0].blocks[0].operations if op.operation.name == "scf.for"]
    if not inner:
        return None
    ops = [op.operation for op in inner[0].regions[0].blocks[0].operations]
    view = made_by(ops[0].operands[1], "memref.subview") if ops[0].name == "memref.store" else None
    plain_loop = len(inner) == 1 and len(ops) == 2 and not loop.results
    if not plain_loop or view is None or len(ops[0].operands) != 3 or len(view.operands) != 3:
        raise Unfit("a loop in it")
    (buffer, start, length), value = view.operands, ops[0].operands[0]
    index = ops[0].operands[2] == inner[0].regions[0].blocks[0].arguments[0]
    whole = constant_int(inner[0].operands[0]) == 0 and inner[0].operands[1] == length
    plain = list(view.attributes["static_strides"]) == [1] and strides_of(buffer) == [1]
    inside = value.owner == inner[0].regions[0].blocks[0]
    if not (index and whole and plain) or inside or not _is_from(start, length, loop):
        raise Unfit("a loop in it")
    return Run(inner[0], view, value, start, length)


def _is_from(start: ir.Value, length: ir.Value, loop: ir.Operation) -> bool:
    """Whether a length is from a start, an entry of a vector at the index of a loop, to the next entry."""
    offsets = offsets_of(length, loop.regions[0].blocks[0].arguments[0])
    return offsets is not None and definer(length).operands[1] == start


def _kept_of(loop: ir.Operation) -> Kept | None:
    """What is stored at a place that is the next one then, if a loop carries nothing else."""
    block = loop.regions[0].blocks[0]
    branches = [op for op in body_ops(block) if op.name == "scf.if"]
    if len(branches) != 1 or len(block.arguments) != 2 or branches[0].results or list(branches[0].regions[1].blocks):
        return None
    inner, place = body_ops(branches[0].regions[0].blocks[0]), block.arguments[1]
    moves = made_by(terminator(block).operands[0], "arith.addi")
    if [op.name for op in inner] != ["memref.store"] or list(inner[0].operands)[2:] != [place] or moves is None:
        return None
    counts = made_by(moves.operands[1], "arith.index_castui")
    read = sum(1 for _ in place.uses)  # by the store and for the next place, if by nothing else
    if counts is None or [*counts.operands, *moves.operands][:2] != [branches[0].operands[0], place] or read != 2:
        return None
    return Kept(branches[0], inner[0], (counts, moves))


# Elements -----------------------------------------------------------------------------------------


def _classify(body: Body) -> None:
    """Find what is uniform. Unfit for an op that has no vector form."""
    for one in body.accumulators:
        if _is_short(one.element.type):
            raise Unfit("folds of short floats")
    _require_numbers(body)
    for op in body.ops:
        inside = [x for x in op.operands if body.is_inside(x)]
        if op.name in ("memref.load", "memref.store"):
            _classify_access(body, op)
        elif guard_of(op) is not None:
            continue
        elif op.name == "scf.while":
            _classify_walk(body, op)
        else:
            require_vector_form(op)
            varying = [x for x in inside if x not in body.uniform]
            if len(varying) == 1:
                _classify_index(body, op, varying[0])
            if all(x in body.uniform for x in inside):
                body.uniform.add(op.results[0])


def _classify_walk(body: Body, op: ir.Operation) -> None:
    """Find what a loop does for all iterations. Unfit for one that stores, or ends for some of them."""

    def varies(x: ir.Value) -> bool:
        return body.is_inside(x) and x not in body.uniform and not is_made_in(x, op)

    walk = Walk.of(op, varies) if op.results else None
    if walk is None:
        raise Unfit("a loop in it")
    for inner in (o for region in op.regions for o in body_ops(region.blocks[0])):
        if inner.name != "memref.load":
            require_vector_form(inner)
        elif body.is_inside(inner.operands[0]):
            raise Unfit("a buffer of its own")
        elif inner.results[0] in walk.varying:
            above = list(inner.operands)[1:-1]
            if strides_of(inner.operands[0])[-1] != 1 or any(x in walk.varying or varies(x) for x in above):
                raise Unfit("an access across memory")
    for x in walk.varying:
        require_element(x.type)
        body.wide.add(4 if _is_short(x.type) else byte_size(x.type))
    body.uniform |= {x for x in op.results if x not in walk.varying}
    body.walks[op] = walk


def _classify_index(body: Body, op: ir.Operation, x: ir.Value) -> None:
    """Find whether an op on an index of the loop makes one that rises, or falls, by 1 from iteration to iteration."""
    rises, falls = x in {body.index, *body.shifted}, x in body.falling
    turns = op.name == "arith.subi" and op.operands[1] == x
    if op.name == "arith.muli":
        turns = constant_int(op.operands[op.operands[0] == x]) == -1
        rises, falls = rises and turns, falls and turns
    elif op.name not in ("arith.addi", "arith.subi"):
        return
    if rises != falls:
        (body.shifted if rises != turns else body.falling).add(op.results[0])


def require_vector_form(op: ir.Operation) -> None:
    """Unfit for an op other than of memory that vectors have not."""
    if not (op.name.startswith("arith.") or op.name in _MATH) or len(op.results) != 1:
        raise Unfit(op.name)
    if any(_is_short(x.type) for x in (*op.operands, *op.results)) and op.name not in _SHORT_OPS:
        raise Unfit("arithmetic of short floats")


def accessed(op: ir.Operation) -> list[ir.Value]:
    """The buffer that a load or a store is of, and the indices there."""
    return list(op.operands)[op.name == "memref.store" :]


def _classify_access(body: Body, op: ir.Operation) -> None:
    stores, (buffer, *indices) = op.name == "memref.store", accessed(op)
    varying = [x for x in indices if body.is_inside(x) and x not in body.uniform]
    if not varying and not stores:
        body.uniform.add(op.results[0])
        return
    strides = strides_of(buffer)
    element = buffer.type.element_type
    along = indices[-1] in {body.index, *body.shifted, *body.falling}
    if varying != [indices[-1]] or strides[-1] != 1 or (stores and not along):
        raise Unfit("an access across memory")
    if body.is_inside(buffer):
        raise Unfit("a buffer of its own")
    if along:
        body.bytes.add(byte_size(element))
    else:
        body.gathered[op] = byte_size(element)
    body.wide.add(4 if _is_short(element) else byte_size(element))


def _is_short(type_: ir.Type) -> bool:
    return isinstance(type_, (ir.F16Type, ir.BF16Type))


def _require_numbers(body: Body) -> None:
    """Unfit for elements that vectors cannot have, or that have no width: complex numbers, pointers, vectors."""
    elements = [one.element for one in body.accumulators] + ([] if body.packed is None else [body.packed.value])
    for op in body.ops:
        elements += [op.operands[0]] if op.name == "memref.store" else op.results
    for x in elements:
        require_element(x.type)


def require_element(type_: ir.Type) -> None:
    """Unfit for what is no number, and for integers that have signs, or that vectors pack and memory does not."""
    if not is_number(type_) or (
        isinstance(type_, ir.IntegerType) and not (type_.is_signless and type_.width in _WIDTHS)
    ):
        raise Unfit(f"elements {type_}")


def strides_of(buffer: ir.Value) -> list[int]:
    """The strides of a buffer. Unfit for one whose layout has none."""
    strides = layout_strides(buffer.type)
    if strides is None:
        raise Unfit("its layout")
    return strides


# Memory -------------------------------------------------------------------------------------------


def _require_apart(body: Body) -> None:
    """Unfit unless what an iteration writes is what no other iteration reads or writes."""
    found = [op for op in body.ops if op.name in ("memref.load", "memref.store")]
    looked_up = [load for walk in body.walks for load in find_ops(walk, "memref.load")]
    written = [op for op in found if op.name == "memref.store"]
    folded = [one.store for one in body.accumulators if one.store is not None]
    roots = {op: root(accessed(op)[0]) for op in (*found, *looked_up, *folded)}
    own = {buffer for buffer in roots.values() if is_own(buffer)}

    def are_apart(a: ir.Operation, b: ir.Operation) -> bool:
        one, other = roots[a], roots[b]
        return one != other and one in own and other in own

    for store in written:
        for op in found:
            same = accessed(op) == accessed(store)
            late = op.name == "memref.load" and store.is_before_in_block(op)
            if op != store and (late or op.name == "memref.store" or not same) and not are_apart(op, store):
                raise Unfit("memory that may be one")
        if not all(are_apart(op, store) for op in looked_up):
            raise Unfit("memory that may be one")
    if body.packed is not None:
        others = all(apart(op.operands[0], body.packed.buffer) for op in [*found, *looked_up])
        if written or folded or not others:
            raise Unfit("memory that may be one")
    sums, others = ([roots[op] for op in ops] for ops in (folded, [*found, *looked_up]))
    distinct = len({*sums}) == len(sums) and own.issuperset([*sums, *others]) and not {*sums} & {*others}
    if folded and len(sums) + len(others) > 1 and not distinct:
        raise Unfit("memory that may be one")


def apart(a: ir.Value, b: ir.Value) -> bool:
    """Whether two buffers have no element in common."""
    one, other = root(a), root(b)
    return one != other and is_own(one) and is_own(other)
