"""The op classes of the dialect, by family, and those of plug-ins."""

import re
from typing import cast

from ragged_dialect import extensions, plugins
from ragged_dialect._mlir import attach_effects, has_dialect, ir
from ragged_dialect.dialect import Ragged
from ragged_dialect.errors import PassError
from ragged_dialect.ops import access, attention, checks, exchange, grouping, making, regions, steps, structure
from ragged_dialect.ops.base import MixedOp, Pure, RaggedOp, missing_operands, unknown_attributes
from ragged_dialect.segments import MIXED_OPS

FAMILIES = (access, attention, checks, exchange, grouping, making, regions, steps, structure)
"""The files whose classes are the ops of the dialect."""

OPS: dict[str, type[RaggedOp]] = {}
"""The op classes by the op's name: ours, and those of plug-ins."""

INFERRED: dict[str, type[RaggedOp]] = {}
"""Those whose result type follows from their operands and attributes."""

SAME_LENGTHS = {"tensor.cast"}
"""Ops whose result has the lengths of their operand."""

VIEWS = {"tensor.cast"}
"""Those whose result has its storage too."""

MOVABLE = {"ragged.annotate", "ragged.guard"}
"""Ops that may stand anywhere between their operands and their users."""

RESHAPES = frozenset({"ragged.partition", "ragged.merge", "ragged.split"})
"""Ops that cut and join dims, and leave elements and their order as they are."""


def register_dialect(
    dialect: extensions.DialectClass,
    *,
    patterns: str | None = None,
    lowering: str | None = None,
    reference: str | None = None,
    derivatives: str | None = None,
) -> None:
    """Let the ops of a dialect (`ext.Dialect`) whose classes derive from `RaggedOp` touch ragged types. The other
    arguments name modules, imported when they are needed: `patterns` has `PATTERNS` (by op name, as
    `passes/patterns`), `lowering` has `EXPANSIONS` (by op name, `lowering/scf/prepare.py`), `reference`
    registers a `handler` and `derivatives` rules (`passes/differentiate/tables.py`) where it is imported. PassError
    when the name of the dialect is taken."""
    name = getattr(dialect, "DIALECT_NAMESPACE", None)
    if not isinstance(name, str):
        raise PassError(f"expected a dialect class, got {dialect!r}")
    if re.fullmatch(r"[A-Za-z_][\w$]*", name) is None:
        raise PassError(f"expected a name of MLIR for a dialect, got '{name}'")
    if name in extensions.names() or has_dialect(name):
        raise PassError(f"expected a new dialect name, got '{name}', which is registered")
    given: dict[extensions.Part, str | None]
    given = {"patterns": patterns, "lowering": lowering, "reference": reference, "derivatives": derivatives}
    ops = [str(getattr(kind, "OPERATION_NAME")) for kind in dialect.operations]
    for op, kind in zip(ops, dialect.operations, strict=True):
        if ops.count(op) > 1:  # MLIR refuses the second one where the dialect is loaded
            raise PassError(f"expected one class of an op, got two of '{op}'")
        if issubclass(kind, RaggedOp):
            _require_functions(op, kind)
    extensions.add(name, extensions.Extension(dialect, given))
    for kind in dialect.operations:
        if issubclass(kind, RaggedOp):
            _add(kind)
            plugins.to_undo(lambda kind=kind: _remove(kind))


def _require_functions(op: str, kind: type[RaggedOp]) -> None:
    """PassError for a class with anything else where it is asked by a call."""
    for name in ("infer", "checks", "check_operands", "divisors", "level_above", "verify_invariants"):
        found = getattr(kind, name, None)
        if found is not None and not callable(found):
            raise PassError(f"expected a function {name} of '{op}', got {type(found).__name__}")
    if isinstance(cast(object, kind.optional), str):
        raise PassError(f"expected names of attributes as optional of '{op}', got '{kind.optional}'")
    hidden = _HIDDEN.intersection(field.name for field in kind._fields)
    if hidden:  # of which the bindings would make accessors
        raise PassError(f"expected other names of the parts of '{op}' than those of every op, got '{min(hidden)}'")
    unknown = unknown_attributes(kind) if hasattr(kind, "infer") else []
    if unknown:
        raise PassError(f"expected attributes of '{op}' as keywords of infer, got '{unknown[0]}'")
    missing = missing_operands(kind) if hasattr(kind, "infer") else None
    if missing is not None:
        raise PassError(f"expected the shapes of operands of '{op}' as arguments of infer, got {missing}")


_HIDDEN = frozenset({"operation", "location"})
"""What verifiers ask every op for."""


def _add(kind: type[RaggedOp]) -> None:
    name = kind.OPERATION_NAME
    OPS[name] = kind
    if hasattr(kind, "infer"):
        INFERRED[name] = kind
    for names, holds in _sets(kind):
        if holds:
            names.add(name)


def _remove(kind: type[RaggedOp]) -> None:
    for table in (OPS, INFERRED):
        table.pop(kind.OPERATION_NAME, None)
    for names, _ in _sets(kind):
        names.discard(kind.OPERATION_NAME)


def _sets(kind: type[RaggedOp]) -> tuple[tuple[set[str], bool], ...]:
    """The sets of names that an op class may be in, and whether it is."""
    return (
        (SAME_LENGTHS, kind.same_lengths),
        (VIEWS, kind.same_storage),
        (MOVABLE, Pure in kind._traits),
        (MIXED_OPS, issubclass(kind, MixedOp)),
    )


for _kind in Ragged.operations:
    if issubclass(_kind, RaggedOp):
        _add(_kind)


def attach_interfaces() -> None:
    """Attach the interface models that live per context; the context has the dialect loaded."""
    # A write to the outside: never erased, never reordered with another.
    attach_effects("ragged.print", lambda op: [(ir.MemoryEffect.Write, None)])
    checks.attach_check_effects()
