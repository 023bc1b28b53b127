"""Producers of rows that are read at places of their own: what is read is computed there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.ir import build
from ragged_dialect.ir.match import constant_int, loop_of, made_by
from ragged_dialect.passes.analysis.loop_nest import FusedNest, Operand, Ref, Step
from ragged_dialect.types import elements_from, is_ragged, is_tensor, shape_of

_ROW = 8
"""Elements of a row from which on it is computed where it is read. What it is of is somewhere else in memory, too;
single elements of that are read no faster than what was stored. Sums at positions take 0.9 of the time on a Zen 5 core
with 8 float32, 0.43 with 16 and 0.29 with 64."""
_BATCH_OF_LISTS = "dr"


@dataclass(frozen=True)
class Gathered:
    """A `tensor.extract` in the body of a nest, by its number, whose places are an element each of what
    `ragged.group_by` found: no element is read twice."""

    nest: FusedNest
    number: int

    @staticmethod
    def all_of(nest: FusedNest) -> Iterator[Gathered]:
        """Those of a nest."""
        for number, step in enumerate(nest.steps):
            found = Gathered(nest, number)
            if step.name == "tensor.extract" and step.operands[0][0] == "value" and found._is_once:
                yield found

    @property
    def value(self) -> ir.Value:
        """What is read."""
        return self.nest.steps[self.number].operands[0][1]

    @property
    def places(self) -> tuple[Ref, ...]:
        """Where, an index for each dim."""
        return self.nest.steps[self.number].operands[1:]

    @property
    def _is_once(self) -> bool:
        """Whether all places are different: the first index is of a group, the others are loops of their own."""
        seen: list[int | None] = []
        for place in self.places:
            seen += self._loops_of(place)
        return None not in seen and sorted(seen, key=str) == sorted(range(len(self.nest.kinds)), key=str)

    def _loops_of(self, place: Ref) -> tuple[int | None, ...]:
        """The loops that have each index once."""
        if (step := self._step(place)) is not None:
            if step.name == "arith.index_cast":
                return self._loops_of(step.operands[0])
            if step.name == "arith.select" and self._is_below_zero(step.operands[0], step.operands[2]):
                return self._loops_of(step.operands[2])  # an index from the end on, which a place never is
            return (step.loop,)
        number: int = place[1]
        operand = self.nest.inputs[number] if place[0] == "in" else None
        grouped = operand is not None and made_by(operand.value, "ragged.group_by") is not None
        return operand.loops if operand is not None and grouped else (None,)

    def _is_below_zero(self, condition: Ref, place: Ref) -> bool:
        """Whether a condition is that a place is below zero."""
        step = self._step(condition)
        if step is None or step.name != "arith.cmpi" or step.operands[0] != place:
            return False
        kind, zero = step.operands[1]
        is_less = ir.IntegerAttr(step.attributes["predicate"]).value == arith.CmpIPredicate.slt
        return is_less and kind == "value" and constant_int(zero) == 0

    def _step(self, ref: Ref) -> Step | None:
        number: int = ref[1]
        return self.nest.steps[number] if ref[0] == "step" else None


def inline_gathered(gathered: Gathered, result: ir.Value, producer: FusedNest, like: ir.Value) -> FusedNest | None:
    """The nest with what it reads of a producer's only result computed there; None where rows are short, or something
    is read that is not of the element, of its component or of its features. Makes what else is read, the components
    of elements among that, as `like` has them, at the insertion point."""
    nest, out_map = gathered.nest, producer.out_maps()[0]
    if not producer.is_parallel or len(producer.yields) != 1 or not out_map.is_permutation or not _has_rows(result):
        return None
    where = _Where.of(result, [loop_of(e) for e in out_map.results], gathered.places)
    reads_out = any(ref[0] == "out" for ref in (*producer.yields, *(r for s in producer.steps for r in s.operands)))
    if where is None or reads_out or not all(where.has(x) for x in producer.inputs):
        return None
    if any(step.loop is not None and step.loop not in where.plain for step in producer.steps):
        return None
    body = _Body(like)
    known: dict[int, Ref] = {}
    for number, step in enumerate(nest.steps):
        if number == gathered.number:
            known[number] = _produced(producer, where.moved(known), body)
        else:
            known[number] = body.add(step.reading(lambda ref: _of(ref, known), step.loop))
    absorbed = (*producer.absorbed, *producer.roots, *nest.absorbed)
    yields = tuple(_of(ref, known) for ref in nest.yields)
    return replace(nest, steps=tuple(body.steps), yields=yields, absorbed=absorbed)


def _has_rows(result: ir.Value) -> bool:
    """Whether what lies on the first axis is rows that are long enough."""
    (_, first), *_ = _axes(result)
    return elements_from(result.type, len(first)) >= _ROW


def _produced(producer: FusedNest, where: _Where, body: _Body) -> Ref:
    """What a producer has of an element."""
    elements = dict(enumerate(where.read(x, body) for x in producer.inputs))
    known: dict[int, Ref] = {}

    def moved(ref: Ref) -> Ref:
        return elements[ref[1]] if ref[0] == "in" else _of(ref, known)

    for number, step in enumerate(producer.steps):
        known[number] = body.add(step.reading(moved, None)) if step.loop is None else where.plain[step.loop]
    return moved(producer.yields[0])


def _of(ref: Ref, known: dict[int, Ref]) -> Ref:
    """A ref with what stands for steps."""
    return known[ref[1]] if ref[0] == "step" else ref


@dataclass
class _Body:
    """Steps so far; `component` is the one that has the number of a component."""

    like: ir.Value
    steps: list[Step] = field(default_factory=list[Step])
    component: Ref | None = None

    def add(self, step: Step) -> Ref:
        """One more."""
        self.steps.append(step)
        return ("step", len(self.steps) - 1)

    def component_of(self, element: Ref) -> Ref:
        """The component of an element."""
        if self.component is None:
            row = self.add(_extract(builders.row_ids(self.like, 1), [element]))
            self.component = self.add(Step("arith.index_cast", (build.index_type(),), (row,), {}))
        return self.component


@dataclass(frozen=True)
class _Where:
    """Where an element is: indices of the loops of a producer over plain dims, and of `lists`, the loops over a batch
    and over the elements of its components, together."""

    plain: dict[int, Ref]
    lists: tuple[int, int] | None
    element: Ref | None

    @staticmethod
    def of(result: ir.Value, loops: list[int], places: tuple[Ref, ...]) -> _Where | None:
        """From an index for each axis in memory."""
        plain: dict[int, Ref] = {}
        lists, element = None, None
        for (letters, dims), place in zip(_axes(result), places, strict=True):
            own = tuple(loops[dim] for dim in dims)
            if letters == _BATCH_OF_LISTS and lists is None:
                lists, element = (own[0], own[1]), place
            elif len(own) == 1:
                plain[own[0]] = place
            else:
                return None
        return _Where(plain, lists, element)

    def has(self, operand: Operand) -> bool:
        """Whether an operand of the producer can be read there."""
        if not is_tensor(operand.value.type):
            return True
        batch = () if self.lists is None else (self.lists[0],)
        for letters, dims in _axes(operand.value):
            own = tuple(operand.loops[dim] for dim in dims)
            is_element = letters == _BATCH_OF_LISTS and own == self.lists
            if not is_element and (letters != "d" or not {*own} <= {*self.plain, *batch}):
                return False
        return True

    def moved(self, known: dict[int, Ref]) -> _Where:
        """With what stands for steps."""
        element = None if self.element is None else _of(self.element, known)
        return replace(self, plain={loop: _of(ref, known) for loop, ref in self.plain.items()}, element=element)

    def read(self, operand: Operand, body: _Body) -> Ref:
        """What an operand has there."""
        x = operand.value
        if not is_tensor(x.type):
            return ("value", x)
        places = [self._place(tuple(operand.loops[dim] for dim in dims), body) for _, dims in _axes(x)]
        return body.add(_extract(builders.values(x) if is_ragged(x.type) else x, places))

    def _place(self, loops: tuple[int | None, ...], body: _Body) -> Ref:
        """The index on an axis that some loops go along."""
        if loops[0] in self.plain:
            return self.plain[loops[0]]
        assert self.element is not None
        return self.element if loops == self.lists else body.component_of(self.element)


def _extract(x: ir.Value, places: list[Ref]) -> Step:
    return Step("tensor.extract", (x.type.element_type,), (("value", x), *places), {})


def _axes(x: ir.Value) -> list[tuple[str, list[int]]]:
    """The axes in memory, by their letters, and the dims on each."""
    layout = shape_of(x.type).layout
    return [(letters, list(layout.dims(axis))) for axis, letters in enumerate(layout.axes)]
