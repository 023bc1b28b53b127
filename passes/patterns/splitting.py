"""Splits and merges of what was split: split of merge and merge of split by the divisibility rules."""

from __future__ import annotations

from typing import Any

from ragged_dialect import builders
from ragged_dialect.passes.rewriting import Pattern, Rewriter, attempt, dim_of, producer, same_meaning, shape
from ragged_dialect.traits import int_attr


def factor_of(op: Any) -> int:
    """The attribute `factor` of a verified split."""
    return int_attr(op, "factor")


def merge_of_split(op: Any, rewriter: Rewriter) -> bool:
    """merge{d}(split{d}(x)) -> x: a split followed by its merge is the identity, also with holes."""
    made = producer(op.operands[0], "ragged.split")
    if made is None or dim_of(made) != dim_of(op):
        return False
    x = made.operands[0]
    return same_meaning(shape(x), shape(op.results[0])) and rewriter.replace(op, x)


def split_of_merge(op: Any, rewriter: Rewriter) -> bool:
    """split{d, f}(merge{d}(y)) -> y, where the inner dim of y has extent f and the split restores the layout."""
    merged = producer(op.operands[0], "ragged.merge")
    if merged is None or dim_of(merged) != dim_of(op):
        return False
    y = merged.operands[0]
    if shape(y).shape[dim_of(op) + 1] != factor_of(op):
        return False
    return same_meaning(shape(y), shape(op.results[0])) and rewriter.replace(op, y)


def split_of_split(op: Any, rewriter: Rewriter) -> bool:
    """split{d, g}(split{d, f}(x)) -> split{d+1, f}(split{d, f*g}(x)): the coarse split first."""
    inner = producer(op.operands[0], "ragged.split")
    if inner is None or dim_of(inner) != dim_of(op):
        return False
    x, dim, fine, coarse = inner.operands[0], dim_of(op), factor_of(inner), factor_of(inner) * factor_of(op)
    middle = attempt(lambda: shape(x).split(dim, coarse))
    if middle is None or not same_meaning(attempt(lambda: middle.split(dim + 1, fine)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.split(builders.split(x, dim, coarse), dim + 1, fine))


def merge_of_tile_split(op: Any, rewriter: Rewriter) -> bool:
    """merge{d}(split{d+1, f}(split{d, F}(x))) -> split{d, f}(x)."""
    dim = dim_of(op)
    fine = producer(op.operands[0], "ragged.split")
    coarse = None if fine is None else producer(fine.operands[0], "ragged.split")
    if fine is None or coarse is None or dim_of(fine) != dim + 1 or dim_of(coarse) != dim:
        return False
    x, factor = coarse.operands[0], factor_of(fine)
    if factor_of(coarse) % factor or not same_meaning(
        attempt(lambda: shape(x).split(dim, factor)), shape(op.results[0])
    ):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.split(x, dim, factor))


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.merge": (merge_of_split, merge_of_tile_split),
    "ragged.split": (split_of_merge, split_of_split),
}
