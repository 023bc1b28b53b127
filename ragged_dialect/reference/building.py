"""Axes from the 1:N form: the one place that cuts lists by index vectors."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect.reference.axis import Axis, Group, Window, chunks


def build(letters: str, extents: Sequence[int | None], vectors: Sequence[Sequence[int]], size: int) -> Axis:
    """The axis of a 1:N form. `extents` holds the tile extents and the dense extents, None for one
    that the vectors give; the vectors are valid."""
    body = len(letters.rstrip("t"))
    per_level = _vectors_by_place(letters, vectors)
    counts, known = _group_counts(letters[:body], extents, per_level, size)
    items: Group = list(range(size))
    forests: list[Group] = []
    for place in reversed(range(body)):
        below = list(range(len(items))) if letters[place] == "w" and place < body - 1 else items
        if below is not items:
            forests.insert(0, items)
        items = [_group(letters[place], below, q, known[place], per_level.get(place)) for q in range(counts[place])]
    axis = Axis(letters[:body], (items[0], *forests), size, tuple(known))
    for tile in reversed(range(body, len(letters))):
        axis = tiled(axis, extents[tile])
    return axis


def tiled(axis: Axis, factor: int | None) -> Axis:
    """The axis with the elements, or outermost tiles, of its last level grouped by a factor."""
    assert factor is not None
    place = axis.body - 1

    def change(number: int, group: Group) -> Group:
        parts = chunks(list(group), factor)
        return Window(parts, group.start) if isinstance(group, Window) else parts

    forests = axis.rewrite(place, change)
    extent = None if axis.extents[place] is None else len(forests[0])
    extents = (*axis.extents[:place], extent, factor, *axis.extents[place + 1 :])
    return Axis(axis.letters + "t", forests, axis.size, extents)


def _vectors_by_place(letters: str, vectors: Sequence[Sequence[int]]) -> dict[int, list[list[int]]]:
    left = [[int(x) for x in v] for v in vectors]
    return {p: [left.pop(0) for _ in range(1 + (c == "w"))] for p, c in enumerate(letters) if c in "rw"}


def _group(letter: str, items: Group, q: int, extent: int | None, vectors: list[list[int]] | None) -> Group:
    if letter == "d":
        assert extent is not None
        return items[q * extent : (q + 1) * extent]
    assert vectors is not None
    if letter == "r":
        return items[vectors[0][q] : vectors[0][q + 1]]
    start, length = vectors[0][q], vectors[1][q]
    return Window(items[start : start + length], start)


def _group_counts(
    body: str, extents: Sequence[int | None], vectors: dict[int, list[list[int]]], size: int
) -> tuple[list[int], list[int | None]]:
    """Stored groups per level, and the extents with those that vectors or storage give."""
    if body == "d":
        return [1], [size]
    counts, known = [1], list(extents[: len(body)])
    for place, letter in enumerate(body):
        if letter == "d" and known[place] is None:
            known[place] = _vector_count(body, place + 1, vectors)
        counts.append(_children(body, place, counts[-1], known, vectors, size))
    return counts[:-1], known


def _vector_count(body: str, place: int, vectors: dict[int, list[list[int]]]) -> int:
    """Number of groups the vector of a ragged level is for."""
    return len(vectors[place][0]) - (body[place] == "r")


def _children(
    body: str, place: int, groups: int, extents: list[int | None], vectors: dict[int, list[list[int]]], size: int
) -> int:
    letter, extent = body[place], extents[place]
    if letter == "d":
        assert extent is not None
        return groups * extent
    if letter == "r":
        return vectors[place][0][-1]
    return stored_below(body, place, extents, vectors, size)


def stored_below(
    body: str, place: int, extents: Sequence[int | None], vectors: dict[int, list[list[int]]], size: int
) -> int:
    """Number of nodes stored below a window level, which its own vectors do not tell."""
    if place == len(body) - 1:
        return size
    ragged = min(p for p in range(place + 1, len(body)) if body[p] in "rw")
    inner = 1
    for p in range(place + 1, ragged):
        inner *= extents[p] or 0
    if inner:
        return _vector_count(body, ragged, vectors) // inner
    return max((s + n for s, n in zip(*vectors[place], strict=True)), default=0)
