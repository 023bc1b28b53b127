"""Rewrites of `ragged-canonicalize` that start from ops of rowtools."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.passes.patterns.matching import dim_of, producer, same_meaning, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter


def reverse_of_reverse(op: ir.Operation, rewriter: Rewriter) -> bool:
    """reverse{d}(reverse{d}(x)) -> x, which has the same layout."""
    inner = producer(op.operands[0], "rowtools.reverse")
    if inner is None or dim_of(inner) != dim_of(op):
        return False
    x = inner.operands[0]
    return same_meaning(shape(x), shape(op.results[0])) and rewriter.replace(op, x)


PATTERNS: dict[str, tuple[Pattern, ...]] = {"rowtools.reverse": (reverse_of_reverse,)}
