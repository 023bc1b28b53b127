"""Exponentials of differences from a maximum, as a softmax has: a long component is not read again for them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import count_from, generic, indexing_maps, input_count, iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.clone import clone, inlined
from ragged_dialect.ir.match import defining_op, made_by
from ragged_dialect.lowering.buffers.subviews import is_allocation, is_buffer, plain_dim, root, touches
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.nests.partial_reductions import allocated, over_parts, part
from ragged_dialect.lowering.skew.again import arguments_of, can_follow, is_of_same, written_by
from ragged_dialect.lowering.skew.parts import Parts, cut_rows, dims_of, is_cut, yielded


@dataclass(frozen=True)
class Exponentials:
    """`weights` stores exp(g - m) for every row, operand `stored`, and adds these up, as operand `total`; `top` has
    made m, the maximum of g and operand `shift` of `weights`, before; `readers` read what is stored, row by row.

    Every part of the rows has a maximum p of its own, from which its exponentials are while it is in the cache
    (Milakov, Gimelshein: Online normalizer calculation for softmax, 2018):

        exp(g - m) = exp(g - p) * exp(p - m)

    What is stored is multiplied by the second factor, one for all rows of a part, where it is read.
    """

    top: Parts
    weights: Parts
    exponential: ir.Operation
    shift: int
    stored: int
    total: int
    readers: tuple[ir.Operation, ...]

    @staticmethod
    def of(op: ir.Operation, length: ir.Value) -> Exponentials | None:
        """What an op is of, None where it stores no such exponentials of so many rows."""
        weights = Parts.of(op, length)
        found = None if weights is None else _weights(weights)
        if weights is None or found is None:
            return None
        exponential, g, shift, stored, total = found
        readers = _readers(op, stored, length)
        before = [o.operation for o in op.block.operations]
        before = before[: before.index(op)]
        m = op.operands[shift]
        at = next((k for k in reversed(range(len(before))) if m in written_by(before[k])), None)
        top = None if at is None or readers is None else Parts.of(before[at], length)
        if at is None or readers is None or top is None or top.runs or written_by(top.op) != [m]:
            return None
        ((number, combiner),) = top.combiners.items()
        between = before[at + 1 :]
        unread = not any(touches(o, root(m)) for o in between)
        highest = combiner.neutral == -math.inf and is_of_same(top, number, weights, shift, g)
        if not highest or not unread or not can_follow(top.op, op, between, shift):
            return None
        return Exponentials(top, weights, exponential, shift, stored, total, readers)

    @property
    def ops(self) -> tuple[ir.Operation, ...]:
        """What is replaced."""
        return self.top.op, self.weights.op, *self.readers

    def share(self, length: ir.Value, elements: int) -> None:
        """Replace both reductions by one over parts of the rows, and by what combines what is left of these."""
        top, weights = self.top, self.weights
        op = weights.op
        m = op.operands[self.shift]
        with ir.InsertionPoint(op), op.location:
            rows = weights.rows_of(elements)
            tiles = build.ceildiv(length, rows)
            tops, totals, own = top.rooms(tiles), weights.rooms(tiles), allocated(tiles, m)
            (highest,) = tops.values()

            def then(tile: ir.Value, low: Mixed, size: Mixed) -> None:
                mine = part(own, tile)
                _each([part(highest, tile)], mine, lambda a: _finite(a[0]))
                operands = weights.cut(low, size)
                operands[self.shift] = mine
                weights.one(tile, low, operands, totals)

            top.each(tiles, rows, length, tops, then=then)
            top.combine(tops)

            def factor(a: list[ir.Value]) -> ir.Value:
                highest = build.constant(m.type.element_type, math.inf)
                zero = build.constant(m.type.element_type, 0.0)
                same = arith.andi(*(arith.cmpf(arith.CmpFPredicate.OEQ, x, highest) for x in a[:2]))
                difference = arith.select(same, zero, arith.subf(a[0], a[1]))
                return clone(self.exponential, {self.exponential.operands[0]: difference}).results[0]

            _each([highest, m], own, factor)
            over_parts(
                [totals[self.total], own], [], op.operands[self.total],
                lambda a: arith.addf(a[2], arith.mulf(a[0], a[1])),
            )  # fmt: skip
        for reader in self.readers:
            self._read(reader, own, rows, tiles, length)
        top.op.erase()
        op.erase()

    def _read(self, reader: ir.Operation, factors: ir.Value, rows: int, tiles: Mixed, length: ir.Value) -> None:
        """A reader, part by part, of what is stored times the part's factor."""
        maps, number = indexing_maps(reader), list(reader.operands).index(self.weights.op.operands[self.stored])
        stored, kept = (indexing_maps(self.weights.op)[k] for k in (self.stored, self.shift))
        along = [list(stored.results).index(loop) for loop in kept.results]
        places = ir.AffineMap.get(maps[number].n_dims, 0, [maps[number].results[k] for k in along])
        ins = input_count(reader)
        with ir.InsertionPoint(reader), reader.location, inside_forall(tiles) as (_, tile):
            low = build.mul(tile, rows)
            size = build.minimum(rows, build.sub(length, low))
            operands = cut_rows(reader, 0, low, size)

            def body(a: list[ir.Value]) -> list[ir.Value]:
                scaled = {arguments_of(reader)[number]: arith.mulf(a[number], a[ins])}
                return inlined(reader.regions[0].blocks[0], [*a[:ins], *a[ins + 1 :]], scaled)

            read = [*operands[:ins], part(factors, tile)]
            made = generic(read, operands[ins:], [*maps[:ins], places, *maps[ins:]], iterator_kinds(reader), body)
            count_from(made, build.value(low))
        reader.erase()


def _weights(weights: Parts) -> tuple[ir.Operation, ir.Value, int, int, int] | None:
    """The exponential, g, and which operands m, the exponentials and their sum are, where an op does nothing but make
    these."""
    op, maps = weights.op, indexing_maps(weights.op)
    ins = input_count(op)
    outs = range(ins, len(maps))
    if len(outs) != 2 or len(weights.combiners) != 1 or weights.runs:
        return None
    ((total, combiner),) = weights.combiners.items()
    (stored,) = (k for k in outs if k != total)
    exponential = defining_op(combiner.element)
    if exponential is None or exponential.name not in ("math.exp", "math.exp2") or not combiner.is_sum:
        return None
    difference = made_by(exponential.operands[0], "arith.subf")
    if difference is None or yielded(op, stored) != exponential.results[0]:
        return None
    g, m = difference.operands
    arguments = arguments_of(op)
    if m not in arguments[:ins] or iterator_kinds(op).count("reduction") > 1:
        return None
    shift = arguments.index(m)
    plain = maps[stored].is_projected_permutation and all(e in list(maps[stored].results) for e in maps[shift].results)
    return (exponential, g, shift, stored, total) if maps[shift] == maps[total] and plain else None


def _readers(op: ir.Operation, stored: int, length: ir.Value) -> tuple[ir.Operation, ...] | None:
    """The ops that read what an op stores, up to one that leaves its own result in its place; None where something
    else does than later maps of rows, or where what is stored is a result."""
    x, found = op.operands[stored], list[ir.Operation]()
    ops = [o.operation for o in op.block.operations]
    for reader in ops[ops.index(op) + 1 :]:
        if not touches(reader, root(x)):
            continue
        if reader.name != "linalg.generic" or not is_cut(reader, length):
            return None
        maps, operands = indexing_maps(reader), list(reader.operands)
        places = [k for k, y in enumerate(operands) if is_buffer(y) and root(y) == root(x)]
        rows = {plain_dim(maps[k], 0) for k in places}
        same = all(operands[k] == x and maps[k] == maps[places[0]] for k in places)
        if not same or None in rows or not rows <= set(dims_of(x, length)) or None in (plain_dim(m, 0) for m in maps):
            return None
        in_place = x in written_by(reader)
        if len(places) != 1 + in_place:
            return None
        found.append(reader)
        if in_place:
            return tuple(found)
    made = defining_op(x)
    return tuple(found) if is_allocation(x) and made is not None and made.block == op.block else None


def _finite(x: ir.Value) -> ir.Value:
    """A maximum from which differences are numbers: 0 where there is nothing above -inf."""
    lowest = build.constant(x.type, -math.inf)
    return arith.select(arith.cmpf(arith.CmpFPredicate.OEQ, x, lowest), build.constant(x.type, 0.0), x)


def _each(ins: list[ir.Value], out: ir.Value, body: Callable[[list[ir.Value]], ir.Value]) -> None:
    """All elements of a buffer of those of others, which have its last dims."""
    rank = out.type.rank
    maps = [
        ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in range(rank - x.type.rank, rank)])
        for x in (*ins, out)
    ]
    generic(ins, [out], maps, ["parallel"] * rank, lambda a: [body(a)])
