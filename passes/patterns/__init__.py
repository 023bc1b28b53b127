"""The rewrites of `ragged-canonicalize`, by family. Each is a function `(op, rewriter) -> bool`
that changes nothing and returns False where it does not match; a family has its own in `PATTERNS`,
by the name of the op they start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ragged_dialect import extensions
from ragged_dialect._mlir import ir
from ragged_dialect.errors import kind_of
from ragged_dialect.ops import INFERRED
from ragged_dialect.passes.base import faults_at
from ragged_dialect.passes.patterns import access, copying, making, nesting, refining, slicing, sorting
from ragged_dialect.passes.patterns.rewriting import Pattern, Patterns, Rewriter

_FAMILIES = (nesting, slicing, access, making, refining, copying, sorting)


def patterns() -> Patterns:
    """All patterns, by the name of the op they start from."""
    merged: dict[str, tuple[Pattern, ...]] = {}
    for family in _FAMILIES:
        for name, group in family.PATTERNS.items():
            merged[name] = (*merged.get(name, ()), *group)
    for table in extensions.tables("patterns", "PATTERNS", _is_group, "tuples of functions"):
        for name, group in cast(Patterns, table).items():
            merged[name] = (*merged.get(name, ()), *map(_checked, group))
    for name in INFERRED:
        merged[name] = (*merged.get(name, ()), refining.refine)
    return merged


def _checked(pattern: Pattern) -> Pattern:
    """A pattern of a plug-in, whose mistakes are about the op that it gets."""

    def called(op: ir.Operation, rewriter: Rewriter) -> bool:
        with faults_at(op, pattern):
            found = cast(object, pattern(op, rewriter))
            if not isinstance(found, bool):
                raise TypeError(f"expected a bool from a pattern, got {kind_of(found)}")
            return found

    return called


def _is_group(found: object) -> bool:
    return isinstance(found, (list, tuple)) and all(map(callable, cast(Sequence[object], found)))
