"""ragged-fuse: fewer loops over the components."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import prod

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.ir.match import (
    bit_width,
    blocks_of,
    definer,
    defining_op,
    element_of,
    enclosing,
    is_number,
    loop_of,
    made_by,
)
from ragged_dialect.ir.walk import erase_unused
from ragged_dialect.iteration import BACKWARDS, MAPPING, touches_ragged, whole_value
from ragged_dialect.passes.analysis.gathering import Gathered, inline_gathered
from ragged_dialect.passes.analysis.loop_nest import FusedNest, Operand, Ref, follow, inline, join, write
from ragged_dialect.passes.analysis.structure.keys import structural_source
from ragged_dialect.passes.analysis.structure.sources import STRUCTURAL, use_source
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.values import empty_of
from ragged_dialect.passes.patterns.matching import attempt
from ragged_dialect.types import elements_from, is_ragged, is_tensor, shape_of

_OF_STRUCTURE = STRUCTURAL | {"ragged.offsets", "ragged.row_ids", "ragged.starts"}
_CHEAP = frozenset(
    ("arith.addf", "arith.subf", "arith.mulf", "arith.negf", "arith.cmpf", "arith.maximumf", "arith.minimumf",
     "arith.addi", "arith.subi", "arith.muli", "arith.cmpi", "arith.maxsi", "arith.minsi", "arith.andi", "arith.ori",
     "arith.xori", "arith.select", "arith.constant", "arith.extf", "arith.truncf", "arith.extsi", "arith.sitofp",
     "arith.extui", "arith.uitofp", "arith.index_cast", "linalg.index")
)  # fmt: skip
"""What takes less time than reading an operand from memory."""
_ROUNDINGS = frozenset(f"arith.{name}" for name in ("extf", "truncf", "extsi", "trunci"))
_ROW = 8
"""Elements next to each other from which on loops over rows run on vectors. With fewer scans run on scalars, and what
follows is faster in a loop of its own; but for a rounding, whose loop costs short components as much as the scan."""
_CONSUMERS = 8
"""How many ops compute a result of their own at most: along a chain, each link of which is read besides, every one
would have all of those before it (60 links took 25 s to compile, and 14 with a bound)."""
_REACH = 64
"""How many ops two nests that become one may be apart."""


@dataclass(frozen=True)
class RaggedFuse(RaggedPass):
    """Elementwise ops into each other and into reductions; reductions of the same elements into
    one nest with several results.

    ```mlir
    %e = math.exp %x : !jagged
    %y = arith.mulf %e, %x : !jagged
    %s = linalg.reduce { arith.addf } ins(%y : !jagged) outs(%init : tensor<?xf32>) dimensions = [1]
    ```
    becomes
    ```mlir
    %s = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "reduction"]}
        ins(%x : !jagged) outs(%init : tensor<?xf32>) {
      %1 = math.exp %in, %2 = arith.mulf %1, %in, %3 = arith.addf %out, %2, linalg.yield %3
    } -> tensor<?xf32>
    ```

    A producer goes into its consumer when nothing else uses its values, its loops are all
    parallel, and no element is computed twice: broadcasts, fills, transposes and copies go into
    anything, other ops only where the consumer runs over each element once. A few additions, products, comparisons
    and the like are computed by each of several consumers, where that moves fewer bytes than storing their results
    does. What a scan is of is computed in its loop (`expand-ragged-scans`), and so is what becomes of its elements, but
    for functions and divisions where it steps over single elements, which run on scalars; there a recurrence has what
    becomes of its elements.
    What `ragged.compact` makes of windows is read where it is, but by functions of single elements, which run on
    vectors in a loop over all of them; the op stays for its structure.
    Rows of at least 8 elements that are read at the places of `ragged.group_by`, each of them once, are computed there.
    Uses of the structure alone (`ragged.empty`, lengths, checks) move to where the structure comes from first. Two
    nests join when they read one tensor over all their loops and neither needs the other; of dense tensors
    `linalg.generic` ops fuse alike, but do not join. Matmuls and softmax keep their names. An elementwise op that
    fuses with nothing stays as it is, and so does an op that says how its own loops are to be mapped
    (`ragged.mapping`).

    Options: `max-ops`, the most scalar ops in a body, at least 1; `siblings=false` joins no nests. Nests that reduce
    rows of at most half of `rows` elements, all rows alike, take in nothing that has an element for each component:
    they would run component by component, with a few rows at a time. Of up to `rows` elements they take in nothing of
    it that others read too. With `rows` folds of lists take in no single elements that are looked up in a table.
    """

    anchor = "any"
    max_ops: int = 64
    siblings: bool = True
    rows: int = 0

    def run(self, op: ir.Operation) -> None:
        """Fuse in every block below `op`."""
        if self.max_ops < 1:
            raise PassFailure(op, f"expected max-ops of at least 1, got {self.max_ops}")
        if self.rows < 0:
            raise PassFailure(op, f"expected rows of at least 0, got {self.rows}")
        sources: dict[ir.Value, ir.Value] = {}
        blocks = [_Block(block, self.max_ops, self.rows, sources) for block in _blocks_below(op)]
        for block in blocks:
            block.use_sources()
        for block in blocks:
            block.fuse(self.siblings)
        for block in reversed(blocks):  # consumers first, also of what is outside of a region
            block.write()


def _blocks_below(op: ir.Operation) -> Iterator[ir.Block]:
    """The blocks in which ops are fused, each before those in it."""
    for block in blocks_of(op):
        yield block
        for inner in block.operations:
            if not inner.operation.name.startswith("linalg."):
                yield from _blocks_below(inner.operation)


class _Block:
    """Fusion within one block; nothing moves into or out of regions. `sources` are those of all blocks, which change no
    structure until the last of them is written: each value is looked up once."""

    def __init__(self, block: ir.Block, max_ops: int, rows: int, sources: dict[ir.Value, ir.Value]) -> None:
        self.block = block
        self.max_ops = max_ops
        self.rows = rows
        self.ops = [op.operation for op in block.operations]
        self.place: dict[ir.Operation, int] = {}
        self.nests: dict[ir.Operation, FusedNest] = {}
        self.sources = sources

    def use_sources(self) -> None:
        """Let what reads structure alone read it where it comes from."""
        for op in self.ops:
            use_source(op, self.sources)

    def fuse(self, siblings: bool) -> None:
        """Fuse producers into consumers, then join nests."""
        for op in reversed(self.ops):
            self._copy(op)
        self.ops = [op.operation for op in self.block.operations]
        self.place = {op: number for number, op in enumerate(self.ops)}
        for op in self.ops:
            self._fuse_into(op, _nest(op))
        if siblings:
            self._join_all()
            for op, nest in list(self.nests.items()):  # what several read has one consumer where these are one
                if len(nest.roots) > 1:
                    self._fuse_into(op, nest)

    def write(self) -> None:
        """Write what changed, consumers first: a nest still to be written is read through its old results."""
        for op, nest in reversed(self.nests.items()):
            if nest.absorbed or len(nest.roots) > 1:
                self._write(op, nest)

    def _copy(self, op: ir.Operation) -> None:
        """Give each consumer of a cheap op an op of its own to take in. Where the structure is the op's own, or
        is read besides, the op is kept, whose elements nobody needs then."""
        if len(op.results) != 1:
            return
        value = op.results[0]
        readers = list(dict.fromkeys(use.owner.operation for use in value.uses))
        users = [user for user in readers if user.name not in _OF_STRUCTURE]
        is_own = is_ragged(value.type) and structural_source(value, self.sources) == value
        kept = int(len(users) == len(readers) and not is_own)
        if not kept < len(users) <= _CONSUMERS or any(user.block != self.block for user in users):
            return
        nest = _nest(op)
        if nest is None or not _is_cheap(nest) or not _moves_less(nest, value, len(users)):
            return
        if _is_copy(nest) and len({self._feeds_functions(user) for user in users}) > 1:
            return
        for user in users:
            consumer = _nest(user)
            fused = None if consumer is None else inline(consumer, value, nest)
            if (
                consumer is None
                or fused is None
                or _parts_rows(consumer, fused, self.rows)
                or _parts_elements(consumer, nest)
                or not self._has_room(nest, consumer)
            ):
                return
        for user in users[kept:]:
            with ir.InsertionPoint(op):
                own = op.clone()
            self.sources[own.results[0]] = structural_source(value, self.sources)
            for number, operand in enumerate(user.operands):
                if operand == value:
                    user.operands[number] = own.results[0]

    def _feeds_functions(self, op: ir.Operation) -> bool:
        """Whether functions of single elements are computed of what an op makes of others. Beside folds, which would
        read windows, they would be in loops over components with these."""
        seen, waiting = {op}, [op]
        while waiting:
            for user in [use.owner.operation for made in waiting.pop().results for use in made.uses]:
                nest = None if user in seen or user.name in _OF_STRUCTURE else _nest(user)
                seen.add(user)
                if nest is None or not nest.is_parallel:
                    continue
                if not (_is_cheap(nest) or _has_rows(nest)):
                    return True
                waiting.append(user)
        return False

    def _fuse_into(self, op: ir.Operation, nest: FusedNest | None) -> None:
        if nest is None:
            return
        while (fused := self._with_producer(op, nest)) is not None:
            nest = fused
        self.nests[op] = self._followed(op, nest) or nest

    def _with_producer(self, op: ir.Operation, nest: FusedNest) -> FusedNest | None:
        """A nest with one more of those that make what it reads."""
        for operand in nest.inputs:
            if (fused := self._absorb(op, nest, operand)) is not None:
                return fused
        for gathered in Gathered.all_of(nest):
            if (fused := self._gather(op, gathered)) is not None:
                return fused
        return None

    def _has_room(self, a: FusedNest, b: FusedNest) -> bool:
        return len(a.steps) + len(b.steps) <= self.max_ops

    def _maker(self, value: ir.Value, reader: FusedNest) -> FusedNest | None:
        """The nest that makes a value, where that and one that reads it have room in a body."""
        op = defining_op(value)
        nest = None if op is None else self.nests.get(op)
        return nest if nest is not None and self._has_room(nest, reader) else None

    def _absorb(self, op: ir.Operation, nest: FusedNest, operand: Operand) -> FusedNest | None:
        value = operand.value
        producer = self._maker(value, nest) if is_ragged(value.type) or nest.outs else None
        if producer is None or len(producer.roots) != 1:
            return None
        users = nest.ops
        if any(use.owner.operation not in users for use in value.uses):
            return None
        if nest.is_scan and not (_has_rows(nest) or _is_cheap(producer)):
            return None
        if _parts_elements(nest, producer) or (self.rows and _parts_lookups(nest, operand, producer)):
            return None
        fused = inline(nest, value, producer)
        if fused is None or (not fused.outs and _like_of(op, fused, self.sources) is None):
            return None
        if _parts_rows(nest, fused, self.rows // 2):
            return None
        del self.nests[producer.roots[0]]
        return fused

    def _gather(self, op: ir.Operation, gathered: Gathered) -> FusedNest | None:
        """A nest with what it reads at places of its own computed there."""
        nest, value = gathered.nest, gathered.value
        if is_ragged(value.type):  # places are indices of its dims, not along memory
            return None
        stored = made_by(value, "ragged.values")
        result = value if stored is None else stored.operands[0]
        producer = self._maker(result, nest)
        if producer is None or len(producer.roots) != 1:
            return None
        readers = [step for step in nest.steps if ("value", value) in step.operands]
        users = {*nest.ops, stored}
        uses = [use.owner.operation for x in {value, result} for use in x.uses]
        like = structural_source(result, self.sources)
        if len(readers) != 1 or not all(self._top(user) in users for user in uses):
            return None
        if is_ragged(result.type) and (like == result or defining_op(like) in producer.ops):
            return None
        with ir.InsertionPoint(op), op.location:
            fused = inline_gathered(gathered, result, producer, like)
        if fused is None:
            return None
        for made in self.block.operations:  # what it reads besides
            self.place.setdefault(made.operation, self.place[op])
        del self.nests[producer.roots[0]]
        return fused if stored is None else replace(fused, absorbed=(stored, *fused.absorbed))

    def _followed(self, op: ir.Operation, nest: FusedNest) -> FusedNest | None:
        """A nest in the loop of a scan whose result nothing else reads."""
        for value in dict.fromkeys(operand.value for operand in nest.inputs):
            scan = self._maker(value, nest)
            if scan is None or not scan.is_scan or len(nest.roots) != 1:
                continue
            users = nest.ops
            if any(use.owner.operation not in users for use in value.uses):
                continue
            if not (_has_rows(scan) or (_is_recurrence(scan) and _is_cheap(nest)) or _is_rounding(nest)):
                continue
            if self._used_before([result for result in scan.results if result != value], op):
                continue
            fused = follow(scan, value, nest)
            if fused is not None:
                del self.nests[definer(value)]
                return fused
        return None

    # Siblings ----------------------------------------------------------------------------------

    def _join_all(self) -> None:
        readers: dict[tuple[ir.Value, str], ir.Operation] = {}
        for op in list(self.nests):
            nest = self.nests[op]
            if not nest.outs or not touches_ragged(op) or nest.is_scan:
                continue
            for operand in nest.inputs:
                key = (operand.value, str(operand.map))
                other = readers.get(key)
                if other is not None and other != op and nest.reads_each(operand) and self._join(other, op):
                    break
            for operand in self.nests[op].inputs if op in self.nests else ():
                readers[operand.value, str(operand.map)] = op

    def _join(self, first: ir.Operation, second: ir.Operation) -> bool:
        """Join the nest of `first` into that of `second`, which comes later."""
        a, b = self.nests.get(first), self.nests.get(second)
        if a is None or b is None or a.kinds != b.kinds or not self._has_room(a, b):
            return False
        if self.place[second] - self.place[first] > _REACH or a.partial_loops() != b.partial_loops():
            return False
        if self._used_before(a.results, second):
            return False
        self.nests[second] = join(a, b)
        del self.nests[first]
        return True

    def _used_before(self, results: Iterable[ir.Value], op: ir.Operation) -> bool:
        """Whether a result of a nest is used before `op`, or by it."""
        limit = self.place[op]
        return any(self._position(use.owner.operation) <= limit for result in results for use in result.uses)

    def _position(self, op: ir.Operation) -> int:
        """Place in this block of the op that is or holds `op`."""
        return self.place[self._top(op)]

    def _top(self, op: ir.Operation) -> ir.Operation:
        """The op of this block that is or holds `op`."""
        while op not in self.place:
            op = enclosing(op)
        return op

    # Writing -----------------------------------------------------------------------------------

    def _write(self, op: ir.Operation, nest: FusedNest) -> None:
        with ir.InsertionPoint(op), op.location:
            outs = [out.value for out in nest.outs]
            if not outs:
                like = _like_of(op, nest, self.sources)
                assert like is not None
                outs = [empty_of(op.results[0].type, like)]
            made = write(nest, outs)
            for root in nest.roots:
                if BACKWARDS in root.attributes:
                    made.attributes[BACKWARDS] = root.attributes[BACKWARDS]
        for old, new in zip(nest.results, made.results, strict=True):
            old.replace_all_uses_with(new)
        for gone in sorted(nest.ops, key=lambda o: self.place[o], reverse=True):
            empties = [found for v in gone.operands if (found := made_by(v, "ragged.empty")) is not None]
            gone.erase()
            erase_unused(dict.fromkeys(empties))


def _nest(op: ir.Operation) -> FusedNest | None:
    """The nest of an op that takes part in fusion."""
    if not (touches_ragged(op) or op.name == "linalg.generic") or whole_value(op) or MAPPING in op.attributes:
        return None
    return attempt(lambda: FusedNest.of(op))


def _parts_rows(nest: FusedNest, fused: FusedNest, most: int) -> bool:
    """Whether a nest over rows of so many elements at most would no longer be over all of them alike. It is not where
    nothing is read for each element, as of all pairs of rows: their elements are far more than what they are of."""
    each = any(map(fused.reads_each, fused.inputs))
    return each and _reduces_rows(nest, most) and _is_flat(nest) and not _is_flat(fused)


def _parts_elements(nest: FusedNest, producer: FusedNest) -> bool:
    """Whether functions of single elements would leave the loop over all of them for loops over windows, of which short
    ones fill no vector."""
    return _reads_windows(producer) and not (_is_cheap(nest) or _reads_windows(nest) or _has_rows(nest))


def _parts_lookups(nest: FusedNest, operand: Operand, producer: FusedNest) -> bool:
    """Whether single elements of a table, at places that are read for each, would be looked up list by list. Of short
    lists a processor waits for a few at a time, in a loop over all of them for many: lists of 3 of a table of 4 MiB
    take a third to a half of the time, lists of 60 of a small table up to 1.2 times as long, others as long."""
    reduced = nest.reduced & operand.partial_loops()
    return bool(reduced) and operand.loops[-1] in reduced and _looks_up(producer)


def _looks_up(nest: FusedNest) -> bool:
    """Whether a nest reads a tensor where numbers say that it reads for each element."""
    read: set[Ref] = {("in", number) for number, x in enumerate(nest.inputs) if nest.reads_each(x)}
    for number, step in enumerate(nest.steps):
        places = step.operands[1:] if step.name == "tensor.extract" else step.operands
        if not read.isdisjoint(places):
            if step.name == "tensor.extract":
                return True
            read.add(("step", number))
    return False


def _is_cheap(nest: FusedNest) -> bool:
    return all(step.name in _CHEAP for step in nest.steps)


def _is_rounding(nest: FusedNest) -> bool:
    return all(step.name in _ROUNDINGS for step in nest.steps)


def _is_recurrence(scan: FusedNest) -> bool:
    """Whether a scan multiplies what it has so far, say, before it adds: each step waits for the one before, and
    there is time for what follows (moving averages of lists of 5 float32 take half of the time on a Zen 4 core). Scans
    that fold run on vectors."""
    rank = len(scan.kinds)
    made = {k: ref for k, (ref, out) in enumerate(zip(scan.yields, scan.outs, strict=True)) if len(out.loops) < rank}
    return any(kind == "step" and ("out", k) not in scan.steps[int(at)].operands for k, (kind, at) in made.items())


def _is_copy(nest: FusedNest) -> bool:
    """Whether a nest makes windows contiguous."""
    return not nest.steps and _reads_windows(nest)


def _reads_windows(nest: FusedNest) -> bool:
    """Whether the elements of components are not one after the other in what a nest reads."""
    return any(is_ragged(x.value.type) and "w" in shape_of(x.value.type).layout.letters for x in nest.inputs)


def _reduces_rows(nest: FusedNest, most: int) -> bool:
    """Whether a nest reduces dense dims, of so many elements at most."""
    reduced = nest.reduced
    sizes: dict[int, int] = {}
    for operand in nest.inputs:
        if reduced & operand.partial_loops():
            return False
        shape = operand.value.type.shape if is_tensor(operand.value.type) else []
        sizes.update((k, n) for k, n in zip(operand.loops, shape, strict=False) if k is not None and n != DYNAMIC)
    return bool(reduced) and reduced <= set(sizes) and prod(sizes[loop] for loop in reduced) <= most


def _is_flat(nest: FusedNest) -> bool:
    """Whether every operand goes along all levels of the ragged axes of the others, or none, and none is windows."""
    axes: list[set[int | None]] = []
    for operand in nest.inputs:
        if is_tensor(operand.value.type):
            layout = shape_of(operand.value.type).layout
            nested = [layout.dims(axis) for axis, letters in enumerate(layout.axes) if len(letters) > 1]
            axes += [{operand.loops[dim] for dim in dims} for dims in nested]
    is_whole = all(axis <= set(x.loops) or not axis & set(x.loops) for x in nest.inputs for axis in axes)
    return is_whole and not _reads_windows(nest)


def _has_rows(nest: FusedNest) -> bool:
    """Whether what a scan, or another nest, steps over along components is not single elements, but rows."""
    steps = nest.reduced or nest.partial_loops()
    outs = [[loop_of(e) for e in out.results] for out in nest.out_maps()]
    found = next(((v, o) for v, o in zip(nest.results, outs, strict=True) if steps & set(o)), None)
    if found is None:
        return False
    value, loops = found
    last = max(dim for dim, loop in enumerate(loops) if loop in steps)
    return elements_from(value.type, last + 1) >= _ROW


def _moves_less(nest: FusedNest, value: ir.Value, users: int) -> bool:
    """Whether fewer bytes are read and written where every user computes a result than where it is stored for them.
    What a nest reads along some of its loops only stays in cache. Not so of elements of unknown width."""
    types = [element_of(x.type) for x in (value, *(x.value for x in nest.inputs if nest.reads_each(x)))]
    if not all(map(is_number, types)):
        return False
    written, *read = map(bit_width, types)
    return users * sum(read) <= sum(read) + (1 + users) * written


def _like_of(op: ir.Operation, nest: FusedNest, sources: dict[ir.Value, ir.Value]) -> ir.Value | None:
    """A value with the structure of an elementwise result that is not computed in its nest."""
    like = structural_source(op.results[0], sources)
    while not isinstance(like.owner, ir.Block) and like.owner.operation in (op, *nest.absorbed):
        layout = shape_of(like.type).layout
        same = [v for v in like.owner.operands if is_ragged(v.type) and shape_of(v.type).layout == layout]
        if not same:
            return None
        like = same[0]
    return like
