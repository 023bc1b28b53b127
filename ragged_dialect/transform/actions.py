"""What the ops of `ragged_transform` do with their targets. All raise RaggedError for what they refuse."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from ragged_dialect._mlir import ir
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.erasing import is_kept
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.match import attribute_names
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.iteration import analyze, has_mapping, is_compute, touches_ragged
from ragged_dialect.layout import Layout
from ragged_dialect.lowering.attributes import Mapping, mapping_values
from ragged_dialect.ops import OPS
from ragged_dialect.passes.base import PassFailure
from ragged_dialect.passes.pipeline.running import PassFailed, run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline
from ragged_dialect.types import is_ragged, layout_of, text_of

_ROOTS = ("builtin.module", "func.func")


def apply(op: ir.Operation, targets: Sequence[ir.Operation]) -> Sequence[ir.Operation]:
    """Run a pipeline on targets that are apart from each other and from the script."""
    text = str(_given(op, ("pipeline",)).get("pipeline", ""))
    for target in targets:
        if target.name not in _ROOTS:
            raise RaggedError(f"expected targets among {', '.join(_ROOTS)}, got '{target.name}'")
        if any(inner.name.startswith("transform.") for inner in ops_in(target)):
            raise RaggedError(
                "expected a target without a script in it, got one (scripts in files of their own are apart)"
            )
        if any(other != target and _is_in(target, other) for other in targets):
            raise RaggedError("expected targets that are apart, got one inside of another")
    for target in targets:
        stages = parse_pipeline(text, op.context, target.name)
        try:
            run_pipeline(target, stages, report=lambda diagnostic: report(diagnostic, op))
        except PassFailed as failure:
            for diagnostic in failure.diagnostics:
                report(diagnostic, op)
            raise RaggedError(f"expected '{failure.stage}' to run on its target, got a failure") from None
    return targets


def report(diagnostic: Diagnostic, op: ir.Operation) -> None:
    """Pass a diagnostic on to whoever runs the script; one without a place is about an op."""
    place = op.location
    if diagnostic.line:
        place = ir.Location.file(diagnostic.filename, diagnostic.line, diagnostic.column, op.context)
    if diagnostic.severity == "error":
        place.emit_error(diagnostic.message)


def _is_in(op: ir.Operation, other: ir.Operation) -> bool:
    parent = op.parent
    return parent is not None and (parent.operation == other or _is_in(parent.operation, other))


def check_scope(op: ir.Operation, targets: Sequence[ir.Operation]) -> Sequence[ir.Operation]:
    """Refuse targets that are replaced where they stand: the root of a payload is in no block, or a pass runs on it."""
    if any(target.parent is None or is_kept(target) for target in targets):
        raise RaggedError("expected a scope inside of what the script runs on, got that itself")
    return ()


def match(op: ir.Operation, targets: Sequence[ir.Operation]) -> Sequence[ir.Operation]:
    """The ops in targets that touch a ragged tensor and are as the attributes say."""
    given = _given(op, ("name", "layout", "dim"))
    layout = Layout.parse(str(given["layout"])) if "layout" in given else None
    dim = given.get("dim", 0)
    if isinstance(dim, int) and dim < 0:
        raise RaggedError(f"expected dim of at least 0, got {dim}")
    found = (inner for target in targets for inner in ops_in(target))
    fitting = [inner for inner in found if _fits(inner, given.get("name"), layout, given.get("dim"))]
    return list(dict.fromkeys(fitting))


def _fits(op: ir.Operation, name: str | int | None, layout: Layout | None, dim: str | int | None) -> bool:
    if name not in (None, op.name) or not (op.name in OPS or is_compute(op)) or not touches_ragged(op):
        return False
    layouts = [layout_of(x.type) for x in (*op.operands, *op.results) if is_ragged(x.type)]
    return (layout is None or layout in layouts) and (dim is None or dim in _dims(op, layout))


def _dims(op: ir.Operation, layout: Layout | None) -> Collection[int]:
    """The dims that an op is about: its attribute, or those it reduces of operands with the layout."""
    if op.name in OPS and "dim" in op.attributes:
        return (ir.IntegerAttr(op.attributes["dim"]).value,)
    if not is_compute(op):
        return ()
    loops = analyze(op)
    return {
        dim
        for access in loops.accesses[: loops.inputs]
        if layout is None or access.shape.layout == layout
        for dim, loop in enumerate(access.loops)
        if loop is not None and loops.kinds[loop] == "reduction"
    }


def set(op: ir.Operation, targets: Sequence[ir.Operation]) -> Sequence[ir.Operation]:
    """Write settings to nests."""
    given = _given(op, tuple(mapping_values()))
    values = mapping_values(given.get("schedule"))
    for key, value in given.items():
        if value not in values[key]:
            known = ", ".join(map(str, values[key]))
            raise RaggedError(f"expected '{key}' among {known}, got '{value}'")
    for target in targets:
        if not has_mapping(target):
            raise RaggedError(
                f"expected loop nests, scf.forall or what computes on ragged tensors, got '{target.name}'"
            )
    for target in targets:
        _remap(target, given)
    return targets


def _remap(target: ir.Operation, given: dict[str, str | int]) -> None:
    try:
        replace(Mapping.of(target), **given).give(target)
    except PassFailure as failure:
        raise RaggedError(str(failure)) from None


def _given(op: ir.Operation, known: Sequence[str]) -> dict[str, str | int]:
    """The attributes of a transform op by name. RaggedError for another, or of another type."""
    found: dict[str, str | int] = {}
    for name in attribute_names(op):
        attribute = op.attributes[name]
        text = name in ("pipeline", "name", "layout", "schedule")
        kind = ir.StringAttr if text else ir.IntegerAttr
        if name not in known or not isinstance(attribute, kind) or isinstance(attribute, ir.BoolAttr):
            raise RaggedError(
                f"expected attributes among [{', '.join(known)}], strings or integers, got {name} = {attribute}"
            )
        found[name] = text_of(attribute) if isinstance(attribute, ir.StringAttr) else attribute.value
    return found
