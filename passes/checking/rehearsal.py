"""Bodies of linalg ops that run in front of them, for what is asked of their ops, with all places kept inside.

What an op reads where another one has told it to may be outside of a tensor. So nothing is read there: a place outside
reads as zero, and is what the check behind the rehearsal refuses before anything made of it counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, takewhile

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.checking.dense import largest_index
from ragged_dialect.generic import filled, generic, indexing_maps
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import ancestors, body_ops, terminator
from ragged_dialect.ir.walk import captures, find_ops, is_outside
from ragged_dialect.iteration import analyze
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.checking.emitter import Emitter
from ragged_dialect.passes.differentiate.values import empty_like
from ragged_dialect.types import dense_type

Step = tuple[int, Callable[[ir.Type, ir.Value], ir.Value], Callable[[ir.Value, ir.Value], ir.Value]]
"""What to start from, what makes an i64 (of a type and a value), what combines two."""

_BOUNDS = 3
"""Operands of an `scf.for` before what it carries."""


@dataclass(frozen=True)
class Question:
    """What is asked of an op in a body: values there, each with how it is combined over all elements. `places` are
    those of its operands that are indices, each below an extent, `least` those that are at least so much, with dims."""

    op: ir.Operation
    values: tuple[ir.Value, ...]
    steps: tuple[Step, ...]
    places: tuple[tuple[ir.Value, Mixed], ...] = ()
    least: tuple[tuple[int, ir.Value, int], ...] = ()


class Rehearsal:
    """The part of a body that questions need."""

    def __init__(self, op: ir.Operation, questions: Sequence[Question]) -> None:
        self._op = op
        self._questions = {one.op: one for one in questions}
        self._steps = [step for one in questions for step in one.steps]
        starts = accumulate((len(one.steps) for one in questions), initial=0)
        self._first = {one.op: first for one, first in zip(questions, starts, strict=False)}
        self._folds = "reduction" in analyze(op).kinds
        self._holds = {outer for one in questions for outer in self._around(one.op)}
        self._needed = self._slice()
        self._refuse_loops_without_end()

    def answers(self, emit: Emitter) -> list[list[ir.Value]]:
        """What each question comes to, as i64, at the insertion point."""
        op, body = self._op, self._op.regions[0].blocks[0]
        operands = [emit.behind(x) if isinstance(x.type, ir.RankedTensorType) else x for x in op.operands]
        count = len(operands) - len(op.results)
        sums = set(body.arguments[count:])
        if sums.isdisjoint(self._needed) or not self._folds:
            # The outs are read too, or at least give extents: they may be all that has some loop.
            found = self._over_all(operands, indexing_maps(op), lambda elements: self._rehearsed(elements)[0])
        else:
            found = self._with_sums(operands[:count], operands[count:])
        values = iter([tensor.extract(x, []) for x in found])
        return [[next(values) for _ in one.steps] for one in self._questions.values()]

    def _rehearsed(self, elements: list[ir.Value]) -> tuple[list[ir.Value], ValueMap]:
        """What is combined behind an element, of the operands' elements and what is combined before, and what is what
        in the body."""
        body = self._op.regions[0].blocks[0]
        known: ValueMap = dict(zip(body.arguments, elements, strict=False))
        return self._block(body, known, elements[-len(self._steps) :]), known

    def _over_all(
        self,
        operands: Sequence[ir.Value],
        maps: Sequence[ir.AffineMap],
        combined: Callable[[list[ir.Value]], Sequence[ir.Value]],
    ) -> list[ir.Value]:
        """Scalars that are combined over all elements of some operands, one for each step."""
        i64, rank = build.i64(), maps[0].n_dims
        starts = [tensor.from_elements(dense_type((), i64), [arith.constant(i64, step[0])]) for step in self._steps]
        scalar = [ir.AffineMap.get(rank, 0, [])] * len(starts)
        return list(generic(operands, starts, [*maps, *scalar], ["reduction"] * rank, combined).results)

    def _with_sums(self, inputs: list[ir.Value], outs: list[ir.Value]) -> list[ir.Value]:
        """The same where what the op has so far counts: it is made again, with what is combined for each result."""
        op, body, steps, at = self._op, self._op.regions[0].blocks[0], self._steps, next(iter(self._questions))
        maps = indexing_maps(op)
        if any(map_ != maps[-1] for map_ in maps[len(inputs) :]):
            raise PassFailure(at, f"expected results with the same loops where '{at.name}' is of the sums so far")
        wide = [
            filled(build.constant(build.i64(), start), empty_like(outs[-1], build.i64())).result for start, *_ in steps
        ]

        def payload(elements: list[ir.Value]) -> list[ir.Value]:
            after, known = self._rehearsed(elements)
            return [*(known.get(x, x) for x in terminator(body).operands), *after]

        own = [*maps, *[maps[-1]] * len(steps)]
        made = generic(inputs, [*outs, *wide], own, analyze(op).kinds, payload).results[len(outs) :]
        each = [ir.AffineMap.get_identity(len(outs[-1].type.shape))] * len(steps)

        def combined(given: list[ir.Value]) -> list[ir.Value]:
            pairs = zip(given[: len(steps)], given[len(steps) :], steps, strict=True)
            return [combine(old, new) for new, old, (_, _, combine) in pairs]

        return self._over_all(list(made), each, combined)

    # What is needed ----------------------------------------------------------------------------------

    def _around(self, op: ir.Operation) -> Iterator[ir.Operation]:
        for outer in takewhile(lambda outer: outer != self._op, ancestors(op)):
            if outer.name not in ("scf.if", "scf.for"):
                text = "expected checks in scf.if and scf.for in a body"
                raise PassFailure(op, f"{text}, got '{op.name}' in '{outer.name}'")
            yield outer

    def _slice(self) -> set[ir.Value]:
        """Values that questions are about, that tell whether their ops run, and that those are made of."""
        left = [x for one in self._questions.values() for x in one.values]
        left += [x for outer in self._holds for x in list(outer.operands)[:_BOUNDS]]
        found, body = set[ir.Value](), self._op.regions[0].blocks[0]
        sums = body.arguments[len(self._op.operands) - len(self._op.results) :] if self._folds else ()
        while left:
            value = left.pop()
            if value not in found:
                found.add(value)
                left += list(terminator(body).operands) if value in sums else self._sources(value)
        return found

    def _refuse_loops_without_end(self) -> None:
        """An `scf.while` might not end on the zeros that stand for what is outside."""
        if any(result in self._needed for op in self._questions for result in op.results):
            for loop in find_ops(self._op, "scf.while"):
                if any(result in self._needed for result in loop.results):
                    raise PassFailure(
                        loop, "expected places that no 'scf.while' makes where others are of what was read"
                    )

    def _sources(self, value: ir.Value) -> list[ir.Value]:
        """What a value in the body is made of."""
        if is_outside(value, self._op) or (isinstance(value.owner, ir.Block) and value.owner.owner == self._op):
            return []
        if isinstance(value.owner, ir.Block):
            loop = value.owner.owner.operation
            number = ir.BlockArgument(value).arg_number - 1
        else:
            loop, number = value.owner.operation, ir.OpResult(value).result_number
        if loop.name == "scf.for":
            carried = [] if number < 0 else [loop.operands[_BOUNDS + number], _yielded(loop, 0)[number]]
            return [*list(loop.operands)[:_BOUNDS], *carried]
        if loop.name == "scf.if" and not isinstance(value.owner, ir.Block):
            return [loop.operands[0], *(_yielded(loop, k)[number] for k in range(2))]
        return captures([loop])

    # What runs ---------------------------------------------------------------------------------------

    def _block(self, block: ir.Block, known: ValueMap, sofar: list[ir.Value]) -> list[ir.Value]:
        """What is combined behind a block."""
        for op in body_ops(block):
            question = self._questions.get(op)
            if question is not None:
                sofar = self._combined(question, known, sofar)
            if op in self._holds:
                sofar = (self._branch if op.name == "scf.if" else self._loop)(op, known, sofar)
            elif any(result in self._needed for result in op.results):
                if question is None:
                    clone(op, known)
                else:
                    _kept_inside(question, known)
        return sofar

    def _combined(self, question: Question, known: ValueMap, sofar: list[ir.Value]) -> list[ir.Value]:
        made, first = list(sofar), self._first[question.op]
        for k, (value, (_, convert, combine)) in enumerate(zip(question.values, question.steps, strict=True), first):
            made[k] = combine(made[k], convert(build.i64(), known.get(value, value)))
        return made

    def _branch(self, op: ir.Operation, known: ValueMap, sofar: list[ir.Value]) -> list[ir.Value]:
        kept = [k for k, result in enumerate(op.results) if result in self._needed]

        def branch(number: int) -> list[ir.Value]:
            if not op.regions[number].blocks:
                return sofar
            own = dict(known)
            after = self._block(op.regions[number].blocks[0], own, sofar)
            yielded = _yielded(op, number)
            return [*(own.get(yielded[k], yielded[k]) for k in kept), *after]

        types = [*(op.results[k].type for k in kept), *(x.type for x in sofar)]
        condition = known.get(op.operands[0], op.operands[0])
        made = flow.choose(condition, lambda: branch(0), lambda: branch(1), types)
        known.update((op.results[k], x) for k, x in zip(kept, made, strict=False))
        return made[len(kept) :]

    def _loop(self, op: ir.Operation, known: ValueMap, sofar: list[ir.Value]) -> list[ir.Value]:
        low, high, step, *inits = (known.get(x, x) for x in op.operands)
        block = op.regions[0].blocks[0]
        number, *arguments = block.arguments
        needed = self._needed
        kept = [k for k, pair in enumerate(zip(arguments, op.results, strict=True)) if needed.intersection(pair)]

        def body(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            own = {**known, number: i, **dict(zip((arguments[k] for k in kept), carried, strict=False))}
            after, yielded = self._block(block, own, carried[len(kept) :]), _yielded(op, 0)
            return [*(own.get(yielded[k], yielded[k]) for k in kept), *after]

        if op in self._questions:  # with a step that is refused it has no iterations, as it might not end
            zero, one = (build.constant(step.type, number) for number in (0, 1))
            slack = arith.subi(build.constant(step.type, largest_index(step.type)), arith.maxsi(high, zero))
            ends = arith.andi(build.at_least(step, 1), build.at_most(step, slack))
            high, step = arith.select(ends, high, low), arith.select(ends, step, one)
        made = flow.strided(low, step, high, [*(inits[k] for k in kept), *sofar], body)
        known.update((op.results[k], x) for k, x in zip(kept, made, strict=False))
        return made[len(kept) :]


def _yielded(op: ir.Operation, region: int) -> list[ir.Value]:
    return list(terminator(op.regions[region].blocks[0]).operands)


def _kept_inside(question: Question, known: ValueMap) -> None:
    """An op of a question, or what stands for it where its places are outside."""
    op = question.op
    given: ValueMap = dict(known)
    for _, value, least in question.least:
        number = known.get(value, value)
        given[value] = arith.maxsi(number, build.constant(number.type, least))
    inside = [build.below(known.get(value, value), extent) for value, extent in question.places]
    if all(isinstance(extent, int) and extent > 0 for _, extent in question.places):
        for (value, _), holds in zip(question.places, inside, strict=True):
            given[value] = arith.select(holds, known.get(value, value), build.value(0))
        made = clone(op, given).results
    else:

        def other() -> list[ir.Value]:
            dest = op.operands[1] if op.name == "tensor.insert" else None
            return [build.constant(op.results[0].type, 0) if dest is None else known.get(dest, dest)]

        made = flow.choose(reduce(arith.andi, inside), lambda: [clone(op, given).result], other, [op.results[0].type])
    known.update(zip(op.results, made, strict=True))
