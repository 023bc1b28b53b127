"""Control flow with carried values, as functions of Python lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ragged_dialect._mlir import ir, scf

State = list[Any]


def repeat(state: State, condition: Callable[[State], Any], body: Callable[[State], State]) -> State:
    """`scf.while`: the state after the body has run as long as the condition holds."""
    types = [x.type for x in state]
    loop = scf.WhileOp(types, state)
    before = loop.operation.regions[0].blocks.append(*types)
    after = loop.operation.regions[1].blocks.append(*types)
    with ir.InsertionPoint(before):
        scf.ConditionOp(condition(list(before.arguments)), list(before.arguments))
    with ir.InsertionPoint(after):
        scf.yield_(body(list(after.arguments)))
    return list(loop.results)


def choose(condition: Any, body: Callable[[], State], otherwise: Callable[[], State], types: list[Any]) -> State:
    """`scf.if`: the values of one of two bodies."""
    choice = scf.IfOp(condition, types, has_else=True)
    with ir.InsertionPoint(choice.then_block):
        scf.yield_(body())
    with ir.InsertionPoint(choice.else_block):
        scf.yield_(otherwise())
    return list(choice.results)
