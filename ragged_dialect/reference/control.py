"""Calls and structured control flow."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.reference.program import Env, Program, Run, Values, handler


@handler("func.call")
def _call(program: Program, op: ir.Operation) -> Run:
    name = op.attributes["callee"].value
    return lambda env, operands: program.call(name, operands)


@handler("scf.if")
def _if(program: Program, op: ir.Operation) -> Run:
    branches = [program.decode_block(r.blocks[0]) if len(r.blocks) else None for r in op.regions]

    def run(env: Env, operands: Values) -> Values:
        branch = branches[0] if operands[0] else branches[1]
        return program.run(branch, env, []) if branch is not None else []

    return run


@handler("scf.for")
def _for(program: Program, op: ir.Operation) -> Run:
    block = program.decode_block(op.regions[0].blocks[0])

    def run(env: Env, operands: Values) -> Values:
        low, high, step = operands[:3]
        carried = operands[3:]
        for i in range(int(low), int(high), int(step)):
            carried = program.run(block, env, [np.asarray(low).dtype.type(i), *carried])
        return carried

    return run


@handler("scf.while")
def _while(program: Program, op: ir.Operation) -> Run:
    before, after = (program.decode_block(r.blocks[0]) for r in op.regions)

    def run(env: Env, operands: Values) -> Values:
        while True:
            goes_on, *operands = program.run(before, env, operands)
            if not goes_on:
                return operands
            operands = program.run(after, env, operands)

    return run


@handler("scf.execute_region")
def _execute_region(program: Program, op: ir.Operation) -> Run:
    block = program.decode_block(op.regions[0].blocks[0])
    return lambda env, operands: program.run(block, env, [])
