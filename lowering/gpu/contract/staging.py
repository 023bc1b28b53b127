"""Parts of the operands of a product in shared memory, and fragments of them in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import loop_of
from ragged_dialect.lowering.gpu.contract import fragments
from ragged_dialect.lowering.gpu.contract.match import RESULT
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded
from ragged_dialect.lowering.gpu.kernel.vector_access import access_of

CHUNK = DEVICE.access_bytes // fragments.ELEMENT
"""Elements that a thread copies at once."""


def in_stages(
    stages: int,
    count: Mixed,
    inits: Sequence[ir.Value],
    copy: Callable[[ir.Value, ir.Value], None],
    step: Callable[[ir.Value, ir.Value, list[ir.Value]], list[ir.Value]],
) -> list[ir.Value]:
    """A loop of a block over parts of its operands. As many as `stages` are in shared memory at once: one is read,
    while the others are on their way. `copy` starts to copy a part, and `step` takes one and gives what is carried on;
    both get the stage and the number of a part."""
    ahead = stages - 1

    def start(number: ir.Value) -> None:
        stage = arith.remui(number, build.value(stages))
        guarded([build.less(number, count)], lambda: copy(stage, number))
        fragments.end_group()  # of no copy behind the last part: groups are counted

    def turn(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        fragments.wait_for_groups(ahead - 1)
        ir.Operation.create("gpu.barrier")  # it has all copies, and the stage that comes next was read
        start(build.add(number, build.value(ahead)))
        return step(arith.remui(number, build.value(stages)), number, carried)

    for number in range(ahead):
        start(build.value(number))
    return flow.for_loop(count, inits, turn)


class Shared:
    """Rows of elements in shared memory, once for each stage."""

    def __init__(self, kernel: Kernel, stages: int, rows: int, columns: int, element: ir.Type) -> None:
        self.element = element
        self.rows = rows
        self.stride = fragments.row_stride(columns)
        self.buffer = kernel.workgroup(ir.MemRefType.get([stages, rows, self.stride], element))

    @staticmethod
    def bytes_of(stages: int, rows: int, columns: int) -> int:
        """The memory that it takes."""
        return stages * rows * fragments.row_stride(columns) * fragments.ELEMENT

    def place(self, stage: ir.Value, row: ir.Value, column: Mixed) -> ir.Value:
        """How many elements are before one."""
        inside = build.add(build.mul(row, build.value(self.stride)), column)  # the same for all stages
        return build.add(build.mul(stage, build.value(self.rows * self.stride)), inside)

    def copy(self, source: ir.Value, place: ir.Value, inside: ir.Value) -> None:
        """Start a copy of 16 bytes to a place, see `fragments.copy`."""
        fragments.copy(fragments.shared_pointer(self.buffer, place), source, inside)

    def store(self, place: ir.Value, words: Sequence[ir.Value]) -> None:
        """Store 16 bytes, given as words, to a place."""
        fragments.store_whole(
            fragments.vector_of(words), fragments.shared_pointer(self.buffer, place), DEVICE.access_bytes
        )

    def load(self, place: ir.Value, down: int, right: int, transposed: bool) -> list[ir.Value]:
        """Registers of 16 x 16 elements, so far from a place."""
        pointer = fragments.shared_pointer(self.buffer, place, down * self.stride + right)
        return fragments.load(pointer, self.element, transposed)


class Range(NamedTuple):
    """A part of a loop: where it starts, and how many iterations it has, of which some may be beyond the last."""

    loop: int
    first: Mixed
    size: int


class Staged:
    """An operand of a product, with some of its rows or columns, `outer`, and `step` of those that are summed. What is
    beyond the operand is 0. In shared memory it lies as in global memory. It is `wide` where all of its rows are
    aligned to 16 bytes: it is copied asynchronously then, else element by element."""

    def __init__(
        self, kernel: Kernel, generic: GenericOp, operand: int, outer: Range, k: int, step: int, stages: int
    ) -> None:
        self._source, self._generic = generic.operands[operand], generic
        self._order = [loop_of(expr) for expr in generic.maps[operand].results]
        self._outer, self._k = outer, k
        sizes = {outer.loop: outer.size, k: step}
        self._rows, self._columns = (sizes[loop] for loop in self._order)
        self._pairs = outer.loop == loop_of(generic.maps[RESULT].results[1])
        self.wide = Staged.is_wide(generic, operand)
        self._threads = kernel.threads
        self.element: ir.Type = self._source.type.element_type
        self._shared = Shared(kernel, stages, self._rows, self._columns, self.element)

    @staticmethod
    def is_wide(generic: GenericOp, operand: int) -> bool:
        """Whether all rows of an operand are aligned to 16 bytes."""
        last = loop_of(generic.maps[operand].results[1])
        extent = generic.static_extent(last)
        return extent is not None and extent % CHUNK == 0 and operand in access_of(generic, last, CHUNK).operands

    def copy(self, stage: ir.Value, first: Mixed, thread: ir.Value) -> None:
        """Copy the part from iteration `first` of the sum on, which there is, by all threads."""
        starts = {self._outer.loop: self._outer.first, self._k: first}
        corner = [build.value(starts[loop]) for loop in self._order]
        ends = [build.value(self._generic.extent(loop)) for loop in self._order]
        across = self._columns // CHUNK
        for piece in range(0, self._rows * across, self._threads):
            number = build.add(thread, piece)
            row: ir.Value = arith.divui(number, build.value(across))
            column: ir.Value = arith.muli(arith.remui(number, build.value(across)), build.value(CHUNK))
            at = [build.add(start, x) for start, x in zip(corner, (row, column), strict=True)]
            if self.wide:
                inside, place = self._clamped(at, corner, ends)
                (stride, _), _ = self._source.type.get_strides_and_offset()
                source = fragments.global_pointer(self._source, build.add(build.mul(place[0], stride), place[1]))
                self._shared.copy(source, self._shared.place(stage, row, column), inside)
            else:
                values = self._read(at, corner, ends)
                ir.Operation.create("vector.store", operands=[values, self._shared.buffer, stage, row, column])

    def _read(self, at: list[ir.Value], corner: list[ir.Value], ends: list[ir.Value]) -> ir.Value:
        """Elements from a place on; instead of those that are beyond the ends the corner is read, and 0 taken."""
        zero = build.constant(self.element, 0.0)
        values: list[ir.Value] = []
        for k in range(CHUNK):
            inside, place = self._clamped([at[0], build.add(at[1], k)], corner, ends)
            values.append(arith.select(inside, memref.load(self._source, place), zero))
        return fragments.vector_of(values)

    @staticmethod
    def _clamped(at: list[ir.Value], corner: list[ir.Value], ends: list[ir.Value]) -> tuple[ir.Value, list[ir.Value]]:
        inside = arith.andi(*(build.less(x, end) for x, end in zip(at, ends, strict=True)))
        return inside, [arith.select(inside, x, start) for x, start in zip(at, corner, strict=True)]

    def corner(self, stage: ir.Value, lane: ir.Value, outer: Mixed) -> ir.Value:
        """Which element in shared memory a lane gives the address of for fragments from `outer` on."""
        row, along, inner = fragments.place_of(lane, self._pairs)
        starts = {self._outer.loop: build.add(along, outer), self._k: inner}
        down, right = (starts[loop] for loop in self._order)
        return self._shared.place(stage, build.add(down, row), right)

    def fragments(self, corner: ir.Value, outer: int, k: int) -> list[ir.Value]:
        """Registers of 16 x 16 elements, so far from a corner: a fragment of A, or two of B."""
        starts = {self._outer.loop: outer, self._k: k}
        down, right = (starts[loop] for loop in self._order)
        return self._shared.load(corner, down, right, self._order[1] != self._k)
