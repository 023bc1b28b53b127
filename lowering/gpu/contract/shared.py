"""Tiles of matrices in shared memory, and fragments of them in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import gcd
from typing import NamedTuple

from ragged_dialect._mlir import arith, ir, llvm, vector
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import byte_size
from ragged_dialect.lowering.gpu.contract import fragments, splitting
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.thread_loops import guarded

CHUNK = DEVICE.access_bytes // fragments.ELEMENT
"""Elements that a thread copies at once."""


class Place(NamedTuple):
    """Where something is in a tile: how many elements are before its stage, and how many in it."""

    stage: ir.Value
    inside: ir.Value


class Chunk(NamedTuple):
    """`CHUNK` neighbours in memory, aligned as a whole: the pointer of one of them by its number, and whether they are
    to be read. They are 0 where not, and the pointer is one that may be read."""

    pointer: Callable[[int], ir.Value]
    inside: ir.Value


Source = Callable[[ir.Value, ir.Value], "Chunk | Sequence[ir.Value]"]
"""What to copy to a row and a column: neighbours in memory, or their values."""


class Tile:
    """Rows of numbers in shared memory, once for each stage, by parts of the numbers (`splitting.py`). The chunks of a
    row are permuted (`swizzled`, of powers of two), which takes no memory, or rows are longer than they had to be: then
    offsets inside are parts of instructions, where else each distance to the right takes a register."""

    def __init__(
        self, kernel: Kernel, stages: int, rows: int, columns: int, element: ir.Type, *, swizzled: bool = False
    ) -> None:
        self.element, self._threads = element, kernel.threads
        self._rows, self._columns, self._swizzled = rows, columns, swizzled
        self._stride = _stride(columns, swizzled)
        kind = ir.MemRefType.get([stages, rows, self._stride], splitting.short(element))
        self._buffers = [kernel.workgroup(kind) for _ in range(splitting.count_of(element))]

    @staticmethod
    def bytes_of(rows: int, columns: int, element: ir.Type, *, swizzled: bool = False) -> int:
        """The memory that a stage takes."""
        return splitting.count_of(element) * rows * _stride(columns, swizzled) * fragments.ELEMENT

    def place(self, stage: ir.Value, row: ir.Value, column: ir.Value) -> Place:
        """Where an element is."""
        if not self._swizzled:
            row = build.add(build.mul(stage, build.value(self._rows)), row)
            return Place(build.value(0), build.add(build.mul(row, build.value(self._stride)), column))
        column = arith.xori(column, build.mul(fragments.swizzle(row, self._columns // CHUNK), CHUNK))
        inside = build.add(build.mul(row, build.value(self._stride)), column)
        return Place(build.mul(stage, build.value(self._rows * self._stride)), inside)

    def copy(self, stage: ir.Value, thread: ir.Value, source: Source) -> None:
        """Start copying to all rows, by all threads. What a thread copies is at constant distances, so that it computes
        one place: where a row has no power of two of chunks, neighbouring threads have parts of it."""
        across = self._columns // CHUNK
        lanes = gcd(across, self._threads)
        height = self._threads // lanes
        first: ir.Value = arith.divui(thread, build.value(lanes))
        right: ir.Value = arith.remui(thread, build.value(lanes))
        for down in range(0, self._rows, height):
            row = build.add(first, down)
            for chunk in range(0, across, lanes):
                column = build.value(build.mul(build.add(right, chunk), CHUNK))
                put = partial(self._put, self.place(stage, row, column), source(row, column))
                guarded([] if down + height <= self._rows else [build.less(row, self._rows)], put)

    def _put(self, place: Place, given: Chunk | Sequence[ir.Value]) -> None:
        pointers = [self._pointer(buffer, place) for buffer in self._buffers]
        if isinstance(given, Chunk) and not splitting.is_split(self.element):
            fragments.copy(pointers[0], given.pointer(0), given.inside)
            return
        values = self._read(given) if isinstance(given, Chunk) else given
        pairs = [splitting.parts(values[k : k + 2], self.element) for k in range(0, CHUNK, 2)]
        for pointer, words in zip(pointers, zip(*pairs, strict=True), strict=True):
            llvm.store(fragments.vector_of(words), pointer, alignment=DEVICE.access_bytes)

    def _read(self, chunk: Chunk) -> list[ir.Value]:
        def read() -> list[ir.Value]:
            return [x for k in (0, CHUNK // 2) for x in loaded(chunk.pointer(k), self.element, CHUNK // 2)]

        zeros = [build.constant(self.element, 0.0)] * CHUNK
        return flow.choose(chunk.inside, read, lambda: zeros, [x.type for x in zeros])

    def fragments(self, place: Place, down: int, right: int, transposed: bool) -> list[list[ir.Value]]:
        """Registers of 16 x 16 numbers, so far from a place, for each of their parts."""
        return [
            fragments.load(self._pointer(buffer, place, down, right), splitting.short(self.element), transposed)
            for buffer in self._buffers
        ]

    def _pointer(self, buffer: ir.Value, place: Place, down: int = 0, right: int = 0) -> ir.Value:
        more, inside = down * self._stride, place.inside
        if self._swizzled and right:
            inside = arith.xori(inside, build.value(right))  # a place has none of its bits
        elif right:
            more += right
        return fragments.shared_pointer(buffer, build.add(place.stage, inside), more)


def halves_of(fours: Sequence[Sequence[ir.Value]]) -> list[list[Sequence[ir.Value]]]:
    """The two neighbouring fragments of a right operand that registers of 16 x 16 numbers are, by their parts."""
    return [[four[at : at + 2] for four in fours] for at in (0, 2)]


def loaded(pointer: ir.Value, element: ir.Type, count: int) -> list[ir.Value]:
    """Neighbours in memory, which are aligned as a whole."""
    whole = llvm.load(ir.VectorType.get([count], element), pointer, alignment=count * byte_size(element))
    return [vector.extract(whole, [], [k]) for k in range(count)]


def _stride(columns: int, swizzled: bool) -> int:
    return columns if swizzled else fragments.row_stride(columns)
