"""`share-long-components`: all threads work on a component that is much longer than the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.generic import filled, indexing_maps, iterator_kinds
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.walk import find_ops, outermost
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers import (
    allocate,
    extent,
    extent_key,
    is_address,
    is_buffer,
    plain_dim,
    range_view,
    size_key,
)
from ragged_dialect.lowering.combiners import Combiner, find_combiner
from ragged_dialect.lowering.component_tiles import ComponentTiles, offsets_of
from ragged_dialect.lowering.forall_bounds import counts_of, forall_over
from ragged_dialect.lowering.partial_reductions import allocated, combine, part
from ragged_dialect.lowering.program_runtime import call, declare
from ragged_dialect.lowering.records import REFUSES
from ragged_dialect.lowering.row_groups import count_from, inner_size
from ragged_dialect.lowering.search import ended
from ragged_dialect.lowering.skew_runtime import REFUSE, SHARES
from ragged_dialect.passes.base import PassFailure, RaggedPass

_PARTS = 8
"""Parts of the shortest component that is shared: of as many elements as `convert-ragged-forall-to-loops` has."""

_FLAT = ("linalg.generic", "linalg.fill", "linalg.copy")


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

    Maps become loops over chunks of rows, which threads share, in `convert-ragged-forall-to-loops`. Which components
    are long depends on the data alone, so results do not depend on the number of threads: those that have more than one
    row in 16 of all, and more than `elements` of the widest of their buffers. Foralls stay as they are whose body has
    loops or branches of its own, or a reduction whose parts cannot be combined, and those whose lengths do not come
    from offsets.

    With `refuse` programs stay small: a call ends before a forall that has a long component (`ragged_refuse_skew`), and
    who made it compiles the program that shares them; the attribute `ragged.refuses_skew` of the module says so.
    Programs that call others' functions share them at once, since what these do must not be done twice.
    Precondition: bufferized.
    """

    name: ClassVar[str] = "share-long-components"
    elements: int = 131072
    refuse: bool = False

    def run(self, op: ir.Operation) -> None:
        """Rewrite the foralls of every function of a module."""
        if self.elements < 1:
            raise PassFailure(op, f"expected elements of at least 1, got {self.elements}")
        refuse = self.refuse and not _has_effects(op)
        for function in op.regions[0].blocks[0].operations:
            if function.operation.name == "func.func":
                found = [_Components.of(forall) for forall in outermost(function, "scf.forall")]
                for one in found:
                    if one is not None and not refuse:
                        one.share(self.elements)
                if refuse and _refuse([one for one in found if one is not None], self.elements):
                    op.attributes[REFUSES] = ir.UnitAttr.get()
        if REFUSES in op.attributes:
            declare(op)


def _has_effects(module: ir.Operation) -> bool:
    """Whether a program does what it must not do twice: it calls what is not in it."""
    outside = {f.attributes["sym_name"].value for f in find_ops(module, "func.func") if not len(f.regions[0].blocks)}
    return any(op.attributes["callee"].value in outside for op in find_ops(module, "func.call"))


def _refuse(found: list[_Components], elements: int) -> bool:
    """End the call where one of some foralls has a long component, before the first of those of a block that have the
    same components; whether there are any."""
    alike: dict[tuple[ir.Block, ir.Value], list[_Components]] = {}
    for one in found:
        alike.setdefault((one.forall.block, one.offsets), []).append(one)
    for first, *others in alike.values():
        width = max(one.width for one in (first, *others))
        with ir.InsertionPoint(first.forall), first.forall.location:
            metadata = memref.extract_strided_metadata(first.offsets)
            start = build.mul(metadata[1], 8)
            address = build.add(memref.extract_aligned_pointer_as_index(first.offsets), start)
            count = counts_of(first.forall)[0]
            given = [address, metadata[3], count, -(-elements // width)]
            call(REFUSE, [build.to_i64(build.value(x)) for x in given])
    return bool(alike)


@dataclass(frozen=True)
class _Reduction:
    """A generic that reduces along rows: its loop over these, and what combines the parts of the outs that it reduces,
    by their numbers."""

    op: ir.Operation
    loop: int
    combiners: dict[int, Combiner]

    @staticmethod
    def of(op: ir.Operation, length: ir.Value) -> _Reduction | None:
        """What an op reduces along as many rows; None where parts of that cannot be combined."""
        if op.name != "linalg.generic":
            return None
        kinds, maps = iterator_kinds(op), indexing_maps(op)
        loops = [d for d, kind in enumerate(kinds) if kind == "reduction" and _is_along(op, d, length)]
        if len(loops) != 1 or any(plain_dim(map_, loops[0]) is None for map_ in maps):
            return None
        segments: list[int] = list(op.attributes["operandSegmentSizes"])
        ins = segments[0]
        combiners: dict[int, Combiner] = {}
        block = op.regions[0].blocks[0]
        for number in range(ins, sum(segments)):
            if plain_dim(maps[number], loops[0]) != -1:
                continue
            *_, last = block.operations
            yielded = last.operation.operands[number - ins]
            found = find_combiner(block.arguments[number], yielded)
            if found is None or not maps[number].is_projected_permutation:
                return None
            combiners[number] = found
        return _Reduction(op, loops[0], combiners) if combiners else None

    def share(self, length: ir.Value, elements: int) -> None:
        """Replace the op by one for each part of the rows, and one that combines what is left of them."""
        op, dims = self.op, [plain_dim(map_, self.loop) for map_ in indexing_maps(self.op)]
        widest = max(inner_size(x, dim or 0) for x, dim in zip(op.operands, dims, strict=True) if dim != -1)
        rows = max(1, elements // widest)
        with ir.InsertionPoint(op), op.location:
            tiles = build.ceildiv(length, rows)
            parts = {number: allocated(tiles, op.operands[number]) for number in self.combiners}
            forall = forall_over(tiles)
            end = list(forall.regions[0].blocks[0].operations)[-1]
            with ir.InsertionPoint(end):
                tile = forall.regions[0].blocks[0].arguments[0]
                low = build.mul(tile, rows)
                size = build.minimum(rows, build.sub(length, low))
                copy = op.clone().operation
                for number, (x, dim) in enumerate(zip(list(op.operands), dims, strict=True)):
                    if number in parts:  # of its own: two parts in one cache line would go from core to core
                        copy.operands[number] = allocate(
                            [extent(x, k) for k in range(x.type.rank)], x.type.element_type
                        )
                    elif dim is not None and dim >= 0:
                        copy.operands[number] = range_view(x, dim, low, size)
                for number, combiner in self.combiners.items():
                    filled(combiner.identity(), copy.operands[number])
                copy.move_before(end.operation)
                count_from(copy, build.value(low), self.loop)
                for number in self.combiners:
                    shapes.copy(copy.operands[number], part(parts[number], tile))
            for number, combiner in self.combiners.items():
                combine(combiner, parts[number], op.operands[number])
        op.erase()


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
        body = [op.operation for op in list(block.operations)[:-1]]
        if not all(op.name in (*_FLAT, "memref.load", "memref.store") or is_address(op) for op in body):
            return None
        for op in body:
            offsets = offsets_of(op.results[0], block.arguments[0]) if op.name == "arith.subi" else None
            if offsets is None or offsets.owner == block:
                continue
            length = op.results[0]
            along = [o for o in body if o.name in _FLAT and any(_dims(x, length) for x in o.operands)]
            if along and all(_is_cut(o, length) or _Reduction.of(o, length) is not None for o in along):
                places = [(x, k) for o in along for x in o.operands for k in _dims(x, length)]
                return _Components(forall, offsets, length, max(inner_size(x, k) for x, k in places))
        return None

    def share(self, elements: int) -> None:
        """Rewrite the forall."""
        with ir.InsertionPoint(self.forall), self.forall.location:
            search = _Search.of(self, elements)
            places = build.value(build.add(search.places, 1))
            loop = scf.ForOp(build.value(0), places, build.value(1), [build.value(0)])
        with ir.InsertionPoint(loop.body), self.forall.location:
            following, place = loop.inner_iter_args[0], loop.induction_variable
            last = build.equal(place, search.places)
            types = [build.index_type(), build.index_type()]
            component, length = flow.choose(
                last, lambda: [search.count, build.value(0)], lambda: search.component(place), types
            )
            long = arith.andi(build.more(length, search.most), build.at_most(following, component))
            taken = scf.IfOp(arith.ori(last, long))
            scf.yield_([arith.select(long, build.value(build.add(component, 1)), following)])
        with ir.InsertionPoint(taken.then_block), self.forall.location:
            between = forall_over(build.sub(component, following))
            alone = scf.IfOp(long)
            scf.yield_([])
        with ir.InsertionPoint(alone.then_block), self.forall.location:
            scf.yield_([])
        self._fill_in(between, following, list(alone.then_block.operations)[-1].operation, component, elements)

    def _fill_in(
        self, between: ir.Operation, start: ir.Value, end: ir.Operation, component: ir.Value, elements: int
    ) -> None:
        """Move the body to a forall that starts at a component, and put what it does for one before an op."""
        source, target = self.forall.regions[0].blocks[0], between.regions[0].blocks[0]
        body = [op.operation for op in list(source.operations)[:-1]]
        known: dict[ir.Value, ir.Value] = {source.arguments[0]: component}
        with ir.InsertionPoint(end):
            for op in body:
                clone(op, known)
        length = known[self.length]
        for op in list(end.block.operations)[:-1]:
            found = _Reduction.of(op.operation, length)
            if found is not None:
                found.share(length, elements // _PARTS)
        with ir.InsertionPoint.at_block_begin(target), self.forall.location:
            source.arguments[0].replace_all_uses_with(build.value(build.add(start, target.arguments[0])))
        stop = list(target.operations)[-1].operation
        for op in body:
            op.move_before(stop)
        self.forall.erase()


@dataclass(frozen=True)
class _Search:
    """Where long components are looked for: at `places` rows, `most` from one another, of which each component of more
    rows than that has one. `count` is the number of components."""

    offsets: ir.Value
    count: ir.Value
    first: ir.Value
    most: ir.Value
    places: ir.Value

    @staticmethod
    def of(found: _Components, elements: int) -> _Search:
        """The places, at the insertion point: none where all components together are not long."""
        count = build.value(counts_of(found.forall)[0])
        first = _offset(found.offsets, build.value(0))
        total = build.sub(_offset(found.offsets, count), first)
        most = build.value(build.maximum(-(-elements // found.width), build.divide(total, SHARES)))
        places = build.value(build.add(build.divide(total, most), 1))
        return _Search(found.offsets, count, first, most, arith.select(build.more(total, most), places, build.value(0)))

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


def _is_cut(op: ir.Operation, length: ir.Value) -> bool:
    """Whether a flat op is cut into chunks of rows where it stands on the host."""
    return (op.name != "linalg.generic" or iterator_kinds(op)[0] == "parallel") and _is_along(op, 0, length)


def _is_along(op: ir.Operation, loop: int, length: ir.Value) -> bool:
    """Whether a loop of an op has as many iterations as a component has rows."""
    places = [(x, plain_dim(map_, loop)) for x, map_ in zip(op.operands, indexing_maps(op), strict=True)]
    return any(dim is not None and dim >= 0 and dim in _dims(x, length) for x, dim in places)


def _dims(x: ir.Value, length: Mixed) -> list[int]:
    """The dims of a buffer that rows are along."""
    return [k for k in range(x.type.rank) if extent_key(x, k) == size_key(length)] if is_buffer(x) else []
