"""The rewrites of `ragged-canonicalize`, by family. Each is a function `(op, rewriter) -> bool`
that changes nothing and returns False where it does not match."""

from __future__ import annotations

from ragged_dialect.passes.patterns import access, making, nesting, refining, slicing, splitting
from ragged_dialect.passes.rewriting import Pattern

_FAMILIES = (refining, nesting, splitting, slicing, access, making)


def canonicalization_patterns() -> dict[str, tuple[Pattern, ...]]:
    """All patterns by the name of the op they start from."""
    merged: dict[str, tuple[Pattern, ...]] = {}
    for family in _FAMILIES:
        for name, patterns in family.PATTERNS.items():
            merged[name] = (*merged.get(name, ()), *patterns)
    return merged
