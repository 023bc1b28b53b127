"""Products in vector registers: a block of sums, each of some vectors, that stays in them over the whole sum.

`product` is the one inner loop: in each step some elements, each for all lanes, times one row of lanes. What reads them
decides what is multiplied, so nothing is packed that is in order as it is; `transposed` turns what is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from ragged_dialect._mlir import arith, ir, memref, vector
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.build import Mixed
from ragged_dialect.lowering.math.emitter import Emitter, Number
from ragged_dialect.lowering.vector.machine import CACHE_LINE, registers

_VECTORS = 2
"""Vector registers of a row: each element that is read for all lanes is used as often, so that two loads a cycle are
enough for two fused multiply-adds."""


@dataclass(frozen=True)
class RegisterBlock:
    """What of a product is in registers: `rows` rows of `lanes` elements; `square` are the lanes of a
    register, and `used` the first lanes that are in memory, None for all."""

    lanes: int
    rows: int
    square: int
    element: ir.Type
    used: Mixed | None = None

    @staticmethod
    def of(element: ir.Type, isa: str = "auto") -> RegisterBlock:
        """For an instruction set, that of this machine by default: of 32 registers (AVX-512) 16, of 16 half, so that
        the latency of four cycles of two units is covered and operands have room."""
        found = registers(isa)
        size = found.bytes if found else 16
        square = size // (8 if isinstance(element, ir.F64Type) else 4)
        return RegisterBlock(_VECTORS * square, 8 if size == 64 else 4, square, element)

    @property
    def vector(self) -> ir.Type:
        """A row."""
        return ir.VectorType.get([self.lanes], self.element)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 8 if isinstance(self.element, ir.F64Type) else 4

    def holding(self, lanes: Mixed) -> RegisterBlock:
        """With rows of so many lanes, in whole registers: as few as are known to do."""
        whole = build.ceildiv(lanes, self.square) * self.square if isinstance(lanes, int) else self.lanes
        return replace(self, lanes=whole, used=lanes)

    def _mask(self) -> ir.Value:
        i1 = ir.IntegerType.get_signless(1)
        mask = ir.VectorType.get([self.lanes], i1)
        return vector.create_mask(mask, [build.value(self.lanes if self.used is None else self.used)])

    def load_at(self, x: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
        """A row of any buffer."""
        if self.used is None:
            return vector.load(self.vector, x, at)
        return vector.maskedload(self.vector, x, at, self._mask(), self.splat(0.0))

    def store_at(self, row: ir.Value, x: ir.Value, at: Sequence[ir.Value]) -> None:
        """Write a row of any buffer."""
        if self.used is None:
            vector.store(row, x, at)
        else:
            vector.maskedstore(x, at, self._mask(), row)

    def prefetch(self, x: ir.Value, at: Sequence[ir.Value], write: bool = False) -> None:
        """Ask for the memory of a row of a buffer."""
        for first in range(0, self.lanes, self.square):
            memref.prefetch(x, [*at[:-1], build.add(at[-1], first)], write, 3, True)

    def splat(self, number: float) -> ir.Value:
        """A number in all lanes."""
        return Emitter().constant(self.vector, number)

    def scratch(self, rows: int, lanes: int | None = None) -> ir.Value:
        """Rows on the stack, of which no vector lies across two cache lines."""
        type_ = ir.MemRefType.get([rows, self.lanes if lanes is None else lanes], self.element)
        return memref.AllocaOp(type_, [], [], alignment=CACHE_LINE).result

    def load(self, scratch: ir.Value, row: Mixed) -> Number:
        """A row of scratch."""
        return Emitter().number(vector.load(self.vector, scratch, [build.value(row), build.value(0)]))

    def store(self, x: Number | ir.Value, scratch: ir.Value, row: Mixed) -> None:
        """Write a row of scratch."""
        vector.store(x.value if isinstance(x, Number) else x, scratch, [build.value(row), build.value(0)])

    def product(
        self,
        count: Mixed,
        sums: Sequence[ir.Value],
        left: Callable[[ir.Value], Sequence[ir.Value]],
        right: Callable[[ir.Value], ir.Value],
        ahead: Callable[[ir.Value], None] | None = None,
    ) -> list[ir.Value]:
        """sums[i] + the sum over k < count of left(k)[i] * right(k): scalars, a row. In each step memory is asked for
        that is needed later."""

        def step(k: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
            emitter = Emitter()
            if ahead is not None:
                ahead(k)
            row = emitter.number(right(k))
            spread = [emitter.number(vector.broadcast(self.vector, x)) for x in left(k)]
            return [(emitter.number(s) + x * row).value for s, x in zip(carried, spread, strict=True)]

        return flow.for_loop(count, sums, step)


def read(x: ir.Value, at: Sequence[ir.Value], lanes: int, wide: ir.Type) -> ir.Value:
    """Adjacent elements of a tensor, as a vector of a type that holds them."""
    rank, element = x.type.rank, x.type.element_type
    padding = build.constant(element, 0.0)
    along = ir.AffineMap.get_minor_identity(rank, 1)
    found = vector.TransferReadOp(ir.VectorType.get([lanes], element), x, at, along, padding, [True]).result
    return found if element == wide else arith.extf(ir.VectorType.get([lanes], wide), found)


def write(x: ir.Value, into: ir.Value, at: Sequence[ir.Value]) -> ir.Value:
    """A tensor with a vector as some adjacent elements, rounded to its type."""
    rank, element = into.type.rank, into.type.element_type
    if x.type.element_type != element:
        x = arith.truncf(ir.VectorType.get(x.type.shape, element), x)
    along = ir.AffineMap.get_minor_identity(rank, 1)
    return vector.TransferWriteOp(into.type, x, into, at, along, [True]).result


def transposed(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """The columns of a square, of a power of two: its halves merged lane by lane, as often as it takes."""
    n = len(rows)
    low = [k for i in range(n // 2) for k in (i, n + i)]
    high = [k + n // 2 for k in low]
    for _ in range(n.bit_length() - 1):
        pairs = zip(rows[: n // 2], rows[n // 2 :], strict=True)
        rows = [vector.shuffle(a, b, half) for a, b in pairs for half in (low, high)]
    return list(rows)
