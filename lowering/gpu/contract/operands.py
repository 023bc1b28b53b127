"""The operands of a product, as tiles in shared memory."""

from __future__ import annotations

from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, memref
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import loop_of
from ragged_dialect.lowering.gpu.contract import fragments
from ragged_dialect.lowering.gpu.contract.match import RESULT
from ragged_dialect.lowering.gpu.contract.shared import CHUNK, Chunk, Place, Tile
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.vector_access import access_of

_FAR = 1 << 16
"""More rows or columns than a part has."""


class Range(NamedTuple):
    """A part of a loop: where it starts, and how many iterations it has, of which some may be beyond the last."""

    loop: int
    first: Mixed
    size: int


class Staged:
    """An operand of a product, with some of its rows or columns, `outer`, and `step` of those that are summed. What is
    beyond the operand is 0. In shared memory it lies as in global memory. It is `wide` where all of its rows are
    aligned to chunks: else it is copied element by element."""

    def __init__(
        self, kernel: Kernel, generic: GenericOp, operand: int, outer: Range, k: int, step: int, stages: int
    ) -> None:
        self._source, self._generic = generic.operands[operand], generic
        self._order = [loop_of(expr) for expr in generic.maps[operand].results]
        self._outer, self._k = outer, k
        sizes = {outer.loop: outer.size, k: step}
        rows, columns = (sizes[loop] for loop in self._order)
        self._pairs = outer.loop == loop_of(generic.maps[RESULT].results[1])
        self.wide = Staged.is_wide(generic, operand)
        self.element: ir.Type = self._source.type.element_type
        self._tile = Tile(kernel, stages, rows, columns, self.element, swizzled=True)

    @staticmethod
    def is_wide(generic: GenericOp, operand: int) -> bool:
        """Whether all rows of an operand are aligned to chunks."""
        last = loop_of(generic.maps[operand].results[1])
        extent = generic.static_extent(last)
        return extent is not None and extent % CHUNK == 0 and operand in access_of(generic, last, CHUNK).operands

    def copy(self, stage: ir.Value, first: Mixed, thread: ir.Value) -> None:
        """Copy the part from iteration `first` of the sum on, which there is, by all threads."""
        starts = {self._outer.loop: self._outer.first, self._k: first}
        corner = [build.value(starts[loop]) for loop in self._order]
        ends = [build.value(self._generic.extent(loop)) for loop in self._order]

        def source(row: ir.Value, column: ir.Value) -> Chunk | list[ir.Value]:
            if not self.wide:
                return self._read(row, column, corner, ends)
            at = [build.add(start, x) for start, x in zip(corner, (row, column), strict=True)]
            inside = [build.less(x, end) for x, end in zip(at, ends, strict=True)]
            row, column = (arith.select(*own) for own in zip(inside, at, corner, strict=True))
            (stride, _), _ = self._source.type.get_strides_and_offset()
            first = build.add(build.mul(row, stride), column)

            def pointer(number: int) -> ir.Value:
                return fragments.global_pointer(self._source, build.add(first, number))

            return Chunk(pointer, arith.andi(*inside))

        self._tile.copy(stage, thread, source)

    def _read(self, row: ir.Value, column: ir.Value, corner: list[ir.Value], ends: list[ir.Value]) -> list[ir.Value]:
        """Elements from a place in a part on, 0 instead of those beyond the ends. Each is read under a condition, from
        one pointer: for a pointer each, or for comparing indices of 64 bits, a thread has no registers (ptxas 13.0
        reports up to 168 and 24 bytes spilled)."""
        word, zero = ir.IntegerType.get_signless(32), build.constant(self.element, 0.0)
        left = (build.minimum(build.sub(end, start), _FAR) for start, end in zip(corner, ends, strict=True))
        rows, columns = (arith.index_cast(word, x) for x in left)
        inside = build.less(arith.index_cast(word, row), rows)
        count = arith.select(inside, arith.subi(columns, arith.index_cast(word, column)), build.constant(word, 0))
        first = build.add(corner[1], column)

        def read(number: int) -> ir.Value:
            place = [build.add(corner[0], row), build.add(first, number)]
            return flow.choose(
                build.less(number, count), lambda: [memref.load(self._source, place)], lambda: [zero], [zero.type]
            )[0]

        return [read(number) for number in range(CHUNK)]

    def corner(self, stage: ir.Value, lane: ir.Value, outer: Mixed) -> Place:
        """Which element in shared memory a lane gives the address of for fragments from `outer` on."""
        row, along, inner = fragments.place_of(lane, self._pairs)
        starts = {self._outer.loop: build.add(along, outer), self._k: inner}
        down, right = (build.value(starts[loop]) for loop in self._order)
        return self._tile.place(stage, build.add(down, row), right)

    def fragments(self, corner: Place, outer: int, k: int) -> list[list[ir.Value]]:
        """Registers of 16 x 16 elements, so far from a corner, by their parts: a fragment of A, or two of B."""
        starts = {self._outer.loop: outer, self._k: k}
        down, right = (starts[loop] for loop in self._order)
        return self._tile.fragments(corner, down, right, self._order[1] != self._k)
