"""Rules of loops: tangents are computed by a loop of their own, which reads what the iterations before computed from a
history, if it needs it. Its transpose runs backwards."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import arith, ir, scf, tensor
from ragged_dialect.checks import CHECKED
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.clone import ValueMap
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.match import definer, element_of
from ragged_dialect.ops.attention import wide
from ragged_dialect.passes.differentiate.control import (
    Given,
    Pulled,
    captured_by,
    filled,
    only_block,
    replayed,
    spread,
    tangents_inside,
)  # fmt: skip
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import View, has_derivative, linearizes, transposes
from ragged_dialect.passes.differentiate.values import assert_like, or_zeros, zeros_like
from ragged_dialect.passes.differentiate.views import reassembled, storage_of
from ragged_dialect.types import is_tensor


class _Loop:
    """An `scf.for`: its iterations, and what it carries."""

    def __init__(self, op: View) -> None:
        self.block = only_block(op, 0)
        low, high, self._step, *self.inits = op.operation.operands
        self._low = low
        span = arith.maxsi(arith.subi(high, low), arith.constant(low.type, 0))
        one = arith.constant(low.type, 1)
        self.count = build.to_index(arith.divui(arith.addi(span, arith.subi(self._step, one)), self._step))

    def variable(self, number: ir.Value) -> ir.Value:
        """The induction variable of an iteration, counted from 0."""
        own = number if self._low.type == number.type else arith.index_cast(self._low.type, number)
        return arith.addi(self._low, arith.muli(own, self._step))


@linearizes(scf.ForOp)
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    loop = _Loop(op)
    results = list(op.operation.results)
    floats = [k for k, r in enumerate(results) if has_derivative(r)]
    history = _History(loop)
    starts = [loop.inits[k] for k in floats]

    def body(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        before = history.at(number)
        variable, *arguments = loop.block.arguments
        known: ValueMap = {variable: loop.variable(number), **dict(zip(arguments, before, strict=True))}
        ops, values = replayed(loop.block, known)
        for tangent, start in zip(carried, starts, strict=True):
            ctx.likes[tangent] = start
        scope = ctx.inside(dict(zip((before[k] for k in floats), carried, strict=True)))
        return tangents_inside(scope, ops, [values[k] for k in floats])

    made = flow.for_loop(loop.count, [or_zeros(ctx.of(x), x) for x in starts], body)
    for tangent, start in zip(made, starts, strict=True):
        ctx.likes[tangent] = start
    return spread(results, made)


class _History:
    """What a loop carries at the start of every iteration, stored by running it again."""

    def __init__(self, loop: _Loop) -> None:
        self._likes = loop.inits
        stores = [_store(loop.count, x) for x in loop.inits]
        variable, *arguments = loop.block.arguments

        def body(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            carried, kept = state[: len(arguments)], state[len(arguments) :]
            known: ValueMap = {variable: loop.variable(number), **dict(zip(arguments, carried, strict=True))}
            _assert_like(loop.inits, carried)
            after = [_kept(x, store, number) for x, store in zip(carried, kept, strict=True)]
            return [*replayed(loop.block, known)[1], *after]

        made = flow.for_loop(loop.count, [*loop.inits, *stores], body)
        self._stores = made[len(arguments) :]

    def at(self, number: ir.Value) -> list[ir.Value]:
        """What is carried into an iteration."""
        return [_read(store, number, like) for store, like in zip(self._stores, self._likes, strict=True)]


def _assert_like(inits: Sequence[ir.Value], carried: Sequence[ir.Value]) -> None:
    """Ask for the structure that a loop starts from: what it carries is stored, and its cotangents are made, of it."""
    for init, value in zip(inits, carried, strict=True):
        assert_like(init, value, "ragged-differentiate: what scf.for carries")


def _sizes(x: ir.Value) -> list[build.Mixed]:
    return shapes.dims(x) if is_tensor(x.type) else []


def _inside(made: ir.Value) -> ir.Value:
    """What needs no check, in a body either: a place of the iterations that there are."""
    definer(made).attributes[CHECKED] = ir.UnitAttr.get()
    return made


def _store(count: ir.Value, x: ir.Value) -> ir.Value:
    x = storage_of(x)
    element = x.type.element_type if is_tensor(x.type) else x.type
    return _inside(shapes.empty([count, *_sizes(x)], element))


def _kept(x: ir.Value, store: ir.Value, number: ir.Value) -> ir.Value:
    x = storage_of(x)
    if not is_tensor(x.type):
        return _inside(tensor.insert(x, store, [number]))
    sizes = _sizes(x)
    return shapes.insert_slice(x, store, [number, *(0 for _ in sizes)], [1, *sizes])


def _read(store: ir.Value, number: ir.Value, like: ir.Value) -> ir.Value:
    if not is_tensor(like.type):
        return _inside(tensor.extract(store, [number]))
    sizes = _sizes(storage_of(like))
    kept = [False, *(True for _ in sizes)]
    return reassembled(shapes.extract_slice(store, [number, *(0 for _ in sizes)], [1, *sizes], kept), like)


@transposes(scf.ForOp)
def _(ctx: Cotangents, op: View, given: Given) -> None:
    """Backwards. What the iterations capture gets a term from each: short floats are added as float32."""
    loop = _Loop(op)
    captured = captured_by(ctx, op)
    likes = [ctx.like(v) for v in captured]
    carried = len(loop.inits)
    variable, *arguments = loop.block.arguments
    starts = [ctx.like(x) for x in loop.inits]

    def body(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        back = arith.subi(arith.subi(loop.count, number), build.value(1))
        known: ValueMap = {variable: loop.variable(back)}
        pulled = Pulled(ctx, loop.block, known, list(zip(arguments, starts, strict=True)), state[:carried])
        sums = [
            arith.addf(total, converted(pulled.of(v, like), total.type))
            for total, v, like in zip(state[carried:], captured, likes, strict=True)
        ]
        pulled.clean()
        return [*pulled.arguments, *sums]

    upstream = filled(ctx, op, given)
    _assert_like(starts, upstream)
    inits = [*upstream, *(converted(zeros_like(like), wide(element_of(like.type))) for like in likes)]
    found = flow.for_loop(loop.count, inits, body)
    for value, cotangent in zip([*loop.inits, *captured], found, strict=True):
        ctx.add(value, converted(cotangent, value.type))
