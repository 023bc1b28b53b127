"""`ragged.merge` as list surgery: the groups of a level are concatenated into one list."""

from __future__ import annotations

from dataclasses import replace

from ragged_dialect.merging import merge_rule
from ragged_dialect.reference.axis import Axis, Group, Window, concatenated, map_at, prefix_sums
from ragged_dialect.reference.value import Array, RaggedValue

Value = RaggedValue | Array


def merge(x: Value, dim: int) -> Value:
    """`ragged.merge`: merge `dim` with `dim + 1`."""
    x = RaggedValue.of(x)
    axis, place = x.locate(dim)
    rule = merge_rule(x.shape, dim)
    result = rule.result(x.shape, dim)
    if x.locate(dim + 1)[0] != axis:
        return _merge_axes(x, axis, result.layout.axes[axis])
    new = _concatenated_at(x.axes[axis], place)
    letters = result.layout.axes[axis]
    extents = _extents(rule.name, x.axes[axis], new, place, letters)
    return RaggedValue.make(
        x.values, [*x.axes[:axis], replace(new, letters=letters, extents=extents).trimmed(), *x.axes[axis + 1 :]]
    )


def _concatenated_at(old: Axis, place: int) -> Axis:
    """The axis with the lists in every group of a level concatenated. Groups of windows count in
    the elements of what they pointed at."""
    below = old.locate(place + 1)[0]
    if old.letters[place] != "w" or below == old.locate(place)[0]:

        def join(q: int, group: Group) -> Group:
            joined = concatenated(group)
            return Window(joined, group.start) if isinstance(group, Window) else joined

        return replace(old, forests=old.rewrite(place, join))
    starts = prefix_sums(len(node) for node in old.forests[below])

    begins = old.starts(place)

    def follow(q: int, group: Group) -> Window:
        start, end = starts[begins[q]], starts[begins[q] + len(group)]
        return Window(range(start, end), start)

    forests = old.rewrite(place, follow)
    return replace(old, forests=(*forests[:below], concatenated(old.forests[below]), *forests[below + 1 :]))


def _extents(rule: str, old: Axis, new: Axis, place: int, letters: str) -> tuple[int | None, ...]:
    """Extents of the merged levels: dense ones count what is in their groups."""
    kept = old.extents[:place]
    rest = old.extents[place + 2 :]
    if rule == "tile_parts":
        return (*kept, len(new.tree) if letters[place] == "d" else None, None, *rest[1:])
    if letters[place] in "rw":
        return (*kept, None, *rest)
    if rule in ("components", "untile"):
        return (*kept, len(new.tree), *rest)
    first, second = old.extents[place], old.extents[place + 1]
    assert first is not None
    assert second is not None
    return (*kept, first * second, *rest)


def _merge_axes(x: RaggedValue, axis: int, letters: str) -> Value:
    """A level and the leading level of the next axis: every element becomes one of the n of the
    next axis, in storage collapsed to one axis."""
    first, second = x.axes[axis], x.axes[axis + 1]
    n = second.size
    shape = x.values.shape
    values = x.values.reshape(*shape[:axis], shape[axis] * n, *shape[axis + 2 :])
    if first.letters == "d":
        rows = [
            map_at(second.tree, len(second.letters), lambda q, leaf, i=i: i * n + leaf, range(n)) for i in first.tree
        ]
        tree = concatenated(rows)
        extents: tuple[int | None, ...] = (len(tree),)
        if letters != "d":
            extents = (len(tree), None, *second.extents[2:])
        merged = Axis(letters, (tree,), first.size * n, extents)
    else:
        merged = _scaled(first, n)
    return RaggedValue.make(values, [*x.axes[:axis], merged, *x.axes[axis + 2 :]])


def _scaled(first: Axis, n: int) -> Axis:
    """Every position p of the last level becomes the positions p * n to (p + 1) * n."""

    def widen(q: int, group: Group) -> Group:
        wide = [p * n + j for p in group for j in range(n)]
        return Window(wide, group.start * n) if isinstance(group, Window) else wide

    return replace(first, forests=first.rewrite(len(first.letters) - 1, widen), size=first.size * n)
