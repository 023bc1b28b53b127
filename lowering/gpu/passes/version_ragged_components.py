"""`version-ragged-components`: two versions of what is done with components, of which sizes and data pick one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow, memory
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import ValueMap, remap
from ragged_dialect.ir.match import body_ops, byte_size, definer, terminator
from ragged_dialect.ir.walk import captures, ops_in, outermost
from ragged_dialect.lowering.attributes import GATE, SEGMENT, Mapping
from ragged_dialect.lowering.buffers.subviews import extent, is_allocation, is_buffer
from ragged_dialect.lowering.gpu.passes.fission_ragged_foralls import fission
from ragged_dialect.lowering.gpu.passes.host_code import host_functions
from ragged_dialect.lowering.gpu.schedules import pick
from ragged_dialect.lowering.gpu.segmented.component_code import ComponentCode
from ragged_dialect.lowering.gpu.segmented.matching import RowComponents
from ragged_dialect.lowering.gpu.segmented.reduction_kernels import fits, matched
from ragged_dialect.lowering.nests.forall_bounds import counts_of, forall_over, inside_forall
from ragged_dialect.lowering.search import ended
from ragged_dialect.passes.base import PassFailure, RaggedPass

MANY = DEVICE.blocks
"""Blocks that a device has running at once, or will have when the next kernel could start."""

SHARE = DEVICE.multiprocessors // 2
"""A component with more than this part of all rows takes longer in one block than all rows take in tiles: a
block moves what one multiprocessor does, and tiles move rows twice as often."""

SHORT = (DEVICE.access_bytes * DEVICE.fewest_threads, DEVICE.access_bytes * DEVICE.threads)
"""Rows of a mean component, but at least and at most so many bytes, below which a block takes longer to start
than to read: one access for each of its threads."""


@dataclass(frozen=True)
class VersionRaggedComponents(RaggedPass):
    """Compile a reduction per component in two versions, a block per component and segmented reductions over equal
    tiles, and pick one at run time (loop versioning).

    ```mlir
    scf.forall (%b) in (%n) { … reduction of the rows of a component … … map of its rows … }
    // becomes
    scf.forall (%i) in (1) { … opens one of the gates … }
    scf.forall (%b) in (%blocks) { … reduction … … map … } {ragged.gate = 0}
    scf.if %some { scf.forall (%b) in (%n) { … reduction … } {ragged.gate = 1}
                   scf.forall (%b) in (%n) { … map … } {ragged.gate = 1} }
    ```

    A block per component reads a component once from far away and from cache after that, but one that is much
    longer than the others keeps a block busy while all else waits (skew), and blocks for short ones have more to do
    with starting than with their rows. Segmented reductions do not care, but read the rows again for each of them.
    How many rows and components there are is known at launch; how long the longest component is depends on the
    data: a kernel looks, and the kernels of the other version return at once. Nobody waits for the answer.

    Foralls stay as they are that have no tiled version, or never many rows. `long` are the bytes that a block has
    done before kernels that look for other work have started. Precondition: `tile-flat-ops`.
    """

    long: int = 4 * DEVICE.launch_bytes

    def run(self, op: ir.Operation) -> None:
        """Make two versions of foralls over components, in every function of a module."""
        if self.long < 1:
            raise PassFailure(op, f"expected long of at least 1 byte, got {self.long}")
        for function in host_functions(op):
            gates = 0
            for forall in outermost(function, "scf.forall"):
                asked = Mapping.of(forall)
                if asked.schedule is None and not asked.is_serial and pick(forall) == SEGMENT:
                    gates += 2 * _make_versions(forall, gates, self.long)


@dataclass(frozen=True)
class _Sizes:
    """Components, rows in memory and bytes of a row, on the host; `long` is that of the pass."""

    count: Mixed
    rows: Mixed
    width: Mixed
    long: int

    @staticmethod
    def of(found: RowComponents, long: int) -> _Sizes:
        """The sizes of components, at the insertion point."""
        (count,) = counts_of(found.forall)
        operands = [(x, dim) for work in found.work for x, dim in work.host_rows()]
        rows = reduce(build.minimum, [extent(x, dim) for x, dim in operands])
        width = reduce(build.maximum, [_row_bytes(x, dim) for x, dim in operands])
        return _Sizes(count, rows, build.maximum(width, 1), long)

    @property
    def are_small(self) -> bool:
        """Whether any block is done soon, whatever the data."""
        return isinstance(self.rows, int) and isinstance(self.width, int) and self.rows * self.width <= self.long

    def are_short(self) -> ir.Value:
        """Whether the mean component is too short for a block."""
        short = build.minimum(build.maximum(build.mul(self.width, DEVICE.component_rows), SHORT[0]), SHORT[1])
        least = build.value(build.mul(self.count, short))
        return build.less(build.mul(self.rows, self.width), least)

    def most(self) -> Mixed:
        """Rows that a block does while the device does the others."""
        alone = build.divide(self.long, self.width)
        return build.maximum(build.maximum(alone, 1), build.ceildiv(self.rows, SHARE))


def _make_versions(forall: ir.Operation, number: int, long: int) -> bool:
    """Replace a forall over components by three things: a forall that picks, one with a block per component, and
    tiled ones. False, and nothing changes, when there are no tiled ones or never many rows. The gates of the blocks
    and of the tiles are those of `number` and the next one."""
    own = _own_buffers(forall)
    with ir.InsertionPoint(forall), forall.location:
        copy = forall.clone().operation
    tiled = fission(copy, fits)
    if tiled is None:
        copy.erase()
        return False
    found = matched(tiled[0])
    assert found is not None
    with ir.InsertionPoint(tiled[0]), forall.location:
        sizes = _Sizes.of(found, long)
        if sizes.are_small:
            for part in tiled:
                part.erase()
            return False
        many = build.more(sizes.count, MANY)
        short = arith.andi(many, sizes.are_short())
        gates = [_gate(number), _gate(number + 1)]
        _pick_version(found, sizes, short, gates)
        blocks = _recounted(forall, arith.select(short, build.value(0), build.value(sizes.count)))
        large = build.more(build.mul(sizes.rows, sizes.width), long)  # a block may take long, were all rows in one
        last = flow.branch(arith.ori(many, large))
        with ir.InsertionPoint(last):
            theirs: ValueMap = {x: definer(x).clone().results[0] for x in own}
        for part in tiled:
            part.move_before(last)
            remap(part, theirs)
    _pass_gate([blocks], number)
    _pass_gate(tiled, number + 1)
    return True


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
    buffer = memory.room([1], build.i64())
    definer(buffer).attributes[GATE] = ir.IntegerAttr.get(build.i64(), number)
    return buffer


def _pass_gate(foralls: list[ir.Operation], number: int) -> None:
    for forall in foralls:
        forall.attributes[GATE] = ir.IntegerAttr.get(build.i64(), number)


def _recounted(forall: ir.Operation, count: ir.Value) -> ir.Operation:
    """A forall of another count in place of one."""
    made = forall_over(count)
    Mapping.of(forall).give(made)
    old, new = forall.regions[0].blocks[0], made.regions[0].blocks[0]
    old.arguments[0].replace_all_uses_with(new.arguments[0])
    end = terminator(new)
    for op in body_ops(old):
        op.move_before(end)
    forall.erase()
    return made


def _pick_version(found: RowComponents, sizes: _Sizes, short: ir.Value, gates: list[ir.Value]) -> None:
    """Make a forall of one iteration that opens one of the gates. Of every `most` rows it looks at the component of
    the first one: a component of more rows than that has one of these."""
    code = ComponentCode(found, {})
    most = build.value(sizes.most())
    places = build.minimum(build.add(build.divide(sizes.rows, most), 1), build.mul(sizes.count, SHARE + 1))
    places = arith.select(short, build.value(0), build.value(places))
    allowed = arith.select(short, build.value(-1), most)
    count = build.value(sizes.count)
    with inside_forall(1):
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
