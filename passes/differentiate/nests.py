"""Linalg ops as rules see them, and what makes a `linalg.generic` of a part of another's body."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragged_dialect import generic
from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import indexing_maps
from ragged_dialect.ir import build
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import body_ops, element_of, is_read, terminator
from ragged_dialect.ir.walk import captures, erase_unused, makers
from ragged_dialect.iteration import Iteration, analyze, output_count
from ragged_dialect.lazy import cached_property
from ragged_dialect.passes.analysis.loop_nest import Operand as Access
from ragged_dialect.passes.differentiate.values import empty_like, or_zeros, zeros_like
from ragged_dialect.types import is_tensor, shape_of

Body = Callable[[list[ir.Value]], ir.Value]


@dataclass(frozen=True)
class Nest:
    """A linalg op with a body: its operands, the kinds of its loops, what its body gets and yields."""

    op: ir.Operation
    ins: tuple[Access, ...]
    outs: tuple[Access, ...]

    @staticmethod
    def of(op: ir.Operation) -> Nest:
        """The nest of an op with indexing maps."""
        found = [Access(v, m) for v, m in zip(op.operands, indexing_maps(op), strict=True)]
        count = len(found) - output_count(op)
        return Nest(op, tuple(found[:count]), tuple(found[count:]))

    @cached_property
    def iteration(self) -> Iteration:
        """The loops."""
        return analyze(self.op)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the loops."""
        return self.iteration.kinds

    @property
    def reduces(self) -> bool:
        """Whether a loop reduces."""
        return "reduction" in self.kinds

    @property
    def body(self) -> ir.Block:
        """The block of scalar ops."""
        return self.op.regions[0].blocks[0]

    @property
    def elements(self) -> list[ir.Value]:
        """The elements of the inputs, in the body."""
        found: list[ir.Value] = [*self.body.arguments]
        return found[: len(self.ins)]

    def accumulator(self, number: int) -> ir.Value:
        """The element of an out, in the body."""
        arguments = list(self.body.arguments)  # linalg.map of some versions has none for outs
        return arguments[len(self.ins) + number]

    def computes_once(self, number: int) -> bool:
        """Whether every iteration has an element of an out of its own, and every element an iteration."""
        out = self.outs[number]
        others = [extent for extent, loop in zip(out.value.type.shape, out.loops, strict=True) if loop is None]
        own = sorted(loop for loop in out.loops if loop is not None)
        return own == list(range(len(self.kinds))) and all(extent == 1 for extent in others)

    def reads_out(self, number: int) -> bool:
        """Whether the body reads an element of an out."""
        return len(self.body.arguments) > len(self.ins) and is_read(self.accumulator(number))

    def outs_of(self, number: int) -> list[int]:
        """The outs whose elements the body reads for one of them."""
        result = self.yielded(number)
        read = {result, *captures(makers([result], [op.operation for op in self.body.operations]))}
        return [k for k in range(len(self.outs)) if self.reads_out(k) and self.accumulator(k) in read]

    def yielded(self, number: int) -> ir.Value:
        """What the body gives for an out."""
        return terminator(self.body).operands[number]

    def gathers(self, which: Callable[[ir.Value], bool]) -> list[ir.Value]:
        """What the body reads that is no operand, of some kind."""
        inside = [op.operation for op in self.body.operations]
        return [v for v in captures(inside, list(self.body.arguments)) if which(v)]

    def steps(self, known: ValueMap) -> list[ir.Operation]:
        """The ops of the body, again at the insertion point, with what stands for its elements; `known` has their
        results afterwards."""
        return [clone(op, known) for op in body_ops(self.body)]


def computed(
    ins: Sequence[Access], out: Access, kinds: Sequence[str], body: Body, fills: Callable[[ir.Value], ir.Value]
) -> ir.Value:
    """One result over loops: `out` has the type and the structure, `fills` makes what it starts from. The body gets
    the elements of the inputs and of the out."""
    start = fills(out.value)
    distinct = list(dict.fromkeys(ins))
    places = [distinct.index(access) for access in ins]
    op = _made(distinct, Access(start, out.map), kinds)
    block = op.regions[0].blocks[0]
    with ir.InsertionPoint(block):
        *elements, last = block.arguments
        ir.Operation.create("linalg.yield", operands=[body([*(elements[p] for p in places), last])])
    erase_dead(block)
    return _without_unread(op, distinct, Access(start, out.map), kinds).result


def _made(ins: Sequence[Access], out: Access, kinds: Sequence[str]) -> ir.Operation:
    everything = [*ins, out]
    op = generic.without_body([a.value for a in ins], [out.value], [access.map for access in everything], kinds)
    op.regions[0].blocks.append(*[element_of(access.value.type) for access in everything])
    return op


def _without_unread(op: ir.Operation, ins: Sequence[Access], out: Access, kinds: Sequence[str]) -> ir.Operation:
    """The op without inputs that its body does not read, where others give the extents of their loops."""
    block = op.regions[0].blocks[0]
    kept = list(range(len(ins)))
    for k in reversed(range(len(ins))):
        others = [*(ins[j] for j in kept if j != k), out]
        if not is_read(block.arguments[k]) and _is_covered(ins[k], others):
            kept.remove(k)
    if len(kept) == len(ins):
        return op
    for k in reversed(range(len(ins))):
        if k not in kept:
            block.erase_argument(k)
    made = generic.without_body(
        [ins[k].value for k in kept], [out.value], [*(ins[k].map for k in kept), out.map], kinds
    )
    block.append_to(made.regions[0])
    op.erase()
    return made


def _is_covered(access: Access, others: Sequence[Access]) -> bool:
    """Whether other operands have the loops that an operand gives the extents of, nested alike."""
    there = {axis for other in others for axis in _axes(other)}
    loops = {expr for letters, exprs in there for expr in exprs if letters.startswith("d")}
    return all(
        (letters, exprs) in there
        if len(letters) > 1
        else exprs[0] in loops or isinstance(exprs[0], ir.AffineConstantExpr)
        for letters, exprs in _axes(access)
    )


def _axes(access: Access) -> list[tuple[str, tuple[ir.AffineExpr, ...]]]:
    """The letters of each storage axis, and how its dims are indexed."""
    exprs = list(access.map.results)
    if not is_tensor(access.value.type):
        return []
    layout = shape_of(access.value.type).layout
    return [(letters, tuple(exprs[dim] for dim in layout.dims(number))) for number, letters in enumerate(layout.axes)]


def mapped(ins: Sequence[Access], out: Access, kinds: Sequence[str], body: Body) -> ir.Value:
    """A result of which every element is computed once."""
    return computed(ins, out, kinds, lambda e: body(e[:-1]), empty_like)


def spread(terms: Access, places: Access, out: Access, dim: int) -> ir.Value:
    """The terms at their places along a dim, and zeros elsewhere."""

    def body(given: list[ir.Value]) -> ir.Value:
        here = build.equal(build.to_i64(generic.loop_index(dim)), given[1])
        return arith.select(here, given[0], zeros_like(given[0]))

    return mapped([terms, places], out, ["parallel"] * out.map.n_dims, body)


def erase_dead(block: ir.Block) -> None:
    """Erase the ops of a body whose results nothing reads."""
    erase_unused(op for op in body_ops(block) if len(op.results))


def starting_at(start: ir.Value | None) -> Callable[[ir.Value], ir.Value]:
    """What a sum starts from: a value, or zeros."""
    return lambda like: or_zeros(start, like)
