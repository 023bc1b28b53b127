"""Rewrites on ragged IR right before the lowering: what has no loop nest of its own becomes ops
that have one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from ragged_dialect import extensions
from ragged_dialect._mlir import arith, ir
from ragged_dialect.dialect import Ragged
from ragged_dialect.erasing import is_erased, no_value
from ragged_dialect.errors import kind_of
from ragged_dialect.ir import shapes
from ragged_dialect.ir.match import enclosing
from ragged_dialect.ir.walk import captures, find_ops, is_outside, ops_in, replace
from ragged_dialect.iteration import touches_ragged
from ragged_dialect.lowering.dense.expand_ragged_scans import expand_scans
from ragged_dialect.lowering.scf.decompose import decompose_softmax
from ragged_dialect.lowering.scf.standing import standing_for
from ragged_dialect.lowering.scf.widen import (
    multiplies_bf16,
    multiplies_short,
    needs_widening,
    widen_factors,
    widen_reduction,
)
from ragged_dialect.ops import OPS
from ragged_dialect.ops.making import RecurrenceOp, ScanOp
from ragged_dialect.ops.regions import YieldOp
from ragged_dialect.ops.steps import StepsOp
from ragged_dialect.passes.base import PassFailure, faults_at
from ragged_dialect.passes.ragged_decompose_attention import MEANINGS, settled
from ragged_dialect.passes.ragged_decompose_steps import decompose_steps
from ragged_dialect.types import is_tensor

Expansion = Callable[[ir.Operation], Sequence[ir.Value]]
"""Makes ops that have a lowering, right before the op that they stand for, and gives what takes the place of its
results. Checks have been made by then."""


EXPANDED = frozenset(op.OPERATION_NAME for op in (ScanOp, RecurrenceOp, StepsOp, YieldOp))
"""The ops of the dialect that have no rule: others that have one are made of them, or have them inside."""


def _require_new(made: object, results: Sequence[ir.Value]) -> Sequence[ir.Value]:
    """What a plug-in gives in place of an op's results. TypeError where they are no new values, or not as many."""
    if not isinstance(made, (list, tuple, ir.OpResultList)):
        raise TypeError(f"expected a list of new values from the expansion, got {kind_of(made)}")
    values = cast(Sequence[ir.Value], made)
    for value in values:
        if (other := no_value(value)) is not None:
            raise TypeError(f"expected new values from the expansion, got {other}")
        if value in results:
            raise TypeError("expected new values from the expansion, got a result of the op")
    if len(values) != len(results):
        raise TypeError(f"expected {len(results)} values from the expansion, got {len(values)}")
    return values


def _require_valid(op: ir.Operation) -> None:
    """TypeError for IR of an expansion that does not verify."""
    try:
        op.verify()
    except ir.MLIRError as error:
        said = error.error_diagnostics[0].message if error.error_diagnostics else str(error)
        raise TypeError(f"expected valid IR from the expansion, got: {said}") from None


def expand_foreign(module: ir.Operation) -> None:
    """Replace the ops of plug-ins by what their `EXPANSIONS` make of them. PassFailure for an op without one."""
    foreign = {name for name, kind in OPS.items() if kind._dialect_obj is not Ragged}
    expansions: dict[str, Expansion] = {}
    for table in extensions.tables("lowering", "EXPANSIONS", callable, "functions") if foreign else ():
        expansions.update(cast(Mapping[str, Expansion], table))
    for op in [found for found in ops_in(module) if found.name in foreign]:
        if is_erased(op):  # by the expansion of another one
            continue
        name = op.name
        if name not in expansions:
            raise PassFailure(op, f"expected an expansion of '{name}' by the plug-in that has it, got none")
        with standing_for(op):
            results = list(op.results)
            with faults_at(op, expansions[name]):
                made = expansions[name](op) or ()  # without results a function may return nothing
            with faults_at(op, expansions[name]):
                made = _require_new(made, results)
            for old, new in zip(results, made, strict=True):
                old.replace_all_uses_with(shapes.cast(new, old.type) if is_tensor(old.type) else new)
            with faults_at(op, expansions[name]):
                _require_valid(enclosing(op))
        op.erase()


def prepare(module: ir.Operation, recompute: bool = False, dots: bool = False) -> None:
    """Decompose steps, settle the extents of attention, decompose softmax (`recompute` as for `decompose_softmax`) and
    scans, widen the accumulators of short floats; without `recompute` their factors too, before they are multiplied,
    but for bf16 with `dots`.
    Bodies of linalg ops read elements of ragged tensors: what else they ask for is asked for in front of them."""
    for op in [op for op in ops_in(module) if op.name.startswith("linalg.")]:
        _ask_before(op)
    decompose_steps(module)
    for op in find_ops(module, *MEANINGS):
        settled(op)
    for op in () if recompute else find_ops(module, "linalg.generic"):
        if multiplies_short(op) and not (dots and multiplies_bf16(op)):
            with standing_for(op):
                widen_factors(op)
    found = [op for op in ops_in(module) if op.name == "linalg.softmax" or needs_widening(op)]
    for op in found:
        with standing_for(op):
            if op.name == "linalg.softmax":
                decompose_softmax(op, recompute)
            else:
                widen_reduction(op)
    expand_scans(module)


def _ask_before(op: ir.Operation) -> None:
    """Move what a body asks of ragged tensors, but for their elements, in front of the op. PassFailure for what depends
    on an element."""
    for inner in ops_in(op)[1:]:
        if inner.name == "tensor.extract" or not touches_ragged(inner):
            continue
        if not all(is_outside(v, op) for v in captures([inner])):
            text = f"expected in the body of '{op.name}' no op on a ragged tensor but tensor.extract"
            raise PassFailure(inner, f"{text}, got '{inner.name}'")
        inner.move_before(op)


def round_in_steps(module: ir.Operation) -> None:
    """Let every `arith.truncf` from f64 to bf16 go by way of f32, as NumPy's bfloat16 does."""
    for op in filter(_is_far, find_ops(module, "arith.truncf")):
        with ir.InsertionPoint(op), op.location:
            rounded = arith.truncf(op.results[0].type, arith.truncf(_between(op.operands[0].type), op.operands[0]))
        replace(op, rounded)


def _element(type_: ir.Type) -> ir.Type:
    return type_.element_type if isinstance(type_, ir.RankedTensorType) else type_


def _is_far(op: ir.Operation) -> bool:
    source, target = _element(op.operands[0].type), _element(op.results[0].type)
    return isinstance(source, ir.F64Type) and isinstance(target, ir.BF16Type)


def _between(type_: ir.Type) -> ir.Type:
    f32 = ir.F32Type.get()
    return ir.RankedTensorType.get(type_.shape, f32, type_.encoding) if isinstance(type_, ir.RankedTensorType) else f32
