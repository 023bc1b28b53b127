"""Sums in loops over buffers: which loops are around them, and what else is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.fast_math import flags_of
from ragged_dialect.ir.match import ancestors, constant_int, enclosing, made_by
from ragged_dialect.ir.walk import find_ops, is_outside, ops_in
from ragged_dialect.lowering.buffers.subviews import VIEWS, root

_HARMLESS = ("memref.load", "memref.dim", "scf.for", "scf.yield")


@dataclass(frozen=True)
class Sum:
    """An accumulation into an element of a buffer: its load and its store."""

    load: ir.Operation
    store: ir.Operation

    @property
    def buffer(self) -> ir.Value:
        """Where the sum is kept."""
        return self.store.operands[1]

    @property
    def indices(self) -> list[ir.Value]:
        """Its place in the buffer."""
        return list(self.store.operands)[2:]

    @property
    def element(self) -> ir.Type:
        """Its type."""
        return self.store.operands[0].type


@dataclass(frozen=True)
class SumNest:
    """Loops around sums, outer ones first; the first one sums. `parallel` are those that index the sums."""

    loops: list[ir.Operation]
    parallel: list[ir.Operation]
    sums: list[Sum]

    def is_regular(self) -> bool:
        """Whether the parallel loops index every sum, and have bounds from outside, and every sum has a buffer."""
        top = self.loops[0]
        known = {induction_variable(loop) for loop in self.parallel}
        indices = [index for one in self.sums for index in one.indices]
        bounds = [bound for loop in self.parallel for bound in list(loop.operands)[:2]]
        if any(not known.issubset(one.indices) for one in self.sums):
            return False
        if not all(x in known or is_outside(x, top) for x in [*indices, *bounds]):
            return False
        return len({root(one.buffer) for one in self.sums}) == len(self.sums)

    def only_leads_to(self, loop: ir.Operation) -> bool:
        """Whether nothing around a loop, in the nest, would have to be done once only."""
        inside = set(ops_in(loop))
        around = [op for op in ops_in(self.loops[0]) if op not in inside]
        return all(op.name in _HARMLESS or op.name.startswith(("arith.", "affine.")) for op in around)


def sum_nests(op: ir.Operation) -> list[SumNest]:
    """The nests of all sums below an op that may be regrouped (`reassoc`)."""
    groups: dict[ir.Operation, list[Sum]] = {}
    for add in find_ops(op, "arith.addf"):
        found = _sum_of(add)
        if found is not None:
            groups.setdefault(enclosing(add), []).append(found)
    nests = [_nest_of(leaf, sums) for leaf, sums in groups.items()]
    return [nest for nest in nests if nest.loops and nest.is_regular()]


def induction_variable(loop: ir.Operation) -> ir.Value:
    """The index of an `scf.for`."""
    return loop.regions[0].blocks[0].arguments[0]


def static_count(loop: ir.Operation) -> int | None:
    """Iterations of a loop where they are static."""
    low, high = constant_int(loop.operands[0]), constant_int(loop.operands[1])
    return None if low is None or high is None else max(high - low, 0)


def _sum_of(add: ir.Operation) -> Sum | None:
    uses = list(add.results[0].uses)
    if not isinstance(add.results[0].type, ir.FloatType):  # a vector, or a float whose width is not known
        return None
    if "reassoc" not in flags_of(add) or len(uses) != 1:
        return None
    store = uses[0].owner.operation
    if store.name != "memref.store" or store.block != add.block or enclosing(add).name != "scf.for":
        return None
    for operand in add.operands:
        load = made_by(operand, "memref.load")
        if load is None or list(load.operands) != list(store.operands)[1:]:
            continue
        if len(list(load.results[0].uses)) == 1:  # scans without each element itself store what there is so far
            return Sum(load, store)
    return None


def _nest_of(leaf: ir.Operation, sums: list[Sum]) -> SumNest:
    loops: list[ir.Operation] = []
    loop = leaf
    while loop.name == "scf.for" and not list(loop.results) and constant_int(loop.operands[2]) == 1:
        if not _does_nothing_else(loop, sums):
            break
        loops.insert(0, loop)
        loop = enclosing(loop)
    parallel = [loop for loop in loops if any(induction_variable(loop) in one.indices for one in sums)]
    while loops and loops[0] in parallel:
        parallel.remove(loops.pop(0))
    return SumNest(loops, parallel, sums)


def _does_nothing_else(loop: ir.Operation, sums: list[Sum]) -> bool:
    """Whether the sums, in buffers from outside of a loop, are all that the loop does with these."""
    own = {op for one in sums for op in (one.load, one.store)}
    roots = {root(one.buffer) for one in sums}
    if not all(is_outside(one.buffer, loop) for one in sums):
        return False
    return not any(user not in own and loop in (user, *ancestors(user)) for buffer in roots for user in _users(buffer))


def _users(buffer: ir.Value) -> Iterator[ir.Operation]:
    """What uses a buffer, and views of it."""
    for use in buffer.uses:
        user = use.owner.operation
        yield user
        if user.name in VIEWS:
            yield from _users(user.results[0])
