"""Split of merge and merge of split by the divisibility rules; one order for chains of them."""

from __future__ import annotations

from typing import Any

from ragged_dialect import builders
from ragged_dialect.passes.matching import attempt, dim_of, producer, same_meaning, shape
from ragged_dialect.passes.rewriting import Pattern, Rewriter
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


def merge_of_tiles(op: Any, rewriter: Rewriter) -> bool:
    """merge{d+1}(split{d, g}(split{d, f}(x))) -> split{d, f*g}(x)."""
    outer = producer(op.operands[0], "ragged.split")
    inner = None if outer is None else producer(outer.operands[0], "ragged.split")
    if outer is None or inner is None or not dim_of(inner) == dim_of(outer) == dim_of(op) - 1:
        return False
    x, dim, factor = inner.operands[0], dim_of(inner), factor_of(inner) * factor_of(outer)
    if not same_meaning(attempt(lambda: shape(x).split(dim, factor)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.split(x, dim, factor))


def merge_of_tile_components(op: Any, rewriter: Rewriter) -> bool:
    """merge{d}(merge{d}(split{d+1}(x))) -> merge{d}(x): the tiles, made components, join again."""
    inner = producer(op.operands[0], "ragged.merge")
    made = None if inner is None else producer(inner.operands[0], "ragged.split")
    dim = dim_of(op)
    if inner is None or made is None or dim_of(inner) != dim or dim_of(made) != dim + 1:
        return False
    x = made.operands[0]
    if not same_meaning(attempt(lambda: shape(x).merge(dim)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.merge(x, dim))


def merge_of_finer_tiles(op: Any, rewriter: Rewriter) -> bool:
    """merge{d}(split{d+1, f}(merge{d}(split{d+1, F}(x)))) -> merge{d}(split{d+1, f}(x)), f a divisor of F."""
    fine = producer(op.operands[0], "ragged.split")
    inner = None if fine is None else producer(fine.operands[0], "ragged.merge")
    coarse = None if inner is None else producer(inner.operands[0], "ragged.split")
    if fine is None or inner is None or coarse is None:
        return False
    x, dim, factor = coarse.operands[0], dim_of(op), factor_of(fine)
    if dim_of(inner) != dim or dim_of(fine) != dim + 1 or dim_of(coarse) != dim + 1 or factor_of(coarse) % factor:
        return False
    split = attempt(lambda: shape(x).split(dim + 1, factor))
    if split is None or not same_meaning(attempt(lambda: split.merge(dim)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.merge(builders.split(x, dim + 1, factor), dim))


def merge_of_nested_parts(op: Any, rewriter: Rewriter) -> bool:
    """merge{d+1}(split{d, g}(merge{d+1}(split{d, f}(x)))) -> merge{d+1}(split{d, f*g}(x))."""
    outer = producer(op.operands[0], "ragged.split")
    inner = None if outer is None else producer(outer.operands[0], "ragged.merge")
    first = None if inner is None else producer(inner.operands[0], "ragged.split")
    if outer is None or inner is None or first is None:
        return False
    x, dim, factor = first.operands[0], dim_of(first), factor_of(first) * factor_of(outer)
    if dim_of(outer) != dim or not dim_of(inner) == dim_of(op) == dim + 1:
        return False
    split = attempt(lambda: shape(x).split(dim, factor))
    if split is None or not same_meaning(attempt(lambda: split.merge(dim + 1)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.merge(builders.split(x, dim, factor), dim + 1))


def order_splits(op: Any, rewriter: Rewriter) -> bool:
    """Splits stand with the higher dim first, and a split of a tile is the split of its outer part:
    split{e, f}(split{d, g}(x)) with e > d+1 -> split{d, g}(split{e-1, f}(x)),
    split{d+1, f}(split{d, g}(x)) -> split{d, g/f}(split{d, f}(x))."""
    inner = producer(op.operands[0], "ragged.split")
    if inner is None or dim_of(op) <= dim_of(inner):
        return False
    x, outer_dim, dim = inner.operands[0], dim_of(op), dim_of(inner)
    outer_factor, factor = factor_of(op), factor_of(inner)
    if outer_dim > dim + 1:
        first, second = (outer_dim - 1, outer_factor), (dim, factor)
    elif factor % outer_factor == 0:
        first, second = (dim, outer_factor), (dim, factor // outer_factor)
    else:
        return False
    middle = attempt(lambda: shape(x).split(*first))
    if middle is None or not same_meaning(attempt(lambda: middle.split(*second)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.split(builders.split(x, *first), *second))


def merge_before_split(op: Any, rewriter: Rewriter) -> bool:
    """merge{e}(split{d}(x)) on other dims -> split(merge(x)): merges come first."""
    made = producer(op.operands[0], "ragged.split")
    if made is None:
        return False
    x, dim, split_dim, factor = made.operands[0], dim_of(op), dim_of(made), factor_of(made)
    if dim > split_dim + 1:
        merge_dim, moved = dim - 1, split_dim
    elif dim + 1 < split_dim:
        merge_dim, moved = dim, split_dim - 1
    else:
        return False
    middle = attempt(lambda: shape(x).merge(merge_dim))
    if middle is None or not same_meaning(attempt(lambda: middle.split(moved, factor)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.split(builders.merge(x, merge_dim), moved, factor))


def merge_before_tile_split(op: Any, rewriter: Rewriter) -> bool:
    """merge{d}(split{d+1, g}(split{d+1, f}(x))) -> split{d+1, f}(merge{d}(split{d+1, f*g}(x)))."""
    outer = producer(op.operands[0], "ragged.split")
    inner = None if outer is None else producer(outer.operands[0], "ragged.split")
    if outer is None or inner is None or not dim_of(inner) == dim_of(outer) == dim_of(op) + 1:
        return False
    x, dim, fine, coarse = inner.operands[0], dim_of(op), factor_of(inner), factor_of(inner) * factor_of(outer)
    split = attempt(lambda: shape(x).split(dim + 1, coarse))
    merged = None if split is None else attempt(lambda: split.merge(dim))
    if merged is None or not same_meaning(attempt(lambda: merged.split(dim + 1, fine)), shape(op.results[0])):
        return False
    with rewriter.before(op):
        return rewriter.replace(
            op, builders.split(builders.merge(builders.split(x, dim + 1, coarse), dim), dim + 1, fine)
        )


def merge_before_inner_split(op: Any, rewriter: Rewriter) -> bool:
    """merge{m}(split{a}(split{b}(x))) with m beside a and b above both -> split{b}(merge{m}(split{a}(x)))."""
    near = producer(op.operands[0], "ragged.split")
    far = None if near is None else producer(near.operands[0], "ragged.split")
    if near is None or far is None:
        return False
    x, dim, a, b = far.operands[0], dim_of(op), dim_of(near), dim_of(far)
    if abs(dim - a) != 1 or b <= a or dim >= b:
        return False
    split = attempt(lambda: shape(x).split(a, factor_of(near)))
    merged = None if split is None else attempt(lambda: split.merge(dim))
    if merged is None or not same_meaning(attempt(lambda: merged.split(b, factor_of(far))), shape(op.results[0])):
        return False
    with rewriter.before(op):
        merge = builders.merge(builders.split(x, a, factor_of(near)), dim)
        return rewriter.replace(op, builders.split(merge, b, factor_of(far)))


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.merge": (
        merge_of_split,
        merge_of_tiles,
        merge_of_tile_components,
        merge_of_finer_tiles,
        merge_of_nested_parts,
    ),
    "ragged.split": (split_of_merge,),
}

ORDER: dict[str, tuple[Pattern, ...]] = {
    "ragged.merge": (merge_before_split, merge_before_tile_split, merge_before_inner_split),
    "ragged.split": (order_splits,),
}
