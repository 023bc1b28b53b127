"""Where the levels of `ragged.empty` come from: checks of `from`, and the layout that results."""

from __future__ import annotations

from typing import NamedTuple

from ragged_dialect.errors import LayoutError
from ragged_dialect.layout import RAGGED, Extent
from ragged_dialect.shape import RaggedShape


class Source(NamedTuple):
    """Level `level` (a logical dim) of like number `like`."""

    like: int
    level: int


def default_sources(likes: list[RaggedShape], result: RaggedShape) -> list[Source | None]:
    """Without `from`: the levels of the first like, dense dims of the result's own."""
    like = likes[0]
    if len(likes) != 1:
        raise LayoutError(f"expected 1 tensor without 'from', got {len(likes)}")
    if like.rank != result.rank:
        raise LayoutError(f"expected a result of rank {like.rank}, got {result.rank}")
    return [None if like.layout.is_plain(dim) else Source(0, dim) for dim in range(like.rank)]


def empty_layout(likes: list[RaggedShape], sources: list[Source | None], result: RaggedShape) -> RaggedShape:
    """The shape `ragged.empty` makes; raises LayoutError when the sources do not nest."""
    if len(sources) != result.rank:
        raise LayoutError(f"expected {result.rank} entries in 'from', got {len(sources)}")
    for source in sources:
        _check_source(likes, source)
    extents: list[Extent] = []
    for dim, source in enumerate(sources):
        extents.append(result.shape[dim] if source is None else likes[source.like].shape[source.level])
    for axis in range(result.layout.storage_rank):
        _check_axis(likes, sources, result, axis)
    return RaggedShape(result.layout, tuple(extents))


def _check_source(likes: list[RaggedShape], source: Source | None) -> None:
    if source is None:
        return
    if not 0 <= source.like < len(likes):
        raise LayoutError(f"expected a like in [0, {len(likes)}) in 'from', got {source.like}")
    rank = likes[source.like].rank
    if not 0 <= source.level < rank:
        raise LayoutError(f"expected a level in [0, {rank}) of like {source.like} in 'from', got {source.level}")


def _check_axis(likes: list[RaggedShape], sources: list[Source | None], result: RaggedShape, axis: int) -> None:
    letters = result.layout.axes[axis]
    dims = list(result.layout.dims(axis))
    for dim, letter in zip(dims, letters, strict=True):
        source = sources[dim]
        if source is None and letters == "d":
            continue
        if source is None:
            raise LayoutError(f"expected [like, level] for dim {dim} of layout \"{result.layout}\" in 'from', got -1")
        like = likes[source.like]
        got = like.layout.letter(source.level)
        if got != letter:
            raise LayoutError(
                f"expected a level of kind '{letter}' for dim {dim}, got '{got}' "
                f"(level {source.level} of like {source.like})"
            )
        if letter in RAGGED:
            parent_dims(likes, sources, result, dim)
        if letter == "t":
            _check_tile(sources, dim, source)


def parent_dims(
    likes: list[RaggedShape], sources: list[Source | None], result: RaggedShape, dim: int
) -> dict[int, int]:
    """For the ragged level at result `dim`: the result dim of each level before it in its like. LayoutError where there
    is none: it may also be of another like, a dense one at the same place of its batch, a ragged one at the same place
    among the ragged ones."""
    source = sources[dim]
    assert source is not None
    like = likes[source.like]
    above, before = like.layout.above(source.level), result.layout.above(dim)
    batches = [d for d in before if result.layout.letter(d) == "d"]
    ragged = [d for d in before if result.layout.letter(d) in RAGGED]
    mapping: dict[int, int] = {}
    for place, level in enumerate(above):
        exact = [d for d in before if sources[d] == Source(source.like, level)]
        others = batches[place:]
        if like.layout.letter(level) in RAGGED:
            others = ragged[sum(like.layout.letter(d) in RAGGED for d in above[:place]) :]
        found = exact + [d for d in others[:1] if _foreign(sources[d], source.like)]
        if not found:
            raise LayoutError(
                f"expected level {level} of like {source.like} before level {source.level} in 'from', got none"
            )
        mapping[level] = found[0]
    return mapping


def _foreign(source: Source | None, like: int) -> bool:
    return source is not None and source.like != like


def _check_tile(sources: list[Source | None], dim: int, source: Source) -> None:
    if sources[dim - 1] != Source(source.like, source.level - 1):
        raise LayoutError(
            f"expected the tile of dim {dim} after level {source.level - 1} of like {source.like}, got it elsewhere"
        )
