"""The code of the host that passes work on: functions, and blocks that are in no forall."""

from __future__ import annotations

from ragged_dialect._mlir import Op, ir
from ragged_dialect.ir.functions import defined_functions
from ragged_dialect.ir.match import blocks_of
from ragged_dialect.ir.walk import outermost
from ragged_dialect.lowering.buffers.subviews import require_buffers
from ragged_dialect.passes.base import PassFailure


def host_functions(module: ir.Operation) -> list[ir.Operation]:
    """The functions of a bufferized module that have a body. PassFailure at the first loop or linalg op on tensors."""
    require_buffers(module)
    return list(defined_functions(module).values())


def host_foralls(module: ir.Operation) -> list[ir.Operation]:
    """The foralls of all functions of a bufferized module that are in no other one. PassFailure as `host_functions`."""
    return [forall for function in host_functions(module) for forall in outermost(function, "scf.forall")]


def blocks_to_tile(module: ir.Operation, tile: int) -> list[ir.Block]:
    """The blocks that the host runs in all functions of a bufferized module, for ops in tiles of so many elements.
    PassFailure for none."""
    if tile < 1:
        raise PassFailure(module, f"expected a tile of at least 1 element, got {tile}")
    return [block for function in host_functions(module) for block in host_blocks(function)]


def host_blocks(op: Op) -> list[ir.Block]:
    """The blocks of an op that the host runs, outer ones first."""
    found: list[ir.Block] = []
    for block in blocks_of(op):
        inside = [o.operation for o in block.operations]
        control = [o for o in inside if o.name.startswith("scf.") and o.name != "scf.forall"]
        found += [block, *(inner for o in control for inner in host_blocks(o))]
    return found
