"""What combines two scalars in IR."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.kinds import NEUTRAL, neutral_constant
from ragged_dialect.ir.match import defining_op, is_number, made_by

_GREATER, _LESS = (2, 3, 9, 10), (4, 5, 11, 12)
_UNORDERED = 8
"""Predicates of `arith.cmpf` from here on hold for NaN."""


@dataclass(frozen=True)
class Combiner:
    """acc = f(x, acc): the ops of f, x and acc in them, the result, and the neutral element."""

    ops: tuple[ir.Operation, ...]
    element: ir.Value
    accumulator: ir.Value
    result: ir.Value
    neutral: float | str

    @property
    def is_sum(self) -> bool:
        """Whether it adds floats."""
        return self.ops[0].name == "arith.addf"

    @property
    def is_product(self) -> bool:
        """Whether it multiplies floats: what of a part alone is infinite is no number times a zero before it."""
        return self.ops[0].name == "arith.mulf"

    @property
    def takes_pairs(self) -> bool:
        """Whether elements may be combined with each other first. A maximum by comparison may not: it
        leaves NaN out as the element only."""
        return len(self.ops) == 1

    def apply(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """f(a, b) at the insertion point, of scalars or of vectors."""
        known = {self.element: a, self.accumulator: b}
        for op in self.ops:
            type_ = op.results[0].type
            if isinstance(a.type, ir.VectorType):
                type_ = ir.VectorType.get(a.type.shape, type_)
            operands = [known[x] for x in op.operands]
            made = ir.Operation.create(op.name, results=[type_], operands=operands, attributes=copy_attributes(op))
            known[op.results[0]] = made.result
        return known[self.result]

    def identity(self) -> ir.Value:
        """The neutral element as a constant."""
        return neutral_constant(self.result.type, self.neutral)


def find_combiner(accumulator: ir.Value, result: ir.Value, beside: Sequence[ir.Operation] = ()) -> Combiner | None:
    """What makes a result, which has one use, of an accumulator that nothing else reads, in its block; None where
    that is no combiner. Ops of `beside` may read both."""
    op = defining_op(result)
    if op is None or not is_number(result.type):
        return None
    found = _single(op, accumulator, result) or _selected(op, accumulator, result)
    return found if found is not None and _is_alone(found, beside) else None


def _is_alone(combiner: Combiner, beside: Sequence[ir.Operation]) -> bool:
    seen = [combiner.accumulator, *(op.results[0] for op in combiner.ops[:-1])]
    users = [use.owner.operation for value in seen for use in value.uses]
    last = [use.owner.operation for use in combiner.result.uses]
    return all(user in (*combiner.ops, *beside) for user in users) and (
        len(last) == 1 or all(user in beside for user in last)
    )


def _single(op: ir.Operation, accumulator: ir.Value, result: ir.Value) -> Combiner | None:
    if op.name not in NEUTRAL or accumulator not in list(op.operands):
        return None
    a, b = op.operands
    if a == b:
        return None
    return Combiner((op,), b if a == accumulator else a, accumulator, result, NEUTRAL[op.name])


def _selected(op: ir.Operation, accumulator: ir.Value, result: ir.Value) -> Combiner | None:
    """`select(cmpf(x > acc), x, acc)`, the maximum that leaves NaN out, and its mirror images. Those
    that take NaN in are no combiners: they forget it, and what was before it, with the next element."""
    if op.name != "arith.select":
        return None
    compare = made_by(op.operands[0], "arith.cmpf")
    chosen = list(op.operands)[1:]
    if compare is None or compare.block != op.block or accumulator not in chosen:
        return None
    if set(compare.operands) != set(chosen) or chosen[0] == chosen[1]:
        return None
    predicate = compare.attributes["predicate"].value
    if predicate not in _GREATER + _LESS or chosen[predicate < _UNORDERED] != accumulator:
        return None
    maximum = (predicate in _GREATER) == (compare.operands[0] == chosen[0])
    element = chosen[0] if chosen[1] == accumulator else chosen[1]
    return Combiner((compare, op), element, accumulator, result, float("-inf") if maximum else float("inf"))
