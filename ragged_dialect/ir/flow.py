"""Loops and branches of `scf`, with bodies as Python functions."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from ragged_dialect._mlir import ir, scf
from ragged_dialect.ir.build import Mixed, value

Body: TypeAlias = "Callable[[ir.Value, list[ir.Value]], Sequence[ir.Value] | None]"
"""What a loop does, given its index and the values that it carries: the next ones, None for none."""

FOLD = "ragged.fold"
"""Attribute of an `scf.for` that may run on many threads. Its `kind` is `search` (the one carried index becomes the
first i that the body picks, -1 for none), `addi`, `add_unsigned` or `maxsi` (the carried index is folded so), or
`scan` (the carried sum is stored at every step). With `few`, many threads have few iterations each, not worth having
several of in flight."""


def for_loop(
    count: Mixed,
    inits: Sequence[ir.Value],
    body: Body,
    fold: str | None = None,
    few: bool = False,
) -> list[ir.Value]:
    """`scf.for` from 0 to count; the values that it carries in the end. `fold` says what the loop computes, and `few`
    how often, see FOLD."""
    return strided(0, 1, count, inits, body, fold, few)


def mark_fold(loop: ir.Operation, kind: str, few: bool) -> None:
    """Mark an `scf.for` with FOLD."""
    mark: dict[str, ir.Attribute] = {"kind": ir.StringAttr.get(kind)}
    loop.attributes[FOLD] = ir.DictAttr.get({**mark, "few": ir.UnitAttr.get()} if few else mark)


def strided(
    low: Mixed,
    step: Mixed,
    high: Mixed,
    inits: Sequence[ir.Value],
    body: Body,
    fold: str | None = None,
    few: bool = False,
) -> list[ir.Value]:
    """`scf.for` over low, low + step, …, as `for_loop`."""
    loop = scf.ForOp(value(low), value(high), value(step), list(inits))
    with ir.InsertionPoint(loop.body):
        scf.yield_(list(body(loop.induction_variable, list(loop.inner_iter_args)) or []))
    if fold is not None:
        mark_fold(loop.operation, fold, few)
    return list(loop.operation.results)


def repeat(
    state: Sequence[ir.Value],
    condition: Callable[[list[ir.Value]], ir.Value],
    body: Callable[[list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """`scf.while`: the state after the body has run as long as the condition holds."""
    types = [x.type for x in state]
    loop = scf.WhileOp(types, list(state))
    before = loop.operation.regions[0].blocks.append(*types)
    after = loop.operation.regions[1].blocks.append(*types)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(list(before.arguments)), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.yield_(list(body(list(after.arguments))))
    return list(loop.results)


def choose(
    condition: ir.Value,
    then: Callable[[], Sequence[ir.Value] | None],
    otherwise: Callable[[], Sequence[ir.Value] | None],
    types: Sequence[ir.Type],
) -> list[ir.Value]:
    """`scf.if`: the values of one of two bodies, None for no values."""
    choice = scf.IfOp(condition, list(types), has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.yield_(list(then() or []))
    with ir.InsertionPoint(choice.else_block):
        scf.yield_(list(otherwise() or []))
    return list(choice.results)


def branch(condition: ir.Value) -> ir.Operation:
    """An `scf.if` of nothing yet, which has no results: its end, before which goes what it is for."""
    with ir.InsertionPoint(scf.IfOp(condition).then_block):
        return scf.YieldOp([]).operation


@contextmanager
def when(condition: ir.Value) -> Generator[None]:
    """What is made inside in an `scf.if`, which has no results."""
    with ir.InsertionPoint(branch(condition)):
        yield
