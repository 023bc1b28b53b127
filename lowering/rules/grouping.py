"""The rule of `ragged.group_by`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, math, memref, tensor
from ragged_dialect.generic import generated
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.memory import room, tensor_of
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.lowering.scf.parts import Parts
from ragged_dialect.lowering.search import ended
from ragged_dialect.ops.grouping import GroupByOp
from ragged_dialect.types import shape_of

Key = Callable[[ir.Value], ir.Value]
"""The key of an element, by its number."""


def lower_group_by(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.group_by: a counting sort, or where there are more counts than one should have, one by the low digits of
    the keys and then, of what that made, one by the high digits (radix sort). Numbers are put where their keys are, so
    that nobody has to look them up there."""
    view = view_of(op, GroupByOp)
    keys, count = shapes.as_vector(view.keys), build.to_index(view.count)
    size = build.value(shapes.dim(keys, 0))
    order = room([size], build.i64())
    offsets = room([build.capped(build.value(build.add(count, 1)))], build.i64())  # too much for any memory, not less

    def key(i: ir.Value) -> ir.Value:
        return shapes.load(keys, i)

    numbers = [shapes.as_vector(vector) for vector in view.numbers]

    def number(i: ir.Value) -> ir.Value:
        return tensor.extract(numbers[0], [i]) if numbers else build.to_i64(i)

    def at_once() -> None:
        sort = _CountingSort.of(ctx, size, count, key)
        sort.place(lambda i, place: memref.store(number(i), order, [place]))
        generated(offsets, lambda at: tensor.extract(sort.starts, [build.mul(at[0], sort.parts)]))

    def by_digits() -> None:
        bits = arith.subi(build.constant(build.i64(), 64), math.ctlz(build.to_i64(count)))
        half = arith.divui(build.to_index(bits), build.value(2))
        radix = arith.shli(build.value(1), half)
        first = room([size], build.i64())
        places = room([size], build.i64()) if numbers else order

        def low(i: ir.Value) -> ir.Value:
            return arith.andi(key(i), build.sub(radix, 1))

        def high(i: ir.Value) -> ir.Value:
            # As a number: there may be more keys than indices of 32 bits count, and no buffer here is as long.
            whole = build.to_i64(key(build.to_index(memref.load(first, [i]))))
            return build.to_index(arith.shrui(whole, build.to_i64(half)))

        def sorted_(i: ir.Value) -> ir.Value:
            return key(build.to_index(memref.load(places, [i])))

        _CountingSort.of(ctx, size, radix, low).place(lambda i, place: memref.store(build.to_i64(i), first, [place]))
        highs: ir.Value = arith.addi(arith.shrui(count, half), build.value(1))
        _CountingSort.of(ctx, size, highs, high).place(
            lambda i, place: memref.store(memref.load(first, [i]), places, [place])
        )
        generated(offsets, lambda at: build.to_i64(ended(sorted_, at, build.value(0), size)[0]))
        if numbers:
            generated(order, lambda at: number(build.to_index(memref.load(places, at))))

    if ctx.counts:
        flow.choose(build.at_most(count, ctx.counts), at_once, by_digits, [])
    else:
        at_once()
    made = {("offsets", 1): tensor_of(offsets)}
    ctx.bind(op.results[0], Parts(ctx, shape_of(op.results[0].type), tensor_of(order), made, {}))


@dataclass(frozen=True)
class _CountingSort:
    """Elements by keys in [0, count), in parts that many threads do at once. Each counts its keys; running sums over
    keys, and in a key over parts, say where it starts to put its elements of a key. Where an element comes to does not
    depend on how many parts there are."""

    size: ir.Value
    count: ir.Value
    key: Key
    parts: ir.Value
    starts: ir.Value
    """Where those of key k of part p start, at k * parts + p."""

    @staticmethod
    def of(ctx: Lowering, size: ir.Value, count: ir.Value, key: Key) -> _CountingSort:
        """Count the keys."""
        # Divided twice, as a product of the count might be too large for an index.
        few = build.divide(arith.divui(size, build.value(ctx.keys_of_a_count)), build.maximum(count, 1))
        many: ir.Value = arith.divui(size, build.value(ctx.keys))
        parts = build.value(build.maximum(build.minimum(many, few), 1))
        counts = room([parts, count], build.i64())
        shapes.fill(build.constant(build.i64(), 0), counts)
        _meet(size, parts, key, counts, lambda _, __: None)
        counted = tensor_of(counts)

        def number(i: ir.Value) -> ir.Value:
            k = arith.divui(i, parts)
            return tensor.extract(counted, [build.sub(i, build.mul(k, parts)), k])

        return _CountingSort(size, count, key, parts, vectors.running(build.mul(count, parts), number))

    def place(self, put: Callable[[ir.Value, ir.Value], None]) -> None:
        """Put every element, by its number, to its place."""
        left = room([self.parts, self.count], build.i64())

        def start(at: list[ir.Value]) -> ir.Value:
            part, key = at
            return tensor.extract(self.starts, [build.add(build.mul(key, self.parts), part)])

        generated(left, start)
        _meet(self.size, self.parts, self.key, left, put)


def _meet(
    size: ir.Value, parts: ir.Value, key: Key, numbers: ir.Value, met: Callable[[ir.Value, ir.Value], None]
) -> None:
    """All parts go along their keys: each has `met` the element and its number of that key, and counts it up."""
    step = arith.divui(build.add(size, build.sub(parts, 1)), parts)
    with inside_forall(parts, stays=True) as (_, part):
        first = build.mul(part, step)
        own = build.maximum(build.sub(build.minimum(build.add(first, step), size), first), 0)

        def body(i: ir.Value, _: list[ir.Value]) -> None:
            element = build.add(first, i)
            place = [part, key(element)]
            number = memref.load(numbers, place)
            met(element, build.to_index(number))
            memref.store(arith.addi(number, build.constant(build.i64(), 1)), numbers, place)

        flow.for_loop(own, [], body)


RULES = {"ragged.group_by": lower_group_by}
