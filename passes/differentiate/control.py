"""Rules of calls, branches and loops: what is around a tangent is computed again beside it.

A loop's tangents are a loop of their own, which reads what the iterations before computed from a history, if it needs
it. Its transpose runs backwards.
"""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, scf, tensor
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import definer, enclosing
from ragged_dialect.ir.walk import captures, find_ops
from ragged_dialect.ops.attention import wide
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.nests import erase_dead
from ragged_dialect.passes.differentiate.tables import View, has_derivative, linearizes, transposes
from ragged_dialect.passes.differentiate.values import converted, element_of, zeros_like
from ragged_dialect.passes.differentiate.views import reassembled
from ragged_dialect.types import is_ragged, is_tensor


def _replayed(block: ir.Block, known: ValueMap) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops of a block again at the insertion point, and what it yields."""
    *body, end = [op.operation for op in block.operations]
    ops = [clone(op, known) for op in body]
    return ops, [known.get(v, v) for v in end.operands]


def _tangents(scope: Tangents, ops: Sequence[ir.Operation], results: Sequence[ir.Value]) -> list[ir.Value]:
    scope.run(ops, results)
    found = [scope.of(r) for r in results]
    return [zeros_like(r) if t is None else t for r, t in zip(results, found, strict=True)]


def _only(op: View, number: int) -> ir.Block:
    return op.operation.regions[number].blocks[0]


def _spread(results: Sequence[ir.Value], made: Sequence[ir.Value]) -> list[ir.Value | None]:
    """Tangents of the results of floats, None for others."""
    given = iter(made)
    return [next(given) if has_derivative(r) else None for r in results]


_Given = ir.Value | Sequence[ir.Value | None]
"""The cotangent of the result, or of several."""


class _Pulled:
    """A block of linear ops, transposed at the insertion point: `arguments` has the cotangents of its arguments that
    are `linear`, `of` those of what it captures."""

    def __init__(
        self,
        ctx: Cotangents,
        block: ir.Block,
        known: ValueMap,
        linear: Sequence[tuple[ir.Value, ir.Value]],
        cotangents: Sequence[ir.Value],
    ) -> None:
        places = [
            ir.Operation.create("builtin.unrealized_conversion_cast", results=[like.type], operands=[like]).result
            for _, like in linear
        ]
        known.update(zip((argument for argument, _ in linear), places, strict=True))
        scope = ctx.inside(places)
        scope.note(zip(places, (like for _, like in linear), strict=True))
        ops, results = _replayed(block, known)
        scope.spread(ops)
        for result, cotangent in zip(results, cotangents, strict=True):
            scope.add(result, cotangent)
        scope.run(ops)
        found = [scope.of(p) for p in places]
        self.arguments = [zeros_like(like) if c is None else c for c, (_, like) in zip(found, linear, strict=True)]
        self._scope = scope
        self._dead = [*reversed(ops), *map(definer, places)]

    def of(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """The cotangent of a captured value."""
        found = self._scope.of(value)
        return zeros_like(like) if found is None else found

    def clean(self) -> None:
        """Erase what stood for tangents, when what is yielded is there."""
        for op in self._dead:
            if not any(True for result in op.results for _ in result.uses):
                op.erase()


def _captured(ctx: Cotangents, op: View) -> list[ir.Value]:
    """Linear values that the regions of an op capture."""
    blocks = [block for region in op.operation.regions for block in region.blocks]
    inside = [inner.operation for block in blocks for inner in block.operations]
    arguments = [a for block in blocks for a in block.arguments]
    return [v for v in captures(inside, arguments) if ctx.is_linear(v)]


# Calls ---------------------------------------------------------------------------------------------


def _callee(call: View) -> str:
    return ir.FlatSymbolRefAttr(call.operation.attributes["callee"]).value


def _body(call: View, table: ir.SymbolTable, name: str) -> ir.Block:
    """The block of a callee. PassFailure without one, and for a function that calls itself: its ops take the place of
    the call, which would have no end."""
    blocks = list(table[name].operation.regions[0].blocks)
    if len(blocks) != 1:
        raise PassFailure(
            call.operation,
            f"ragged-differentiate: expected a call of a function of one block, got @{name} of {len(blocks)}",
        )
    called, left = set[str](), [name]
    while left:
        found = {_callee(inner) for inner in find_ops(table[left.pop()], "func.call")} - called
        called |= found
        left += found
    if name in called:
        raise PassFailure(
            call.operation,
            f"ragged-differentiate: expected a call of a function that does not call itself, got @{name}",
        )
    return blocks[0]


@linearizes("func.call")
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    """Those of the callee's ops, in place of the call."""
    module = op.operation
    while module.name != "builtin.module":
        module = enclosing(module)
    block = _body(op, ir.SymbolTable(module), _callee(op))
    known: ValueMap = dict(zip(block.arguments, op.operation.operands, strict=True))
    ops, results = _replayed(block, known)
    scope = ctx.inside({})
    scope.run(ops, results)
    return [scope.of(r) for r in results]


# Branches ------------------------------------------------------------------------------------------


@linearizes(scf.IfOp)
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    results = list(op.operation.results)
    floats = [k for k, r in enumerate(results) if has_derivative(r)]

    def branch(number: int) -> list[ir.Value]:
        ops, values = _replayed(_only(op, number), {})
        return _tangents(ctx.inside({}), ops, [values[k] for k in floats])

    types = [results[k].type for k in floats]
    made = flow.choose(op.condition, lambda: branch(0), lambda: branch(1), types)
    return _spread(results, made)


@transposes(scf.IfOp)
def _(ctx: Cotangents, op: View, given: _Given) -> None:
    cotangents = _filled(ctx, op, given)
    captured = _captured(ctx, op)
    likes = [ctx.like(v) for v in captured]

    def branch(number: int) -> list[ir.Value]:
        pulled = _Pulled(ctx, _only(op, number), {}, [], cotangents)
        made = [pulled.of(v, like) for v, like in zip(captured, likes, strict=True)]
        pulled.clean()
        return made

    found = flow.choose(op.condition, lambda: branch(0), lambda: branch(1), [v.type for v in likes])
    for value, cotangent in zip(captured, found, strict=True):
        ctx.add(value, cotangent)


def _filled(ctx: Cotangents, op: View, given: _Given) -> list[ir.Value]:
    """Cotangents of all results, zeros where there is none."""
    found = [given] if isinstance(given, ir.Value) else given
    results = op.operation.results
    return [zeros_like(ctx.like(r)) if c is None else c for r, c in zip(results, found, strict=True)]


# Loops ---------------------------------------------------------------------------------------------


class _Loop:
    """An `scf.for`: its iterations, and what it carries."""

    def __init__(self, op: View) -> None:
        self.block = _only(op, 0)
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
    first = [ctx.of(x) for x in starts]

    def body(number: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        before = history.at(number)
        variable, *arguments = loop.block.arguments
        known: ValueMap = {variable: loop.variable(number), **dict(zip(arguments, before, strict=True))}
        ops, values = _replayed(loop.block, known)
        for tangent, start in zip(carried, starts, strict=True):
            ctx.likes[tangent] = start
        scope = ctx.inside(dict(zip((before[k] for k in floats), carried, strict=True)))
        made = _tangents(scope, ops, [values[k] for k in floats])
        return made

    inits = [zeros_like(x) if t is None else t for x, t in zip(starts, first, strict=True)]
    made = flow.for_loop(loop.count, inits, body)
    for tangent, start in zip(made, starts, strict=True):
        ctx.likes[tangent] = start
    erase_dead(definer(made[0]).regions[0].blocks[0])
    return _spread(results, made)


class _History:
    """What a loop carries at the start of every iteration, stored by running it again."""

    def __init__(self, loop: _Loop) -> None:
        self._likes = loop.inits
        stores = [_store(loop.count, x) for x in loop.inits]
        variable, *arguments = loop.block.arguments

        def body(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            carried, kept = state[: len(arguments)], state[len(arguments) :]
            known: ValueMap = {variable: loop.variable(number), **dict(zip(arguments, carried, strict=True))}
            after = [_kept(x, store, number) for x, store in zip(carried, kept, strict=True)]
            return [*_replayed(loop.block, known)[1], *after]

        made = flow.for_loop(loop.count, [*loop.inits, *stores], body)
        self._stores = made[len(arguments) :]

    def at(self, number: ir.Value) -> list[ir.Value]:
        """What is carried into an iteration."""
        return [_read(store, number, like) for store, like in zip(self._stores, self._likes, strict=True)]


def _dense(x: ir.Value) -> ir.Value:
    return builders.values(x) if is_ragged(x.type) else x


def _sizes(x: ir.Value) -> list[build.Mixed]:
    return [shapes.dim(x, d) for d in range(len(x.type.shape))] if is_tensor(x.type) else []


def _store(count: ir.Value, x: ir.Value) -> ir.Value:
    x = _dense(x)
    element = x.type.element_type if is_tensor(x.type) else x.type
    return shapes.empty([count, *_sizes(x)], element)


def _kept(x: ir.Value, store: ir.Value, number: ir.Value) -> ir.Value:
    x = _dense(x)
    if not is_tensor(x.type):
        return tensor.insert(x, store, [number])
    sizes = _sizes(x)
    return shapes.insert_slice(x, store, [number, *(0 for _ in sizes)], [1, *sizes])


def _read(store: ir.Value, number: ir.Value, like: ir.Value) -> ir.Value:
    if not is_tensor(like.type):
        return tensor.extract(store, [number])
    sizes = _sizes(_dense(like))
    kept = [False, *(True for _ in sizes)]
    return reassembled(shapes.extract_slice(store, [number, *(0 for _ in sizes)], [1, *sizes], kept), like)


@transposes(scf.ForOp)
def _(ctx: Cotangents, op: View, given: _Given) -> None:
    """Backwards. What the iterations capture gets a term from each: short floats are added as float32."""
    loop = _Loop(op)
    captured = _captured(ctx, op)
    likes = [ctx.like(v) for v in captured]
    carried = len(loop.inits)
    variable, *arguments = loop.block.arguments
    starts = [ctx.like(x) for x in loop.inits]

    def body(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        back = arith.subi(arith.subi(loop.count, number), build.value(1))
        known: ValueMap = {variable: loop.variable(back)}
        pulled = _Pulled(ctx, loop.block, known, list(zip(arguments, starts, strict=True)), state[:carried])
        sums = [
            arith.addf(total, converted(pulled.of(v, like), total.type))
            for total, v, like in zip(state[carried:], captured, likes, strict=True)
        ]
        pulled.clean()
        return [*pulled.arguments, *sums]

    inits = [*_filled(ctx, op, given), *(converted(zeros_like(like), wide(element_of(like.type))) for like in likes)]
    found = flow.for_loop(loop.count, inits, body)
    for value, cotangent in zip([*loop.inits, *captured], found, strict=True):
        ctx.add(value, converted(cotangent, value.type))
