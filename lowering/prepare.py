"""Rewrites on ragged IR right before the lowering: what has no loop nest of its own becomes ops
that have one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect import extensions
from ragged_dialect._mlir import ir
from ragged_dialect.dialect import Ragged
from ragged_dialect.ir import shapes
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.lowering.decompose import decompose_softmax
from ragged_dialect.lowering.widen import needs_widening, widen_reduction
from ragged_dialect.ops import OPS
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.types import is_tensor

Expansion = Callable[[ir.Operation], Sequence[ir.Value]]
"""Makes ops that have a lowering, right before the op that they stand for, and gives what takes the place of its
results. Checks have been made by then."""


def expand_foreign(module: ir.Operation) -> None:
    """Replace the ops of plug-ins by what their `EXPANSIONS` make of them. PassFailure for an op without one."""
    foreign = {name for name, kind in OPS.items() if kind._dialect_obj is not Ragged}
    expansions: dict[str, Expansion] = {}
    for part in extensions.modules("lowering") if foreign else ():
        expansions.update(part.EXPANSIONS)
    for op in [found for found in ops_in(module) if found.name in foreign]:
        if op.name not in expansions:
            raise PassFailure(op, f"expected an expansion of '{op.name}' by the plug-in that has it, got none")
        with ir.InsertionPoint(op), op.location:
            results, made = list(op.results), list[object](expansions[op.name](op) or ())
            if len(made) != len(results):
                text = f"expected {len(results)} values from the expansion of '{op.name}', got {len(made)}"
                raise PassFailure(op, text)
            for old, new in zip(results, made, strict=True):
                if not isinstance(new, ir.Value) or new in results:
                    raise PassFailure(op, f"expected new values from the expansion of '{op.name}', got another")
                old.replace_all_uses_with(shapes.cast(new, old.type) if is_tensor(old.type) else new)
        op.erase()


def prepare(module: ir.Operation, recompute: bool = False) -> None:
    """Decompose softmax (`recompute` as for `decompose_softmax`), widen the accumulators of short floats."""
    found = [op for op in ops_in(module) if op.name == "linalg.softmax" or needs_widening(op)]
    for op in found:
        with ir.InsertionPoint(op), op.location:
            if op.name == "linalg.softmax":
                decompose_softmax(op, recompute)
            else:
                widen_reduction(op)
