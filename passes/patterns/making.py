"""Empties take their structure from its root; facts join; annotations that say nothing are removed."""

from __future__ import annotations

from math import lcm

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import view_of
from ragged_dialect.layout import RAGGED
from ragged_dialect.ops.making import EmptyOp
from ragged_dialect.passes.analysis.structure.keys import structural_source
from ragged_dialect.passes.analysis.structure.roots import root_of
from ragged_dialect.passes.patterns.matching import attempt, producer, shape
from ragged_dialect.passes.patterns.rewriting import Pattern, Rewriter
from ragged_dialect.segments import segments
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims
from ragged_dialect.traits import int_attr, optional_int
from ragged_dialect.types import is_ragged, is_tensor, shape_of


def empty_of_root(op: ir.Operation, rewriter: Rewriter) -> bool:
    """empty(like: y) -> empty(like: x), where y has its structure from x, and its dense extents too where these are
    taken. Equal likes become one, likes that no level comes from are removed."""
    values = list(op.operands)
    likes = [v for v in values if is_tensor(v.type)]
    extents = values[len(likes) :]
    sources = None if "from" not in op.attributes else view_of(op, EmptyOp).sources()
    dense = {likes[s.like] for s in sources or () if s is not None and shape(likes[s.like]).layout.is_plain(s.level)}
    roots = [structural_source(v, {}) if v in dense else root_of(v, rewriter) for v in likes]
    new_likes, new_sources = _joined(roots, sources, shape_of(op.results[0].type))
    if new_likes == likes:
        return False
    if new_sources == sources and [v.type for v in new_likes] == [v.type for v in likes]:
        return rewriter.set_operands(op, new_likes)
    if attempt(lambda: segments([v.type for v in [*new_likes, *extents]])) is None:
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.empty(new_likes, op.results[0].type, new_sources, extents))


def empty_of_empty(op: ir.Operation, rewriter: Rewriter) -> bool:
    """empty(like: empty(like: x)) of some levels -> empty(like: x) of those that they come from there. Rows of pairs
    take their number from the rows, and the pairs are counted for nobody."""
    known = view_of(op, EmptyOp)
    likes, sources = known.likes, known.sources()
    makers = [producer(like, "ragged.empty") for like in likes]
    above = [None if maker is None else view_of(maker, EmptyOp) for maker in makers]
    new_likes, new_sources = list(likes), list[Source | None]()
    for source in sources:
        maker = None if source is None else above[source.like]
        if source is not None and maker is not None:
            origin = maker.sources()[source.level]
            if origin is None:
                return False
            new_likes.append(maker.likes[origin.like])
            source = Source(len(new_likes) - 1, origin.level)
        new_sources.append(source)
    result = shape_of(op.results[0].type)
    new_likes, new_sources = _renumbered(
        new_likes, new_sources, {k: new_likes.index(like) for k, like in enumerate(new_likes)}
    )
    if new_sources == sources or _parents(new_likes, new_sources, result) != _parents(likes, sources, result):
        return False
    new_likes, joined = _joined(new_likes, new_sources, result)
    with rewriter.before(op):
        return rewriter.replace(op, builders.empty(new_likes, op.results[0].type, joined, known.extents))


def _joined(
    likes: list[ir.Value], sources: list[Source | None] | None, result: RaggedShape
) -> tuple[list[ir.Value], list[Source | None] | None]:
    """The likes that levels come from: equal ones once, where the parents of all levels are clear then."""
    if sources is None:
        return likes, None
    numbers = list(dict.fromkeys(source.like for source in sources if source is not None))
    if not numbers:
        return likes[:1], sources
    firsts = {k: next(j for j in numbers if likes[j] == likes[k]) for k in numbers}
    parted = _renumbered(likes, sources, {k: k for k in numbers})
    joined = _renumbered(likes, sources, firsts)
    return joined if _parents(*joined, result) == _parents(*parted, result) else parted


def _renumbered(
    likes: list[ir.Value], sources: list[Source | None], like_of: dict[int, int]
) -> tuple[list[ir.Value], list[Source | None]]:
    """The likes that stand for others, and the sources with their numbers."""
    kept = list(dict.fromkeys(like_of.values()))
    named = [None if s is None else Source(kept.index(like_of[s.like]), s.level) for s in sources]
    return [likes[k] for k in kept], named


def _parents(likes: list[ir.Value], sources: list[Source | None], result: RaggedShape) -> list[dict[int, int]] | None:
    """The parents of every ragged level of the result; None where a like has levels that are not there."""
    shapes = [shape_of(like.type) for like in likes]
    ragged = [dim for dim, letter in enumerate(result.layout.letters) if letter in RAGGED and sources[dim] is not None]
    return attempt(lambda: [parent_dims(shapes, sources, result, dim) for dim in ragged])


def assume_of_assume(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Two facts about one level -> one op with both."""
    inner = producer(op.operands[0], "ragged.assume")
    if inner is None or inner.results[0].type != op.operands[0].type:
        return False
    level = int_attr(op, "level")
    if int_attr(inner, "level") != level:
        return False
    divisor, low, high = _joined_facts(_facts(inner), _facts(op))
    if high is not None and high < (low or 0):
        return False
    with rewriter.before(op):
        return rewriter.replace(op, builders.assume(inner.operands[0], level, divisor, low, high))


Facts = tuple[int | None, int | None, int | None]


def _facts(op: ir.Operation) -> Facts:
    return optional_int(op, "divisible_by"), optional_int(op, "min"), optional_int(op, "max")


def _joined_facts(a: Facts, b: Facts) -> Facts:
    divisors, lows, highs = ([v for v in pair if v is not None] for pair in zip(a, b, strict=True))
    return lcm(*divisors) if divisors else None, max(lows, default=None), min(highs, default=None)


def order_assumes(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Facts about several levels stand in the order of the levels."""
    inner = producer(op.operands[0], "ragged.assume")
    if inner is None or int_attr(inner, "level") <= int_attr(op, "level"):
        return False
    with rewriter.before(op):
        first = builders.assume(inner.operands[0], int_attr(op, "level"), *_facts(op))
        return rewriter.replace(op, builders.assume(first, int_attr(inner, "level"), *_facts(inner)))


def assume_of_nothing(op: ir.Operation, rewriter: Rewriter) -> bool:
    """Facts that always hold, or hold of the static extent, are dropped; an assume without facts is removed."""
    facts, level = _facts(op), int_attr(op, "level")
    kept = _open_facts(facts, shape(op.operands[0]).shape[level])
    if kept == facts:
        return False
    if kept == (None, None, None):
        return rewriter.replace(op, op.operands[0])
    with rewriter.before(op):
        return rewriter.replace(op, builders.assume(op.operands[0], level, *kept))


def _open_facts(facts: Facts, extent: int | None) -> Facts:
    divisor, low, high = facts
    if extent is None:
        return None if divisor == 1 else divisor, None if low == 0 else low, high
    return (
        None if divisor is None or extent % divisor == 0 else divisor,
        None if low is None or low <= extent else low,
        None if high is None or extent <= high else high,
    )


def annotate_of_same(op: ir.Operation, rewriter: Rewriter) -> bool:
    """annotate : T -> T -> its operand."""
    x = op.operands[0]
    same = is_ragged(x.type) == is_ragged(op.results[0].type) and shape(x).layout == shape(op.results[0]).layout
    return same and rewriter.replace(op, x)


PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "ragged.empty": (empty_of_root, empty_of_empty),
    "ragged.assume": (assume_of_nothing, assume_of_assume, order_assumes),
    "ragged.annotate": (annotate_of_same,),
}
