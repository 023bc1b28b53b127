"""The structure ops as list surgery: regroup, concatenate, chunk, index, slice, renumber."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import SupportsInt

import numpy as np

from ragged_dialect.reference.axis import Axis, Group, Node, Window, chunks, concatenated, flatten, map_at, prefix_sums
from ragged_dialect.reference.building import tiled
from ragged_dialect.reference.merge import merge
from ragged_dialect.reference.value import Array, RaggedValue

Value = RaggedValue | Array


def _with_axis(x: RaggedValue, axis: int, new: Axis) -> Value:
    return RaggedValue.make(x.values, [*x.axes[:axis], new, *x.axes[axis + 1 :]])


def _cut(group: Group, bounds: Sequence[int]) -> list[Group]:
    """A group cut at bounds; pieces of a window are windows."""
    pairs = list(pairwise(bounds))
    if isinstance(group, Window):
        return [Window(group[a:b], group.start + a) for a, b in pairs]
    return [group[a:b] for a, b in pairs]


def partition(x: Value, vector: Array, dim: int, lengths: bool = False) -> Value:
    """`ragged.partition`: regroup a dim by one list of offsets, or one per component."""
    x = RaggedValue.of(x)
    rows = [[int(v) for v in row] for row in np.atleast_2d(vector)]
    bounds = [prefix_sums(row) for row in rows] if lengths else rows
    per_row = vector.shape[-1] - (not lengths)
    axis, place = x.locate(dim)
    if vector.ndim == 2 and x.axes[axis].letters == "d":
        return _partition_plain_rows(x, axis, bounds, per_row)
    old = x.axes[axis]
    kept = old.letters[place] if vector.ndim == 2 and old.letters[place] in "rw" else "r"
    letters = f"{old.letters[:place]}d{kept}{old.letters[place + 1 :]}"
    forests = old.rewrite(place, lambda q, group: _cut(group, bounds[q]))
    extents = (*old.extents[:place], per_row, None, *old.extents[place + 1 :])
    return _with_axis(x, axis, Axis(letters, forests, old.size, extents))


def _partition_plain_rows(x: RaggedValue, axis: int, bounds: list[list[int]], per_row: int) -> Value:
    """Two plain axes of extents m and n become one: row i holds positions i * n to (i + 1) * n."""
    m, n = x.values.shape[axis - 1 : axis + 1]
    tree = [_cut(list(range(i * n, (i + 1) * n)), bounds[i]) for i in range(m)]
    values = _collapse(x.values, axis - 1)
    return RaggedValue.make(
        values, [*x.axes[: axis - 1], Axis("ddr", (tree,), m * n, (m, per_row, None)), *x.axes[axis + 1 :]]
    )


def _collapse(values: Array, axis: int) -> Array:
    m, n = values.shape[axis : axis + 2]
    return values.reshape(*values.shape[:axis], m * n, *values.shape[axis + 2 :])


def split(x: Value, dim: int, factor: int) -> Value:
    """`ragged.split`: chunk every component."""
    x = RaggedValue.of(x)
    axis, place = x.locate(dim)
    old = x.axes[axis]
    if place >= old.body:
        return _with_axis(x, axis, _chunked(old, place, factor, old.letters + "t"))
    if old.letters[place] == "d" and old.body > 1:
        letters = f"{old.letters[:place]}dd{old.letters[place + 1 :]}"
        return _with_axis(x, axis, _chunked(old, place, factor, letters))
    return _with_axis(x, axis, tiled(old, factor))


def _chunked(old: Axis, place: int, factor: int, letters: str) -> Axis:
    extent = old.extents[place]
    assert extent is not None
    forests = old.rewrite(place, lambda q, group: chunks(group, factor))
    extents = (*old.extents[:place], extent // factor, factor, *old.extents[place + 1 :])
    return Axis(letters, forests, old.size, extents)


def _windowed_below(axis: Axis, place: int) -> Axis:
    """The axis with its first ragged level below `place` turned into windows."""
    for p in range(place + 1, axis.body):
        if axis.letters[p] in "rw":
            return axis.windowed(p)
    return axis


def _taken(x: RaggedValue, axis: int, new: Axis) -> Value:
    """The value with an axis whose leaves are some of the old positions, renumbered from 0."""
    leaves = flatten(new.tree, len(new.letters))
    numbers = iter(range(len(leaves)))
    tree = map_at(new.tree, len(new.letters), lambda q, leaf: next(numbers), range(len(leaves)))
    values = np.take(x.values, np.array(leaves, np.int64), axis)
    return RaggedValue.make(
        values, [*x.axes[:axis], replace(new, forests=(tree,), size=len(leaves)), *x.axes[axis + 1 :]]
    )


def _rebased(x: RaggedValue, axis: int, new: Axis) -> Value:
    """The value with an axis cut down to some components: their rows of the storage, unless
    windows point into it."""
    return _with_axis(x, axis, new) if "w" in new.letters else _taken(x, axis, new)


def select(x: Value, index: SupportsInt, dim: int) -> Value:
    """`ragged.select`: one element of every group of `dim`."""
    x, index = RaggedValue.of(x), int(index)
    axis, place = x.locate(dim)
    old = x.axes[axis]
    if old.letters == "d":
        return RaggedValue.make(np.take(x.values, index, axis), [*x.axes[:axis], *x.axes[axis + 1 :]])
    if place == 0:
        return _rebased(x, axis, _select_leading(old, index))
    if place == len(old.letters) - 1:
        return _select_rows(x, axis, index)
    return _with_axis(x, axis, _picked(_windowed_below(old, place), place, index))


def _select_leading(old: Axis, index: int) -> Axis:
    """Component `index`: the level below is the leading dense one now."""
    tree = old.tree[index]
    letters, forests = f"d{old.letters[2:]}", (tree, *old.forests[1:])
    if old.letters[1] == "w" and len(old.letters) > 2:
        forests = ([old.forests[1][i] for i in tree], *old.forests[2:])
    return Axis(letters, (list(forests[0]), *forests[1:]), old.size, (len(tree), *old.extents[2:]))


def _picked(old: Axis, place: int, index: int) -> Axis:
    """The axis without level `place`: of each of its groups only element `index`."""
    empty = _empty(old, place + 1)
    forests = old.rewrite(place, lambda q, group: old.child(place, group, index) if 0 <= index < len(group) else empty)
    if old.letters[place] == "w":
        gone = old.locate(place)[0] + 1
        forests = (*forests[:gone], *forests[gone + 1 :])
    letters = old.letters[:place] + old.letters[place + 1 :]
    return Axis(letters, forests, old.size, (*old.extents[:place], *old.extents[place + 1 :]))


def _empty(axis: Axis, place: int) -> Node:
    """What stands for an element that a component lacks, which no window reaches."""
    extent = axis.extents[place]
    return Window([], 0) if extent is None else [_empty(axis, place + 1)] * extent


def _select_rows(x: RaggedValue, axis: int, index: int) -> Value:
    """Element `index` of every innermost component, gathered; dense levels that are last now are
    storage axes of their own."""
    old = x.axes[axis]
    place = len(old.letters) - 1
    rows = [group[index] if 0 <= index < len(group) else -1 for group in old.groups(place)]  # -1: zeros, of no window
    axes = [_numbered(old, len(rows))]
    padded = np.pad(x.values, [(0, int(k == axis)) for k in range(x.values.ndim)])
    values = np.take(padded, np.array(rows, np.int64), axis)
    while len(axes[0].letters) > 1 and axes[0].letters[-1] == "d":
        head, extent = axes[0], axes[0].extents[-1]
        assert extent is not None
        outer = len(head.groups(len(head.letters) - 1))
        values = values.reshape(*values.shape[:axis], outer, extent, *values.shape[axis + 1 :])
        axes = [_numbered(head, outer), Axis.plain(extent), *axes[1:]]
    return RaggedValue.make(values, [*x.axes[:axis], *axes, *x.axes[axis + 1 :]])


def _numbered(old: Axis, size: int) -> Axis:
    """The axis without its last level: every group there is the position of its number."""
    forests = old.rewrite(len(old.letters) - 1, lambda q, group: q)
    return Axis(old.letters[:-1], forests, size, old.extents[:-1]).trimmed()


def slice_(x: Value, lo: np.integer | np.ndarray, hi: np.integer | np.ndarray, dim: int) -> Value:
    """`ragged.slice`: the range [lo, hi) of every group of `dim`; one pair, or one per group."""
    x = RaggedValue.of(x)
    axis, place = x.locate(dim)
    old = x.axes[axis]
    if place == 0:
        low, high = int(lo), int(hi)
        new = replace(old, forests=(old.tree[low:high], *old.forests[1:]), extents=(high - low, *old.extents[1:]))
        return _rebased(x, axis, new)
    ragged = old.letters[place] in "rw"
    wide = old.windowed(place) if ragged else _windowed_below(old, place)
    groups = len(wide.groups(place))
    lows, highs = (np.broadcast_to(np.asarray(v), (groups,)) for v in (lo, hi))

    def change(q: int, group: Group) -> Group:
        low, high = int(lows[q]), int(highs[q])
        return _cut(group, [low, high] if 0 <= low <= high <= len(group) else [0, 0])[0]  # [0, 0]: no window reaches it

    extent = None if ragged else int(hi) - int(lo)
    extents = (*wide.extents[:place], extent, *wide.extents[place + 1 :])
    return _with_axis(x, axis, replace(wide, forests=wide.rewrite(place, change), extents=extents))


def compact(x: Value) -> Value:
    """`ragged.compact`: windows to contiguous levels."""
    done = RaggedValue.of(x).compact()
    return RaggedValue.make(done.values, done.axes)


def concat(*operands: Value, dim: int) -> Value:
    """`ragged.concat`: lists concatenated at the depth of `dim`; the operands agree elsewhere."""
    xs = [RaggedValue.of(x).compact() for x in operands]
    axis, place = xs[0].locate(dim)
    parts = [x.axes[axis] for x in xs]
    starts = prefix_sums(part.size for part in parts)
    depth = len(parts[0].letters)
    trees = [
        map_at(p.tree, depth, lambda q, leaf, s=s: leaf + s, range(p.size)) for p, s in zip(parts, starts, strict=False)
    ]
    extent = parts[0].extents[place]
    if extent is not None:
        extent = sum(part.extents[place] or 0 for part in parts)
    joined = replace(
        parts[0],
        forests=(_zip_concat(trees, place),),
        size=starts[-1],
        extents=(*parts[0].extents[:place], extent, *parts[0].extents[place + 1 :]),
    )
    stacked = RaggedValue(xs[0].shape, np.concatenate([x.values for x in xs], axis), xs[0].axes)
    return _taken(stacked, axis, joined)


def _zip_concat(nodes: Sequence[Group], depth: int) -> Group:
    """The lists at a depth concatenated, group by group."""
    if depth == 0:
        return concatenated(nodes)
    return [_zip_concat(children, depth - 1) for children in zip(*nodes, strict=True)]


MEANINGS: dict[str, Callable[..., Value]] = {
    "compact": compact,
    "concat": concat,
    "merge": merge,
    "partition": partition,
    "select": select,
    "slice": slice_,
    "split": split,
}
"""What the ops of `ops/structure.py` do with their operands and attributes, by the op's name."""
