"""The rule of `ragged.scatter_add`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, memref, tensor
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.kinds import combine
from ragged_dialect.ir.match import defining_op, filled_with, view_of
from ragged_dialect.ir.memory import room, tensor_of
from ragged_dialect.lowering.buffers.subviews import subview
from ragged_dialect.lowering.nests.forall_bounds import inside_forall
from ragged_dialect.lowering.scf.context import Lowering
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.grouping import ScatterAddOp

_TERMS = 16
"""Terms of a part of a sum at positions for each of the sums it has: these take 6% of the memory of all terms, and as
much time to be added up. 63,000 rows of 64 at 1,000 positions take two threads 0.6 of the time of one."""


def lower_scatter_add(ctx: Lowering, op: ir.Operation) -> None:
    """ragged.scatter_add: one term after the other. Where there are many for each position, in parts that many threads
    add at once, each to sums of its own: these are added up in order, so that nothing depends on the threads. Those
    whose positions are unique are written in any order. Lists are done by as many threads as there are, or one after
    the other, in such parts, where they are long."""
    view = view_of(op, ScatterAddOp)
    given, at, type_ = ctx.parts(view.terms), ctx.parts(view.positions), view.res.type
    element = type_.element_type if view.unique else wide(type_.element_type)
    terms, lists = given.values, [given.extent(0)] * (at.shape.rank - 1)
    count = build.to_index(view.count) if type_.is_dynamic_dim(len(lists)) else type_.shape[len(lists)]
    add = _Sums(ctx, terms, shapes.as_vector(at.values), element, [count, *shapes.dims(terms)[1:]])
    size, sums = build.value(shapes.dim(terms, 0)), room([*lists, *add.shape], element)

    def one_list(number: ir.Value, added: Callable[[ir.Value, Mixed, Mixed], None]) -> None:
        with ctx.scope():
            added(add.part_of(sums, number), *given.component(1, number))

    def at_once() -> None:
        with inside_forall(lists[0]) as (_, number):
            one_list(number, add.terms_of)

    def in_turn() -> None:
        flow.for_loop(lists[0], [], lambda number, _: one_list(number, add.in_parts))

    if view.unique:
        flow.choose(build.less(size, count), lambda: add.clear(sums), lambda: None, [])
        with inside_forall(size, stays=True) as (_, term):
            add.each(term, lambda x, place: memref.store(x, sums, place))
    elif lists:
        flow.choose(build.more(add.parts(size, build.mul(lists[0], count)), 1), in_turn, at_once, [])
    else:
        add.in_parts(sums, 0, size)
    ctx.bind(op.results[0], ctx.parts(shapes.cast(converted(tensor_of(sums), type_.element_type), type_)))


@dataclass(frozen=True)
class _Sums:
    """Rows of terms that are added at positions to buffers of a shape, whose first extent is how many there are."""

    ctx: Lowering
    terms: ir.Value
    positions: ir.Value
    element: ir.Type
    shape: list[Mixed]

    def clear(self, into: ir.Value) -> None:
        """Have zeros in a buffer."""
        shapes.fill(build.constant(self.element, 0), into)

    def each(self, term: ir.Value, meet: Callable[[ir.Value, list[ir.Value]], None]) -> None:
        """Have all elements of a term met at their places."""
        made = defining_op(self.terms)
        same = None if made is None else filled_with(made)

        def one(at: list[ir.Value], place: list[ir.Value]) -> None:
            if len(at) < len(self.shape):
                flow.for_loop(self.shape[len(at)], [], lambda i, _: one([*at, i], [*place, i]))
            else:
                meet(converted(tensor.extract(self.terms, at) if same is None else same, self.element), place)

        one([term], [shapes.load(self.positions, term)])

    def terms_of(self, into: ir.Value, first: Mixed, number: Mixed) -> None:
        """Add a number of terms, from one on."""
        self.clear(into)

        def meet(x: ir.Value, place: list[ir.Value]) -> None:
            memref.store(combine("sum", memref.load(into, place), x), into, place)

        flow.for_loop(number, [], lambda k, _: self.each(build.value(build.add(first, k)), meet))

    def parts(self, number: Mixed, rows: Mixed) -> ir.Value:
        """How many parts there are of some terms of so many rows of sums: 0 or 1 where they are not worth it."""
        most = arith.divui(arith.divui(build.value(number), build.value(_TERMS)), build.value(build.maximum(rows, 1)))
        elements = build.mul(number, build.product(self.shape[1:]))
        return build.value(build.minimum(most, build.divide(elements, self.ctx.keys)))

    def part_of(self, buffer: ir.Value, number: ir.Value) -> ir.Value:
        """One of several sums."""
        return subview(buffer, [number, *[0] * len(self.shape)], [1, *self.shape], [*range(1, len(self.shape) + 1)])

    def in_parts(self, into: ir.Value, first: Mixed, number: Mixed) -> None:
        """Add a number of terms, from one on, in parts where there are enough."""
        parts = self.parts(number, self.shape[0])

        def parallel() -> None:
            own = room([parts, *self.shape], self.element)
            self.clear(into)
            step = build.ceildiv(number, parts)
            with inside_forall(parts) as (_, part):
                start = build.mul(part, step)
                left = build.maximum(build.minimum(build.sub(number, start), step), 0)
                self.terms_of(self.part_of(own, part), build.add(first, start), left)
            rank = len(self.shape) + 1
            maps = [ir.AffineMap.get(rank, 0, list(map(ir.AffineDimExpr.get, range(k, rank)))) for k in (0, 1)]
            kinds = ["reduction", *["parallel"] * (rank - 1)]
            generic([own], [into], maps, kinds, lambda given: [combine("sum", given[1], given[0])])

        flow.choose(build.more(parts, 1), parallel, lambda: self.terms_of(into, first, number), [])


RULES = {"ragged.scatter_add": lower_scatter_add}
