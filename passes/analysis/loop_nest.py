"""Compute ops as data: maps, iterator kinds and a body of scalar steps, to be combined and
written back as `linalg.generic`.

`FusedNest.of` reads elementwise arith and math ops, `ragged.compact` and the linalg ops with simple bodies; `inline`
puts the body of a producer into a consumer, `join` runs two bodies in one nest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.generic import generic, indexing_maps
from ragged_dialect.ir import shapes
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.match import loop_of, loops_of, made_by, view_of
from ragged_dialect.ir.walk import touches_memory
from ragged_dialect.iteration import LINALG_OPS, analyze, is_elementwise, output_count
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.types import is_tensor, shape_of

Ref = tuple[str, Any]
"""What a step reads: ("in", k), ("out", k), ("step", k), or ("value", an MLIR value of outside)."""

_NAMED_KERNELS = frozenset(
    f"linalg.{name}"
    for name in "contract matmul batch_matmul batch_matvec vecmat matvec batch_vecmat dot softmax".split()
)
READABLE = LINALG_OPS - _NAMED_KERNELS
"""Linalg ops that become nests. The lowering recognises the others by name."""
_OF_INDICES = frozenset(
    ("linalg.index", *(f"arith.{name}" for name in "constant index_cast addi subi muli cmpi select".split()))
)


@dataclass(frozen=True, eq=False)
class Step:
    """One scalar op of a body; `loop` is set for `linalg.index`."""

    name: str
    types: tuple[ir.Type, ...]
    operands: tuple[Ref, ...]
    attributes: dict[str, ir.Attribute]
    loop: int | None = None

    def reading(self, moved: Callable[[Ref], Ref], loop: int | None) -> Step:
        """The step with its refs moved, and the loop of `linalg.index` renamed."""
        return Step(self.name, self.types, tuple(map(moved, self.operands)), self.attributes, loop)


@dataclass(frozen=True)
class Operand:
    """A tensor or scalar that a nest reads or starts from, and how its loops index it."""

    value: ir.Value
    map: ir.AffineMap

    @property
    def loops(self) -> tuple[int | None, ...]:
        """Per dim the loop that indexes it, None for other expressions."""
        return loops_of(self.map)

    def over(self, loops: dict[int, int], count: int) -> Operand:
        """The operand in a nest that has its loops under other numbers."""
        change = ir.AffineMap.get(count, 0, [ir.AffineDimExpr.get(loops[k]) for k in range(len(loops))])
        return Operand(self.value, ir.AffineMap.get(count, 0, [e.compose(change) for e in self.map.results]))

    def partial_loops(self) -> set[int]:
        """Loops that index a ragged level or tile of it."""
        if not is_tensor(self.value.type):
            return set()
        letters = shape_of(self.value.type).layout.letters
        return {loop for loop, letter in zip(self.loops, letters, strict=True) if loop is not None and letter in "rwt"}


@dataclass(frozen=True, eq=False)
class FusedNest:
    """A loop nest. `outs` is empty for an elementwise op, whose result has an identity map. `results` are what it
    computes in the place of its `roots`."""

    kinds: tuple[str, ...]
    inputs: tuple[Operand, ...]
    outs: tuple[Operand, ...]
    steps: tuple[Step, ...]
    yields: tuple[Ref, ...]
    roots: tuple[ir.Operation, ...] = field(default=())
    results: tuple[ir.Value, ...] = field(default=())
    absorbed: tuple[ir.Operation, ...] = field(default=())

    @staticmethod
    def of(op: ir.Operation) -> FusedNest | None:
        """The nest of an op; None when it has no such form."""
        if is_elementwise(op):
            return _of_elementwise(op)
        if op.name == "ragged.compact":
            return _of_copy(op)
        return _of_linalg(op) if op.name in READABLE else None

    @property
    def reduced(self) -> frozenset[int]:
        """The loops that reduce."""
        return frozenset(loop for loop, kind in enumerate(self.kinds) if kind == "reduction")

    @property
    def is_of_indices(self) -> bool:
        """Whether what it computes is of the indices of its loops alone, without a division."""
        return not self.inputs and all(step.name in _OF_INDICES for step in self.steps)

    @property
    def is_parallel(self) -> bool:
        """Whether no loop reduces."""
        return not self.reduced

    @property
    def ops(self) -> set[ir.Operation]:
        """The ops that it takes the place of."""
        return {*self.roots, *self.absorbed}

    def reads_each(self, x: Operand) -> bool:
        """Whether an operand has an element for every iteration."""
        return set(range(len(self.kinds))) <= set(x.loops)

    @property
    def is_scan(self) -> bool:
        """Whether what it has so far is a result, for each index of a loop that reduces: the loop has an order."""
        return any(self.reduced & set(out.loops) for out in self.outs)

    def out_maps(self) -> tuple[ir.AffineMap, ...]:
        """The maps of the results."""
        if self.outs:
            return tuple(out.map for out in self.outs)
        return (ir.AffineMap.get_identity(len(self.kinds)),)

    def partial_loops(self, results: bool = True) -> set[int]:
        """Loops that some operand, or out, runs over with component-dependent lengths."""
        operands = (*self.inputs, *self.outs) if results else self.inputs
        return {loop for operand in operands for loop in operand.partial_loops()}

    def sized_loops(self) -> set[int]:
        """Loops that have the extent of a dim of some operand or out."""
        if not self.outs:
            return set(range(len(self.kinds)))
        return {loop for operand in (*self.inputs, *self.outs) for loop in operand.loops if loop is not None}


def _of_elementwise(op: ir.Operation) -> FusedNest | None:
    if len(op.results) != 1 or len(op.regions) or not all(is_tensor(v.type) for v in op.operands):
        return None
    if not len(op.operands):
        return None
    rank = shape_of(op.results[0].type).rank
    identity = ir.AffineMap.get_identity(rank)
    inputs = tuple(Operand(v, identity) for v in op.operands)
    step = Step(
        op.name,
        (op.results[0].type.element_type,),
        tuple(("in", k) for k in range(len(inputs))),
        copy_attributes(op),
    )
    return FusedNest(("parallel",) * rank, inputs, (), (step,), (("step", 0),), (op,), tuple(op.results))


def _of_copy(op: ir.Operation) -> FusedNest:
    """Of an op whose result has the elements of its operand."""
    rank = shape_of(op.results[0].type).rank
    inputs = (Operand(op.operands[0], ir.AffineMap.get_identity(rank)),)
    return FusedNest(("parallel",) * rank, inputs, (), (), (("in", 0),), (op,), tuple(op.results))


def _of_linalg(op: ir.Operation) -> FusedNest | None:
    maps = indexing_maps(op)
    count = output_count(op)
    if not maps or not count:
        return None
    try:
        kinds = analyze(op).kinds
    except LayoutError:
        return None
    operands = [Operand(v, m) for v, m in zip(op.operands, maps, strict=True)]
    body = _read_body(op.regions[0].blocks[0], len(operands) - count)
    if body is None:
        return None
    steps, yields = body
    outs = tuple(operands[-count:])
    return FusedNest(kinds, tuple(operands[:-count]), outs, steps, yields, (op,), tuple(op.results))


def _read_body(block: ir.Block, inputs: int) -> tuple[tuple[Step, ...], tuple[Ref, ...]] | None:
    refs: dict[ir.Value, Ref] = {}
    for number, argument in enumerate(block.arguments):
        refs[argument] = ("in", number) if number < inputs else ("out", number - inputs)
    steps: list[Step] = []
    for op in block.operations:
        op = op.operation
        operands = tuple(refs.get(v, ("value", v)) for v in op.operands)
        if op.name == "linalg.yield":
            return tuple(steps), operands
        if len(op.regions) or len(op.results) != 1 or touches_memory(op):
            return None
        refs[op.results[0]] = ("step", len(steps))
        loop = op.attributes["dim"].value if op.name == "linalg.index" else None
        steps.append(Step(op.name, (op.results[0].type,), operands, copy_attributes(op), loop))
    return None


def inline(consumer: FusedNest, value: ir.Value, producer: FusedNest) -> FusedNest | None:
    """The consumer with `value`, the only result of the producer, computed in its body. None where
    the work would be repeated, or a loop would lose the operand that gives its lengths. What is computed of indices
    alone is no work where rows of components meet, whose elements are many more."""
    uses = dict.fromkeys(operand.map for operand in consumer.inputs if operand.value == value)
    out_map = producer.out_maps()[0]
    if not producer.is_parallel or len(producer.yields) != 1 or not out_map.is_permutation:
        return None
    if any(out.value == value for out in consumer.outs) or (len(uses) != 1 and not producer.is_of_indices):
        return None
    fused: FusedNest | None = consumer
    for use in uses:
        fused = fused and _inline_use(fused, Operand(value, use), producer)
    return fused


def _inline_use(consumer: FusedNest, use: Operand, producer: FusedNest) -> FusedNest | None:
    """The consumer with what it reads of the producer by one map computed in its body."""
    taken = {k for k, operand in enumerate(consumer.inputs) if operand == use}
    repeats = bool(producer.steps) and set(use.loops) != set(range(len(consumer.kinds)))
    if None in use.loops or (repeats and not (producer.is_of_indices and consumer.partial_loops() - {*use.loops})):
        return None
    loops: dict[int, int] = {}
    for expr, loop in zip(producer.out_maps()[0].results, use.loops, strict=True):
        assert loop is not None
        loops[loop_of(expr)] = loop
    fused = _combine(consumer, taken, _renamed(producer, loops, len(consumer.kinds)))
    if producer.is_of_indices and not use.partial_loops() <= fused.partial_loops(results=False):
        lengths = Operand(_lengths_of(producer), use.map)
        fused = replace(fused, inputs=(*fused.inputs, lengths))
    if consumer.partial_loops() != fused.partial_loops():  # lengths would be lost, or hold for what is dense
        return None
    return _sized(fused, consumer, use)


def _lengths_of(nest: FusedNest) -> ir.Value:
    """What the result of a nest without inputs has its structure from: to be read by nobody, but for its lengths."""
    (out,) = nest.outs
    made = made_by(out.value, "ragged.empty")
    like = None if made is None else view_of(made, EmptyOp).like
    same = like is not None and shape_of(like.type).layout == shape_of(out.value.type).layout
    return like if like is not None and same else out.value


def _sized(fused: FusedNest, consumer: FusedNest, use: Operand) -> FusedNest | None:
    """A nest whose loops that lost the operand that gave their extents, which are static, get others of no elements
    that anybody reads. None where an extent is dynamic."""
    layout, missing = shape_of(use.value.type).layout, consumer.sized_loops() - fused.sized_loops()
    more: list[Operand] = []
    for dim, loop in enumerate(use.loops):
        if loop not in missing:
            continue
        extent = use.value.type.shape[dim]
        if extent < 0 or not layout.is_plain(dim):
            return None
        with ir.InsertionPoint(use.value.owner):
            nothing = shapes.empty([extent], ir.IntegerType.get_signless(1))
        more.append(Operand(nothing, ir.AffineMap.get(len(fused.kinds), 0, [ir.AffineDimExpr.get(loop)])))
    return replace(fused, inputs=(*fused.inputs, *more)) if len(more) == len(missing) else None


def _renamed(nest: FusedNest, loops: dict[int, int], count: int) -> FusedNest:
    """A nest over the loops of another, reading its own outs as inputs."""
    reads_out = any(ref[0] == "out" for step in nest.steps for ref in step.operands) or nest.yields[0][0] == "out"
    inputs = (*nest.inputs, *(nest.outs if reads_out else ()))
    first_out = len(nest.inputs)

    def moved(ref: Ref) -> Ref:
        return ("in", first_out + ref[1]) if ref[0] == "out" else ref

    steps = tuple(step.reading(moved, None if step.loop is None else loops[step.loop]) for step in nest.steps)
    return replace(
        nest,
        inputs=tuple(x.over(loops, count) for x in inputs),
        outs=(),
        steps=steps,
        yields=tuple(map(moved, nest.yields)),
    )


def _combine(consumer: FusedNest, taken: set[int], producer: FusedNest) -> FusedNest:
    """The producer's steps first; inputs `taken` of the consumer read what it yields."""
    inputs, steps, _, consumed = _together(producer, consumer, taken)
    return replace(
        consumer,
        inputs=inputs,
        steps=steps,
        yields=tuple(map(consumed, consumer.yields)),
        absorbed=(*producer.absorbed, *producer.roots, *consumer.absorbed),
    )


class _Inputs:
    """The inputs of a nest being put together, equal ones once."""

    def __init__(self) -> None:
        self.operands: list[Operand] = []
        self._numbers: dict[tuple[ir.Value, str], int] = {}

    def shift(self, nest: FusedNest, steps: int, known: dict[int, Ref], outs: int = 0) -> Callable[[Ref], Ref]:
        """A function from the refs of a nest to those of the whole."""
        numbers: dict[int, Ref] = {}
        for k, operand in enumerate(nest.inputs):
            numbers[k] = known[k] if k in known else ("in", self._number(operand))

        def moved(ref: Ref) -> Ref:
            if ref[0] == "in":
                return numbers[ref[1]]
            if ref[0] == "out":
                return ("out", ref[1] + outs)
            return ("step", ref[1] + steps) if ref[0] == "step" else ref

        return moved

    def _number(self, operand: Operand) -> int:
        key = (operand.value, str(operand.map))
        if key not in self._numbers:
            self._numbers[key] = len(self.operands)
            self.operands.append(operand)
        return self._numbers[key]


def _together(
    a: FusedNest, b: FusedNest, taken: Iterable[int] = (), number: int = 0, outs: int = 0
) -> tuple[tuple[Operand, ...], tuple[Step, ...], Callable[[Ref], Ref], Callable[[Ref], Ref]]:
    """Inputs and steps of two nests as one, the first one's before; and where the refs of both are then. Inputs `taken`
    of the second one read what the first one yields at a number; its outs are behind so many."""
    inputs = _Inputs()
    first = inputs.shift(a, 0, {})
    second = inputs.shift(b, len(a.steps), dict.fromkeys(taken, first(a.yields[number])), outs)
    steps = (step.reading(moved, step.loop) for nest, moved in ((a, first), (b, second)) for step in nest.steps)
    return tuple(inputs.operands), tuple(steps), first, second


def join(a: FusedNest, b: FusedNest) -> FusedNest:
    """Two independent nests of equal loops as one with the results of both."""
    inputs, steps, first, second = _together(a, b, outs=len(a.outs))
    return FusedNest(
        a.kinds,
        inputs,
        (*a.outs, *b.outs),
        steps,
        (*map(first, a.yields), *map(second, b.yields)),
        (*a.roots, *b.roots),
        (*a.results, *b.results),
        (*a.absorbed, *b.absorbed),
    )


def follow(scan: FusedNest, value: ir.Value, consumer: FusedNest) -> FusedNest | None:
    """A scan that stores what the consumer makes of each element of `value`, a result, in the place of that. None where
    the consumer runs over other elements, or reads what the scan has when it is done."""
    number, taken = scan.results.index(value), {k for k, x in enumerate(consumer.inputs) if x.value == value}
    uses = {consumer.inputs[k].loops for k in taken}
    stored, (use, *others), count = scan.outs[number], uses, len(scan.kinds)
    if others or not consumer.is_parallel or len(consumer.yields) != 1 or not stored.map.is_permutation:
        return None
    if len(stored.loops) != count or None in use or len({*use}) != len(consumer.kinds) or len(use) != count:
        return None
    if any(ref == ("out", number) for step in scan.steps for ref in step.operands) or ("out", number) in scan.yields:
        return None
    own = {x.value for k, x in enumerate(consumer.inputs) if k not in taken} | {x.value for x in consumer.outs}
    if own & {*scan.results}:
        return None
    loops = {a: b for a, b in zip(use, stored.loops, strict=True) if a is not None and b is not None}
    identity = Operand(stored.value, ir.AffineMap.get_identity(count))
    out = (consumer.outs[0] if consumer.outs else identity).over(loops, count)
    (result,) = consumer.results
    if not consumer.outs and (out.map != stored.map or result.type != stored.value.type):
        return None  # the scan's own out does for it
    moved = _renamed(consumer, loops, count)
    inputs, steps, first, second = _together(scan, moved, taken, number)
    outs, yields, results = list(scan.outs), [first(ref) for ref in scan.yields], list(scan.results)
    outs[number], yields[number], results[number] = out, second(moved.yields[0]), result
    return FusedNest(
        scan.kinds,
        inputs,
        tuple(outs),
        steps,
        tuple(yields),
        (*scan.roots, *consumer.roots),
        tuple(results),
        (*scan.absorbed, *consumer.absorbed),
    )


def write(nest: FusedNest, outs: Sequence[ir.Value]) -> ir.Operation:
    """Create the `linalg.generic` of a nest at the current insertion point."""
    inputs = [operand.value for operand in nest.inputs]
    maps = [*(operand.map for operand in nest.inputs), *nest.out_maps()]
    return generic(inputs, outs, maps, nest.kinds, lambda elements: _write_body(nest, elements))


def _write_body(nest: FusedNest, elements: list[ir.Value]) -> list[ir.Value]:
    made: list[ir.Value] = []

    def value(ref: Ref) -> ir.Value:
        kind, which = ref
        if kind == "value":
            return which
        number: int = which
        return made[number] if kind == "step" else elements[number + (len(nest.inputs) if kind == "out" else 0)]

    for step in nest.steps:
        attributes = dict(step.attributes)
        if step.loop is not None:
            attributes["dim"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), step.loop)
        operands = [value(ref) for ref in step.operands]
        made.append(ir.Operation.create(step.name, list(step.types), operands, attributes).result)
    return [value(ref) for ref in nest.yields]
