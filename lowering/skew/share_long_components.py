"""`share-long-components`: all threads work on a component that is much longer than the others."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.functions import calls, functions_of, name_of, with_callers
from ragged_dialect.ir.match import body_ops, terminator
from ragged_dialect.ir.walk import find_ops, outermost
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import inner_size, is_address, offsets_of
from ragged_dialect.lowering.checks.convert_ragged_checks_to_calls import REPORT
from ragged_dialect.lowering.loops.component_tiles import ComponentTiles
from ragged_dialect.lowering.nests.forall_bounds import counts_of, forall_over
from ragged_dialect.lowering.records import REFUSES
from ragged_dialect.lowering.rows.op import FLAT
from ragged_dialect.lowering.runtime.runtime_calls import call, declare
from ragged_dialect.lowering.search import ended
from ragged_dialect.lowering.skew.exponentials import Exponentials
from ragged_dialect.lowering.skew.parts import Parts, dims_of, is_cut
from ragged_dialect.lowering.skew.runtime import REFUSE, SHARES
from ragged_dialect.lowering.skew.squares import Squares
from ragged_dialect.passes.base import PassFailure, RaggedPass

_PARTS = 8
"""Parts of the shortest component that is shared: of as many elements as `convert-ragged-forall-to-loops` has."""


@dataclass(frozen=True)
class ShareLongComponents(RaggedPass):
    """Run a forall over components between those that are much longer than the others, and do what is in it for each of
    these op by op, of which each is over all rows.

    ```mlir
    scf.forall (%b) in (%n) { … reduction of the rows of a component … … map of its rows … }
    // becomes
    scf.for %k = %c0 to %places step %c1 iter_args(%next = %c0) {
      … %b is the component of row %k * %most, or %n in the last iteration …
      scf.if … {
        scf.forall (%i) in (%b - %next) { … %next + %i … }
        scf.if … { … reductions of parts of the rows of %b, by a forall, and of the parts … … map of the rows … }
      }
      scf.yield …
    }
    ```

    Maps become loops over chunks of rows, which threads share, in `convert-ragged-forall-to-loops`. Scans are done part
    by part, each from what the parts before it come to, after these have been reduced, as many as a cache holds at a
    time. Squares of differences from a mean, as a variance has, are added up with the rows that the mean is of
    (`squares.py`), and exponentials of differences from a maximum, as a softmax has, are made with the rows that it is
    of (`exponentials.py`). Which components are long depends on the data alone, so results do not depend on the number
    of threads: those that have more than one row in 16 of all, and more than `elements` of the widest of their buffers.
    Foralls stay as they are whose body has loops or branches of its own, or a reduction whose parts cannot be combined,
    and those whose lengths do not come from offsets.

    With `refuse` programs stay small: a call ends before a forall that has a long component (`ragged_refuse_skew`), and
    who made it compiles the program that shares them; the attribute `ragged.refuses_skew` of the module says so. Where
    the offsets are an argument it ends after the checks of the forall's block and before what else is computed there,
    or that would be done twice.
    Programs that call others' functions share them at once, since what these do must not be done twice.
    Precondition: bufferized.
    """

    elements: int = 131072
    refuse: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the foralls of every function of a module."""
        if self.elements < 1:
            raise PassFailure(op, f"expected elements of at least 1, got {self.elements}")
        refuse = self.refuse and not _has_effects(op)
        checked = with_callers(op, {REPORT})
        for function in functions_of(op).values():
            found = [_Components.of(forall) for forall in outermost(function, "scf.forall")]
            for one in found:
                if one is not None and not refuse:
                    one.share(self.elements)
            if refuse and _refuse([one for one in found if one is not None], self.elements, checked):
                op.attributes[REFUSES] = ir.UnitAttr.get()
        if REFUSES in op.attributes:
            declare(op)


def _has_effects(module: ir.Operation) -> bool:
    """Whether a program does what it must not do twice: it calls what is not in it, but for reports of its checks."""
    outside = {name_of(f) for f in find_ops(module, "func.func") if not len(f.regions[0].blocks)} - {REPORT}
    return calls(module, outside)


def _refuse(found: list[_Components], elements: int, checked: AbstractSet[str]) -> bool:
    """End the call where one of some foralls has a long component, before the first of those of a block that have the
    same components; whether there are any. `checked` are the functions that run checks."""
    alike: dict[tuple[ir.Block, ir.Value], list[_Components]] = {}
    for one in found:
        alike.setdefault((one.forall.block, one.offsets), []).append(one)
    for first, *others in alike.values():
        width, count = max(one.width for one in (first, *others)), counts_of(first.forall)[0]
        with ir.InsertionPoint(_asked_before(first, count, checked)), first.forall.location:
            metadata = memref.extract_strided_metadata(first.offsets)
            start = build.mul(metadata[1], 8)
            address = build.add(memref.extract_aligned_pointer_as_index(first.offsets), start)
            given = [address, metadata[3], count, -(-elements // width)]
            call(REFUSE, [build.to_i64(build.value(x)) for x in given])
    return bool(alike)


def _asked_before(one: _Components, count: Mixed, checked: AbstractSet[str]) -> ir.Operation:
    """The op before which a call may end. What comes before is done for nothing, and again by the other program, every
    time: of offsets that are an argument it is the first op of the block after what counts them, and after the checks,
    as they may be of these offsets."""
    owner = one.offsets.owner
    if not isinstance(owner, ir.Block) or owner.owner.operation.name != "func.func":
        return one.forall
    ops = [op.operation for op in one.forall.block.operations]
    before = ops[: ops.index(one.forall)]
    needed = [k for k, op in enumerate(before, 1) if calls(op, checked) or count in op.results]
    return ops[max(needed, default=0)]


@dataclass(frozen=True)
class _Components:
    """A forall over components of `length` rows, as `offsets` has them, with ops that are over these; the widest row
    has so many elements."""

    forall: ir.Operation
    offsets: ir.Value
    length: ir.Value
    width: int

    @staticmethod
    def of(forall: ir.Operation) -> _Components | None:
        """What a forall computes, where that is what the pass is for."""
        block = forall.regions[0].blocks[0]
        if len(block.arguments) != 1 or Mapping.of(forall) != Mapping() or ComponentTiles.of(forall) is not None:
            return None
        body = body_ops(block)
        if not all(op.name in (*FLAT, "memref.load", "memref.store") or is_address(op) for op in body):
            return None
        for op in body:
            offsets = offsets_of(op.results[0], block.arguments[0]) if op.name == "arith.subi" else None
            if offsets is None or offsets.owner == block:
                continue
            length = op.results[0]
            along = [o for o in body if o.name in FLAT and any(dims_of(x, length) for x in o.operands)]
            if along and all(is_cut(o, length) or Parts.of(o, length) is not None for o in along):
                places = [(x, k) for o in along for x in o.operands for k in dims_of(x, length)]
                return _Components(forall, offsets, length, max(inner_size(x, k) for x, k in places))
        return None

    def share(self, elements: int) -> None:
        """Rewrite the forall."""
        with ir.InsertionPoint(self.forall), self.forall.location:
            count = build.value(counts_of(self.forall)[0])
            search = _Places.of(self.offsets, count, -(-elements // self.width))
            places = build.value(build.add(search.number, 1))
            loop = scf.ForOp(build.value(0), places, build.value(1), [build.value(0)])
        with ir.InsertionPoint(loop.body), self.forall.location:
            following, place = loop.inner_iter_args[0], loop.induction_variable
            last = build.equal(place, search.number)
            types = [build.index_type(), build.index_type()]
            component, length = flow.choose(
                last, lambda: [search.count, build.value(0)], lambda: search.component(place), types
            )
            long = arith.andi(build.more(length, search.most), build.at_most(following, component))
            taken = flow.branch(arith.ori(last, long))
            scf.yield_([arith.select(long, build.value(build.add(component, 1)), following)])
        with ir.InsertionPoint(taken), self.forall.location:
            between = forall_over(build.sub(component, following))
            alone = flow.branch(long)
        self._fill_in(between, following, alone, component, elements)

    def _fill_in(
        self, between: ir.Operation, start: ir.Value, end: ir.Operation, component: ir.Value, elements: int
    ) -> None:
        """Move the body to a forall that starts at a component, and put what it does for one before an op."""
        source, target = self.forall.regions[0].blocks[0], between.regions[0].blocks[0]
        known: dict[ir.Value, ir.Value] = {source.arguments[0]: component}
        with ir.InsertionPoint(end):
            for op in body_ops(source):
                clone(op, known)
        length = known[self.length]
        left = body_ops(end.block)
        for op in reversed(left):
            both = (Squares.of(op, length) or Exponentials.of(op, length)) if op in left else None
            if both is not None and all(used in left for used in both.ops):
                left = [other for other in left if other not in both.ops]
                both.share(length, elements // _PARTS)
        for found in [Parts.of(op, length) for op in left]:
            if found is not None:
                found.share(length, elements // _PARTS)
        with ir.InsertionPoint.at_block_begin(target), self.forall.location:
            source.arguments[0].replace_all_uses_with(build.value(build.add(start, target.arguments[0])))
        stop = terminator(target)
        for op in body_ops(source):
            op.move_before(stop)
        self.forall.erase()


@dataclass(frozen=True)
class _Places:
    """Where long components are looked for: at `number` rows, `most` from one another, of which each component of more
    rows than that has one. `count` is the number of components, whose rows begin with `first`."""

    offsets: ir.Value
    count: ir.Value
    first: ir.Value
    most: ir.Value
    number: ir.Value

    @staticmethod
    def of(offsets: ir.Value, count: ir.Value, least: int) -> _Places:
        """The places, at the insertion point: none where all components together have no more than `least` rows."""
        first = _offset(offsets, build.value(0))
        total = build.sub(_offset(offsets, count), first)
        most = build.value(build.maximum(least, build.divide(total, SHARES)))
        number = build.value(build.add(build.divide(total, most), 1))
        return _Places(offsets, count, first, most, arith.select(build.more(total, most), number, build.value(0)))

    def component(self, place: ir.Value) -> list[ir.Value]:
        """The component that has the row of a place, and how many rows it has."""
        row = build.add(build.add(build.mul(place, self.most), self.first), 1)
        last = build.value(build.sub(self.count, 1))
        (component,) = ended(self._end, [build.value(row)], build.value(0), last)
        return [component, build.value(build.sub(self._end(component), _offset(self.offsets, component)))]

    def _end(self, component: ir.Value) -> ir.Value:
        return _offset(self.offsets, build.value(build.add(component, 1)))


def _offset(offsets: ir.Value, at: ir.Value) -> ir.Value:
    return build.to_index(memref.load(offsets, [at]))
