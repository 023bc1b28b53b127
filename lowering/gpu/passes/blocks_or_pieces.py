"""Components done two ways, of which sizes and data pick one: a block for each, or balanced pieces.

A block per component reads a component once from far away and from cache after that, but one that is much
longer than the others keeps a block busy while all else waits, and blocks for short ones have more to do with
starting than with their rows. Balanced pieces do not care, but read the rows again for each of them. How many
rows and components there are is known at launch; how long the longest component is only the data tells: a kernel
looks, and the kernels of the other way return at once. Nobody waits for the answer.

The bounds are estimates by a model: a block reads 20 bytes a nanosecond, takes some microseconds when it has
little to read, and the device reads a hundred times as fast as a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import arith, ir, memref, scf
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, remap
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import captures, ops_in
from ragged_dialect.lowering.buffers import allocate, extent, is_allocation, is_buffer
from ragged_dialect.lowering.forall_bounds import counts_of, forall_over
from ragged_dialect.lowering.gpu.attributes import GATE
from ragged_dialect.lowering.gpu.kernel.shared_memory import byte_size
from ragged_dialect.lowering.gpu.passes.fission import fission
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode
from ragged_dialect.lowering.gpu.segmented.component_rows import host_rows
from ragged_dialect.lowering.gpu.segmented.match_maps import MappedComponents
from ragged_dialect.lowering.gpu.segmented.match_reductions import ReducedComponents
from ragged_dialect.lowering.gpu.segmented.reduction_kernels import fits, matched
from ragged_dialect.lowering.gpu.segmented.search import ended

LONG = 1 << 18
"""Bytes that a block has done before kernels that look for other work have started."""

MANY = 1 << 12
"""Blocks that a device has running at once, or will have when the next kernel could start."""

SHARE = 64
"""A component with more than this part of all rows takes longer in one block than all rows take in pieces: a
block moves about a hundredth of what a device does, and pieces move rows twice as often."""

BRIEF = 16
SHORT = (1 << 10, 1 << 12)
"""Rows of a mean component, but at least and at most so many bytes, below which a block takes longer to start
than to read: 16 bytes for each of its threads, of which there are 64 to 256."""


@dataclass(frozen=True)
class _Sizes:
    """Components, rows in memory and bytes of a row, on the host."""

    count: Mixed
    rows: Mixed
    width: Mixed

    @staticmethod
    def of(found: ReducedComponents | MappedComponents) -> _Sizes:
        """The sizes of components, at the insertion point."""
        (count,) = counts_of(found.forall)
        operands = [(x, dim) for work in found.work for x, dim in host_rows(work.op, work.rows)]
        rows = reduce(build.minimum, [extent(x, dim) for x, dim in operands])
        width = reduce(build.maximum, [_row_bytes(x, dim) for x, dim in operands])
        return _Sizes(count, rows, build.maximum(width, 1))

    @property
    def are_small(self) -> bool:
        """Whether any block is done soon, whatever the data."""
        return isinstance(self.rows, int) and isinstance(self.width, int) and self.rows * self.width <= LONG

    def are_many(self) -> ir.Value:
        """Whether a device does not have a block for every component at once."""
        return build.more(self.count, MANY)

    def are_large(self) -> ir.Value:
        """Whether a block may take long, were all rows in one component."""
        return build.more(build.mul(self.rows, self.width), LONG)

    def are_short(self) -> ir.Value:
        """Whether the mean component is too short for a block."""
        short = build.minimum(build.maximum(build.mul(self.width, BRIEF), SHORT[0]), SHORT[1])
        least = build.value(build.mul(self.count, short))
        return build.less(build.mul(self.rows, self.width), least)

    def most(self) -> Mixed:
        """Rows that a block does while the device does the others."""
        alone = build.divide(LONG, self.width)
        return build.maximum(build.maximum(alone, 1), build.ceildiv(self.rows, SHARE))


def both_ways(forall: ir.Operation, number: int) -> tuple[ir.Operation, ir.Operation, list[ir.Operation]] | None:
    """Replace a forall over components by three things: a forall that picks, one with a block per component, and
    balanced pieces. None, and nothing changes, when there are no such pieces or never many rows. The gates of the
    blocks and of the pieces are those of `number` and the next one."""
    own = _own_buffers(forall)
    with ir.InsertionPoint(forall), forall.location:
        copy = forall.clone().operation
    pieces = fission(copy, fits)
    if pieces is None:
        copy.erase()
        return None
    found = matched(pieces[0])
    assert found is not None
    with ir.InsertionPoint(pieces[0]), forall.location:
        sizes = _Sizes.of(found)
        if sizes.are_small:
            for piece in pieces:
                piece.erase()
            return None
        many = sizes.are_many()
        short = arith.andi(many, sizes.are_short())
        gates = [_gate(number), _gate(number + 1)]
        picking = _picking(found, sizes, short, gates)
        blocks = _recounted(forall, arith.select(short, build.value(0), build.value(sizes.count)))
        some = scf.IfOp(arith.ori(many, sizes.are_large()))
        with ir.InsertionPoint(some.then_block):
            last = scf.YieldOp([])
        with ir.InsertionPoint(last):
            theirs: ValueMap = {x: definer(x).clone().results[0] for x in own}
        for piece in pieces:
            piece.move_before(last)
            remap(piece, theirs)
    _pass_gate([blocks], number)
    _pass_gate(pieces, number + 1)
    return picking, blocks, pieces


def _own_buffers(forall: ir.Operation) -> list[ir.Value]:
    """Buffers of the host that only this forall uses: scratch, which need not be memory at all in a block."""
    inside = set(ops_in(forall))
    buffers = [x for x in captures([forall]) if is_buffer(x) and is_allocation(x)]
    return [x for x in buffers if all(use.owner.operation in inside for use in x.uses)]


def _row_bytes(x: ir.Value, dim: int) -> Mixed:
    """Bytes of a buffer's row along a dim."""
    others = [extent(x, d) for d in range(len(x.type.shape)) if d != dim]
    return build.mul(build.product(others), byte_size(x.type.element_type))


def _gate(number: int) -> ir.Value:
    buffer = allocate([1], build.i64())
    definer(buffer).attributes[GATE] = ir.IntegerAttr.get(build.i64(), number)
    return buffer


def _pass_gate(foralls: list[ir.Operation], number: int) -> None:
    for forall in foralls:
        forall.attributes[GATE] = ir.IntegerAttr.get(build.i64(), number)


def _recounted(forall: ir.Operation, count: ir.Value) -> ir.Operation:
    """A forall of another count in place of one."""
    made = forall_over(count)
    old, new = forall.regions[0].blocks[0], made.regions[0].blocks[0]
    old.arguments[0].replace_all_uses_with(new.arguments[0])
    terminator = list(new.operations)[-1].operation
    for op in list(old.operations)[:-1]:
        op.operation.move_before(terminator)
    forall.erase()
    return made


def _picking(
    found: ReducedComponents | MappedComponents, sizes: _Sizes, short: ir.Value, gates: list[ir.Value]
) -> ir.Operation:
    """A forall of one iteration that opens one of the gates. Of every `most` rows it looks at the component of
    the first one: a component of more rows than that has one of these."""
    code = ComponentCode(found, {})
    most = build.value(sizes.most())
    places = build.minimum(build.add(build.divide(sizes.rows, most), 1), build.mul(sizes.count, SHARE + 1))
    places = arith.select(short, build.value(0), build.value(places))
    allowed = arith.select(short, build.value(-1), most)
    count = build.value(sizes.count)
    forall = forall_over(1)
    with ir.InsertionPoint(list(forall.regions[0].blocks[0].operations)[-1]):
        last = arith.subi(count, build.value(1))

        def longer(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            row = build.add(code.low(build.value(0)), build.mul(k, most))
            (component,) = ended(code.high, [build.add(row, 1)], build.value(0), last)
            return [build.maximum(carried[0], build.sub(code.high(component), code.low(component)))]

        (longest,) = flow.for_loop(places, [build.value(0)], longer, "maxsi", few=True)
        skewed = build.more(longest, allowed)
        closed, opened = (build.constant(build.i64(), number) for number in (1, 0))
        memref.store(arith.select(skewed, closed, opened), gates[0], [build.value(0)])
        memref.store(arith.select(skewed, opened, closed), gates[1], [build.value(0)])
    return forall
