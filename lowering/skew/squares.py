"""Sums of squares of differences from what is known once all rows were read, as a variance is: a long component is not
read again for them."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import indexing_maps, iterator_kinds, loop_index
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone
from ragged_dialect.ir.match import made_by
from ragged_dialect.ir.walk import captures
from ragged_dialect.lowering.buffers.subviews import is_constant
from ragged_dialect.lowering.nests.partial_reductions import allocated, over_parts, part
from ragged_dialect.lowering.skew.again import arguments_of, can_follow, is_of_same, written_by
from ragged_dialect.lowering.skew.parts import Parts


@dataclass(frozen=True)
class Squares:
    """`squares` adds up (g - m)**2 over rows, `sums` has added up g over the same before, as result `total`, and
    `between` has made m, operand `shift` of `squares`, of what `sums` made.

    Every part of the rows, n of them with the sum s, has an m of its own, with which its squares, q, are added up while
    it is in the cache. Whatever these are (Chan, Golub, LeVeque: Algorithms for computing the sample variance, 1983,
    have means), of all rows it is

        sum of (g - m)**2 = sum over parts of q + (own - m) * (2 * (s - n * own) + n * (own - m))
    """

    sums: Parts
    total: int
    between: ir.Operation
    squares: Parts
    shift: int

    @staticmethod
    def of(op: ir.Operation, length: ir.Value) -> Squares | None:
        """What an op is of, None where it adds up no such squares over so many rows."""
        squares = Parts.of(op, length)
        found = None if squares is None else _difference(squares)
        if squares is None or found is None:
            return None
        g, shift = found
        before = [o.operation for o in op.block.operations]
        before = before[: before.index(op)]
        between = next((o for o in reversed(before) if _makes(o, op.operands[shift])), None)
        if between is None:
            return None
        for at, first in enumerate(before):
            sums = Parts.of(first, length)
            if sums is None or sums.runs or not all(x in written_by(first) for x in list(between.operands)[:-1]):
                continue
            added = [n for n, combiner in sums.combiners.items() if combiner.is_sum]
            total = next((n for n in added if is_of_same(sums, n, squares, shift, g)), None)
            if total is None or not can_follow(first, op, before[at + 1 :], shift):
                return None
            return Squares(sums, total, between, squares, shift)
        return None

    @property
    def ops(self) -> tuple[ir.Operation, ...]:
        """What is replaced."""
        return self.sums.op, self.squares.op

    def share(self, length: ir.Value, elements: int) -> None:
        """Replace both reductions by those of parts of the rows, and by what combines what is left of them."""
        sums, squares = self.sums, self.squares
        *_, out = squares.op.operands
        m = squares.op.operands[self.shift]
        with ir.InsertionPoint(sums.op), sums.op.location:
            rows = sums.rows_of(elements)
            tiles = build.ceildiv(length, rows)
            rooms, made, own = sums.rooms(tiles), squares.rooms(tiles), allocated(tiles, m)

            def then(tile: ir.Value, low: Mixed, size: Mixed) -> None:
                places = {sums.op.operands[n]: part(room, tile) for n, room in rooms.items()}
                clone(self.between, {**places, m: part(own, tile)})
                operands = squares.cut(low, size)
                operands[self.shift] = part(own, tile)
                squares.one(tile, low, operands, made)

            sums.each(tiles, rows, length, rooms, then=then)
            sums.combine(rooms)
        with ir.InsertionPoint(squares.op), squares.op.location:
            (q,) = made.values()

            def body(a: list[ir.Value]) -> ir.Value:
                squared, s, own, m, so_far = a
                size = build.minimum(build.sub(length, build.mul(loop_index(0), rows)), rows)
                n = arith.sitofp(m.type, build.to_i64(build.value(size)))
                difference = arith.subf(own, m)
                rest = arith.subf(s, arith.mulf(n, own))
                more = arith.addf(arith.addf(rest, rest), arith.mulf(n, difference))
                return arith.addf(so_far, arith.addf(squared, arith.mulf(difference, more)))

            over_parts([q, rooms[self.total], own], [m], out, body)
        sums.op.erase()
        squares.op.erase()


def _difference(squares: Parts) -> tuple[ir.Value, int] | None:
    """g, and which operand m is, where an op does nothing but add up (g - m)**2, of one m for all rows."""
    op = squares.op
    number, combiner = next(iter(squares.combiners.items()))
    square = made_by(combiner.element, "arith.mulf")
    if number != len(op.operands) - 1 or len(squares.combiners) > 1 or not combiner.is_sum or square is None:
        return None
    a, b = square.operands
    difference = made_by(a, "arith.subf")
    if a != b or difference is None or iterator_kinds(op).count("reduction") > 1 or squares.runs:
        return None
    g, m = difference.operands
    arguments, maps = arguments_of(op), indexing_maps(op)
    if m not in arguments or m.type != combiner.element.type:
        return None
    shift = arguments.index(m)
    return (g, shift) if shift < number and maps[shift] == maps[number] else None


def _makes(op: ir.Operation, m: ir.Value) -> bool:
    """Whether an op makes m of its operands alone, element by element."""
    if op.name != "linalg.generic" or written_by(op) != [m] or "reduction" in iterator_kinds(op):
        return False
    block = op.regions[0].blocks[0]
    return all(map(is_constant, captures(block.operations, block.arguments)))
