"""Rules of calls and branches, and what those of loops share with them: what is around a tangent is computed again
beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragged_dialect._mlir import ir, scf
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.clone import ValueMap, clone
from ragged_dialect.ir.match import around, blocks_of, definer
from ragged_dialect.ir.walk import captures, erase_unused, find_ops, values_in
from ragged_dialect.passes.differentiate.flow import Cotangents, Tangents
from ragged_dialect.passes.differentiate.tables import DerivativeFailure, View, has_derivative, linearizes, transposes
from ragged_dialect.passes.differentiate.values import or_zeros, zeros_like


def replayed(block: ir.Block, known: ValueMap) -> tuple[list[ir.Operation], list[ir.Value]]:
    """The ops of a block that have results again at the insertion point (checks and prints ran), but for results that
    are `known`, and what it yields; `known` has all values in it afterwards."""
    *body, end = [op.operation for op in block.operations]
    body = [op for op in body if any(result not in known for result in op.results)]
    ops = [clone(op, known) for op in body]
    known.update(zip(values_in(body), values_in(ops), strict=True))
    return ops, [known.get(v, v) for v in end.operands]


def tangents_inside(scope: Tangents, ops: Sequence[ir.Operation], results: Sequence[ir.Value]) -> list[ir.Value]:
    """The tangents of results of some ops of a region, zeros where there is none."""
    scope.run(ops, results)
    return [or_zeros(scope.of(r), r) for r in results]


def only_block(op: View, number: int) -> ir.Block:
    """The block of a region."""
    return op.operation.regions[number].blocks[0]


def spread(results: Sequence[ir.Value], made: Sequence[ir.Value]) -> list[ir.Value | None]:
    """Tangents of the results of floats, None for others."""
    given = iter(made)
    return [next(given) if has_derivative(r) else None for r in results]


Given = ir.Value | Sequence[ir.Value | None]
"""The cotangent of the result, or of several."""


class Pulled:
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
        places = [build.stand_in(like.type, like) for _, like in linear]
        known.update(zip((argument for argument, _ in linear), places, strict=True))
        scope = ctx.inside(places)
        scope.note(zip(places, (like for _, like in linear), strict=True))
        ops, results = replayed(block, known)
        scope.note(_likes(ctx, known))
        scope.spread(ops)
        for result, cotangent in zip(results, cotangents, strict=True):
            scope.add(result, cotangent)
        scope.run(ops)
        self.arguments = [or_zeros(scope.of(p), like) for p, (_, like) in zip(places, linear, strict=True)]
        self._scope = scope
        self._dead = [*map(definer, places), *ops]

    def of(self, value: ir.Value, like: ir.Value) -> ir.Value:
        """The cotangent of a captured value."""
        return or_zeros(self._scope.of(value), like)

    def clean(self) -> None:
        """Erase what stood for tangents, when what is yielded is there."""
        erase_unused(self._dead)


def _likes(ctx: Cotangents, known: ValueMap) -> Iterator[tuple[ir.Value, ir.Value]]:
    """What has the structure of linear values of a block that was cloned: the clones of what it was in the block."""
    for value, copy in list(known.items()):
        like = ctx.noted(value)
        if like is not None:
            yield copy, known.get(like, like)


def captured_by(ctx: Cotangents, op: View) -> list[ir.Value]:
    """Linear values that the regions of an op capture."""
    blocks = list(blocks_of(op))
    inside = [inner.operation for block in blocks for inner in block.operations]
    arguments = [a for block in blocks for a in block.arguments]
    return [v for v in captures(inside, arguments) if ctx.is_linear(v)]


# Calls ---------------------------------------------------------------------------------------------


def _callee(call: View) -> str:
    return ir.FlatSymbolRefAttr(call.operation.attributes["callee"]).value


def _body(call: View, table: ir.SymbolTable, name: str) -> ir.Block:
    """The block of a callee. DerivativeFailure without one, and for a function that calls itself: its ops take the
    place of the call, which would have no end."""
    blocks = list(table[name].operation.regions[0].blocks)
    if len(blocks) != 1:
        raise DerivativeFailure(call, f"expected a call of a function of one block, got @{name} of {len(blocks)}")
    called, left = set[str](), [name]
    while left:
        found = {_callee(inner) for inner in find_ops(table[left.pop()], "func.call")} - called
        called |= found
        left += found
    if name in called:
        raise DerivativeFailure(call, f"expected a call of a function that does not call itself, got @{name}")
    return blocks[0]


@linearizes("func.call")
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    """Those of the callee's ops, in place of the call."""
    block = _body(op, ir.SymbolTable(around(op, "builtin.module")), _callee(op))
    known: ValueMap = dict(zip(block.arguments, op.operation.operands, strict=True))
    ops, results = replayed(block, known)
    scope = ctx.inside({})
    scope.run(ops, results)
    return [scope.of(r) for r in results]


# Branches ------------------------------------------------------------------------------------------


@linearizes(scf.IfOp)
def _(ctx: Tangents, op: View) -> list[ir.Value | None]:
    results = list(op.operation.results)
    floats = [k for k, r in enumerate(results) if has_derivative(r)]

    def branch(number: int) -> list[ir.Value]:
        ops, values = replayed(only_block(op, number), {})
        return tangents_inside(ctx.inside({}), ops, [values[k] for k in floats])

    types = [results[k].type for k in floats]
    made = flow.choose(op.condition, lambda: branch(0), lambda: branch(1), types)
    return spread(results, made)


@transposes(scf.IfOp)
def _(ctx: Cotangents, op: View, given: Given) -> None:
    cotangents = filled(ctx, op, given)
    captured = captured_by(ctx, op)
    likes = [ctx.like(v) for v in captured]

    def branch(number: int) -> list[ir.Value]:
        pulled = Pulled(ctx, only_block(op, number), {}, [], cotangents)
        made = [pulled.of(v, like) for v, like in zip(captured, likes, strict=True)]
        pulled.clean()
        return made

    found = flow.choose(op.condition, lambda: branch(0), lambda: branch(1), [v.type for v in likes])
    for value, cotangent in zip(captured, found, strict=True):
        ctx.add(value, cotangent)


def filled(ctx: Cotangents, op: View, given: Given) -> list[ir.Value]:
    """Cotangents of all results, zeros where there is none."""
    found = [given] if isinstance(given, ir.Value) else given
    return [zeros_like(ctx.like(r)) if c is None else c for r, c in zip(op.operation.results, found, strict=True)]
