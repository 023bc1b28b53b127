"""Sums of squares of differences from what is known once all rows were read, as a variance is: a long component is not
read again for them."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import indexing_maps, iterator_kinds, loop_index
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone, copy_attributes
from ragged_dialect.ir.match import defining_op, made_by
from ragged_dialect.ir.walk import captures
from ragged_dialect.lowering.buffers import is_address, is_allocation, is_buffer, is_constant, root
from ragged_dialect.lowering.partial_reductions import allocated, over_parts, part
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
            if sums is None or sums.runs or not all(x in _outs(first) for x in list(between.operands)[:-1]):
                continue
            total = next((n for n in sums.combiners if _adds_up(sums, n, squares, g)), None)
            read = [x for k, x in enumerate(list(op.operands)[:-1]) if k != shift]
            written = [root(x) for o in before[at + 1 :] for x in _outs(o)]
            known = all(x in list(first.operands) for x in read)
            if total is None or not known or not all(is_allocation(x) and x not in map(root, read) for x in written):
                return None
            return Squares(sums, total, between, squares, shift)
        return None

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
    arguments, maps = _arguments(op), indexing_maps(op)
    if m not in arguments or m.type != combiner.element.type:
        return None
    shift = arguments.index(m)
    return (g, shift) if shift < number and maps[shift] == maps[number] else None


def _outs(op: ir.Operation) -> list[ir.Value]:
    """What an op writes to: whatever it may, where it is none that is known."""
    if op.name.startswith("linalg."):
        return list(op.operands)[op.attributes["operandSegmentSizes"][0] :]
    return [] if is_address(op) or op.name == "memref.load" else [x for x in op.operands if is_buffer(x)]


def _makes(op: ir.Operation, m: ir.Value) -> bool:
    """Whether an op makes m of its operands alone, element by element."""
    if op.name != "linalg.generic" or _outs(op) != [m] or "reduction" in iterator_kinds(op):
        return False
    block = op.regions[0].blocks[0]
    return all(map(is_constant, captures(block.operations, block.arguments)))


def _adds_up(sums: Parts, number: int, squares: Parts, g: ir.Value) -> bool:
    """Whether a result is the sum of what is g in the other op, over the same rows and of the same elements."""
    maps, others = indexing_maps(sums.op), indexing_maps(squares.op)
    known = [(x, maps[k], a) for k, (x, a) in enumerate(zip(sums.op.operands, _arguments(sums.op), strict=True))]
    alike = {
        b: a
        for x, map_, a in known
        for k, (y, b) in enumerate(zip(squares.op.operands, _arguments(squares.op), strict=True))
        if x == y and map_ == others[k]
    }

    def same(a: ir.Value, b: ir.Value) -> bool:
        if b in alike or a == b:
            return a == alike.get(b, b)
        one, other = defining_op(a), defining_op(b)
        if one is None or other is None or one.name != other.name or len(one.regions) or not len(one.operands):
            return False
        pairs = zip(one.operands, other.operands, strict=True)
        return copy_attributes(one) == copy_attributes(other) and all(same(*pair) for pair in pairs)

    combiner = sums.combiners[number]
    kinds = iterator_kinds(sums.op) == iterator_kinds(squares.op) and sums.loop == squares.loop
    return kinds and combiner.is_sum and maps[number] == others[-1] and same(combiner.element, g)


def _arguments(op: ir.Operation) -> list[ir.Value]:
    return list(op.regions[0].blocks[0].arguments)
