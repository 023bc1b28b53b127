"""The rewrites of `ragged-canonicalize`, by family. Each is a function `(op, rewriter) -> bool`
that changes nothing and returns False where it does not match.

A family has `PATTERNS`, which make a program smaller or more static, and may have `ORDER`, which
give ops that commute one order. The latter run where none of the former matches: an op that
cancels against its neighbour does so before it is moved away.
"""

from __future__ import annotations

from ragged_dialect.passes.patterns import access, making, nesting, refining, slicing, splitting
from ragged_dialect.passes.rewriting import Pattern, Patterns

_REDUCING = (nesting, splitting, slicing, access, making, refining)
_ORDERING = (nesting, splitting, making)


def reducing_patterns() -> Patterns:
    """The patterns that reduce, by the name of the op they start from."""
    return _joined([family.PATTERNS for family in _REDUCING])


def ordering_patterns() -> Patterns:
    """The patterns that order, by the name of the op they start from."""
    return _joined([family.ORDER for family in _ORDERING])


def _joined(tables: list[dict[str, tuple[Pattern, ...]]]) -> Patterns:
    merged: dict[str, tuple[Pattern, ...]] = {}
    for table in tables:
        for name, patterns in table.items():
            merged[name] = (*merged.get(name, ()), *patterns)
    return merged
