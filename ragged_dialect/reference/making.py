"""Making ragged tensors, and going to and from padded ones, element by element."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count, pairwise
from typing import SupportsInt

import numpy as np

from ragged_dialect.reference.axis import Axis, Group, Node, flatten, prefix_sums
from ragged_dialect.reference.building import build
from ragged_dialect.reference.scalars import COMBINERS, NEUTRAL, Data
from ragged_dialect.reference.value import Array, RaggedValue
from ragged_dialect.shape import RaggedShape
from ragged_dialect.sources import Source, parent_dims

Value = RaggedValue | Array
Length = Callable[[Sequence[int]], int]


def poison(shape: Sequence[int], dtype: np.dtype) -> Array:
    """Storage of an uninitialised tensor: values that show when a result depends on them."""
    array = np.empty(tuple(shape), dtype)
    array[...] = np.nan if dtype.kind not in "iub" else (dtype.kind == "b" or np.iinfo(dtype).min + 3)
    return array


def grown(letters: str, lengths: Sequence[Length]) -> Axis:
    """The axis whose level p has length `lengths[p](indices of the levels before)`, on contiguous
    storage of its own."""
    numbers = count()

    def grow(path: tuple[int, ...]) -> Node:
        if len(path) == len(letters):
            return next(numbers)
        return [grow((*path, i)) for i in range(lengths[len(path)](path))]

    tree = grow(())
    size = next(numbers)
    flat = Axis(letters.replace("w", "r"), (tree,), size, (None,) * len(letters))
    extents = [lengths[p](()) if c == "d" and p == 0 else None for p, c in enumerate(letters)]
    return Axis(flat.letters, flat.forests, size, tuple(extents))


def empty(
    likes: Sequence[RaggedValue],
    sources: Sequence[Source | None],
    extents: Sequence[int],
    result: RaggedShape,
    dtype: np.dtype,
) -> Value:
    """`ragged.empty`: each level as long as the level it comes from. `extents` are those of the
    dense dims of the result's own, in order."""
    own = iter(extents)
    shapes = [like.shape for like in likes]
    axes: list[Axis] = []
    for axis, letters in enumerate(result.layout.axes):
        dims = result.layout.dims(axis)
        if letters == "d":
            source = sources[dims[0]]
            axes.append(Axis.plain(next(own) if source is None else likes[source.like].extent(source.level)))
            continue
        levels = [_length_of(likes, shapes, sources, result, dim, dims.start) for dim in dims]
        made = grown(letters, levels)
        known = [_extent_of(likes, sources[dim], letter) for dim, letter in zip(dims, letters, strict=True)]
        axes.append(Axis(made.letters, made.forests, made.size, tuple(known)).lettered(letters))
    return RaggedValue.make(poison([a.size for a in axes], dtype), axes)


def _extent_of(likes: Sequence[RaggedValue], source: Source | None, letter: str) -> int | None:
    assert source is not None
    return likes[source.like].extent(source.level) if letter in "dt" else None


def _length_of(
    likes: Sequence[RaggedValue],
    shapes: list[RaggedShape],
    sources: Sequence[Source | None],
    result: RaggedShape,
    dim: int,
    first: int,
) -> Length:
    """The length of result dim `dim` under the indices of the dims of its axis before it."""
    source = sources[dim]
    assert source is not None
    like, level = likes[source.like], source.level
    if result.layout.letter(dim) == "d":
        return lambda path: like.extent(level)
    axis, place = like.locate(level)
    top = like.shape.layout.dims(axis)[0]
    if result.layout.letter(dim) == "t":
        parents = _tile_parents(shapes, sources, result, dim, top, place)
    else:
        parents = parent_dims(list(shapes), list(sources), result, dim)

    def length(path: Sequence[int]) -> int:
        return len(like.axes[axis].at([path[parents[top + p] - first] for p in range(place)]))

    return length


def _tile_parents(
    shapes: list[RaggedShape], sources: Sequence[Source | None], result: RaggedShape, dim: int, top: int, place: int
) -> dict[int, int]:
    """Parents of a tile: those of the ragged level it splits, that level, and the tiles between."""
    split = dim
    while result.layout.letter(split) == "t":
        split -= 1
    above = parent_dims(shapes, list(sources), result, split)
    for step in range(dim - split):
        above[top + place - 1 - step] = dim - 1 - step
    return above


def to_padded(x: RaggedValue, pad: np.generic, *maxima: SupportsInt) -> Array:
    """`ragged.to_padded`: a dense array of `pad` with the elements put at their logical indices;
    those outside (truncation) are left out."""
    given = map(int, maxima)
    extents = [
        x.extent(dim) if letter == "d" else next(given) if maxima else longest(x, dim)
        for dim, letter in enumerate(x.shape.layout.letters)
    ]
    out = np.full(extents, pad, x.values.dtype)
    for index in x.indices():
        if all(i < n for i, n in zip(index, extents, strict=True)):
            out[index] = x.values[x.position(index)]
    return out


def longest(x: RaggedValue, dim: int) -> int:
    """The largest logical length of a level, 0 without components."""
    return max(lengths(x, dim), default=0)


def from_padded(dense: Array, vectors: Sequence[Array], result: RaggedShape) -> Value:
    """`ragged.from_padded`: the elements of a padded array that offsets leave."""
    given = iter(vectors)
    axes: list[Axis] = []
    for axis, letters in enumerate(result.layout.axes):
        dims = result.layout.dims(axis)
        own = [next(given).tolist() for letter in letters if letter == "r"]
        size = own[-1][-1] if own else dense.shape[dims[0]]
        extents = [dense.shape[dim] if letter == "d" else None for dim, letter in zip(dims, letters, strict=True)]
        axes.append(build(letters, extents, own, size))
    made = RaggedValue.of(RaggedValue.make(np.empty([a.size for a in axes], dense.dtype), axes))
    for index in made.indices():
        made.values[made.position(index)] = dense[index]
    return RaggedValue.make(made.values, axes)


def _wide(dtype: np.dtype) -> np.dtype:
    """What elements are added as: short floats as float32."""
    return np.dtype(np.float32) if dtype.kind not in "iub" and dtype.itemsize == 2 else dtype


def reduce_across(x: RaggedValue, extent: SupportsInt, dim: int, kind: str) -> Value:
    """`ragged.reduce_across`: row i combines row i of every component that has one."""
    extent, (axis, _) = int(extent), x.locate(dim)
    groups = flatten(x.axes[axis].expand(), len(x.axes[axis].letters) - 1)
    rest = [k for k in range(len(x.axes)) if k != axis]
    others = RaggedValue(x.shape, x.values, tuple(Axis.plain(a.size) if k == axis else a for k, a in enumerate(x.axes)))
    values = others.gather()
    dtype = x.values.dtype
    wide = _wide(dtype)
    shape = [extent if k == axis else n for k, n in enumerate(values.shape)]
    out = np.full(shape, NEUTRAL[kind](wide), wide)
    rows = np.moveaxis(out, axis, 0)
    taken = np.moveaxis(values, axis, 0).astype(wide)
    for group in groups:
        for i, position in enumerate(group):
            rows[i] = COMBINERS[kind](rows[i], taken[position])
    fresh = {k: x.axes[k].fresh() for k in rest}
    axes = [Axis.plain(extent) if k == axis else fresh[k] for k in range(len(x.axes))]
    return RaggedValue.make(out.astype(dtype), axes)


def group_by(keys: Array, count: SupportsInt, numbers: Array | None = None) -> Value:
    """`ragged.group_by`: the indices of the keys that are 0, those that are 1, and so on, or the numbers there."""
    places = [[i for i, key in enumerate(keys.tolist()) if key == k] for k in range(int(count))]
    axis = build("dr", [len(places), None], [prefix_sums([len(own) for own in places])], len(keys))
    order = [i for own in places for i in own]
    return RaggedValue.make(np.array(order if numbers is None else numbers[order], np.int64), [axis])


def scatter_add(terms: Value, positions: Value, count: SupportsInt, unique: bool = False) -> Array:
    """`ragged.scatter_add`: every term at its position, one after the other; -0.0 is no sum, but may be there alone."""
    if isinstance(terms, RaggedValue):
        given, at = terms.compact(), RaggedValue.of(positions).compact()
        parts = list(pairwise(map(int, offsets(given, 1))))
        done = [scatter_add(given.values[low:high], at.values[low:high], count) for low, high in parts]
        return np.stack(done) if done else np.empty((0, int(count), *given.values.shape[1:]), given.values.dtype)
    assert isinstance(positions, np.ndarray)
    wide = _wide(terms.dtype)
    sums = np.zeros((int(count), *terms.shape[1:]), wide)
    if unique:
        sums[positions] = terms.astype(wide)
        return sums.astype(terms.dtype)
    for term, position in zip(terms.astype(wide), positions.tolist(), strict=True):
        sums[position] = COMBINERS["sum"](sums[position], term)
    return sums.astype(terms.dtype)


def compress(mask: Array, *rows: Array) -> Array:
    """`ragged.compress`: the rows where a mask is true, or their numbers."""
    kept = [number for number, keeps in enumerate(mask.tolist()) if keeps]
    return rows[0][kept] if rows else np.array(kept, np.int64)


def sort(keys: Array, offsets: Array, *numbers: Array) -> Array:
    """`ragged.sort`: the keys of every segment in order, or numbers in that of their keys."""
    done = (numbers[0] if numbers else keys).copy()
    for low, high in pairwise(map(int, offsets)):
        rows = list(zip(keys[low:high].tolist(), done[low:high].tolist(), strict=True))
        done[low:high] = [row[1] for row in sorted(rows)]
    return done


def scan(x: Value, dim: int, kind: str, reverse: bool = False, exclusive: bool = False) -> Value:
    """`ragged.scan`: every element combined with those before it, or behind it, or these without it."""
    done = RaggedValue.of(x).compact()
    values = done.values.copy()
    nothing = values.dtype.type(NEUTRAL[kind](values.dtype)) if exclusive else None
    folded: dict[tuple[int, ...], Data] = {}
    for index, rest in _along(done, dim, reverse):
        at = done.position(index)
        before = folded.get(rest, nothing)
        folded[rest] = done.values[at] if before is None else COMBINERS[kind](before, done.values[at])
        values[at] = before if exclusive else folded[rest]
    return RaggedValue.make(values, done.axes)


def _along(x: RaggedValue, dim: int, reverse: bool) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """The indices of all elements, and those beside a dim, in the order along that."""
    indices = list(x.indices())
    for index in reversed(indices) if reverse else indices:
        yield index, (*index[:dim], *index[dim + 1 :])


def recurrence(x: Value, factors: Value, dim: int, reverse: bool = False) -> Value:
    """`ragged.recurrence`: what there is before each element, or behind it."""
    done, by = RaggedValue.of(x).compact(), RaggedValue.of(factors).compact()
    values = np.zeros_like(done.values)
    before: dict[tuple[int, ...], Data] = {}
    for index, rest in _along(done, dim, reverse):
        at = done.position(index)
        values[at] = before.get(rest, 0)
        factor = by.values[by.position(index)]
        before[rest] = done.values[at] if factor == 0 else factor * values[at] + done.values[at]
    return RaggedValue.make(values, done.axes)


def row_ids(x: RaggedValue, dim: int) -> list[int]:
    """`ragged.row_ids`: for every element of a level the number of its component."""
    axis, place = x.locate(dim)
    own = x.axes[axis]
    counts = [len(own.elements(g)) if place == own.body - 1 else len(g) for g in logical_groups(x, dim)]
    return [q for q, n in enumerate(counts) for _ in range(n)]


def logical_groups(x: RaggedValue, dim: int) -> list[Group]:
    """The components of a level, one per index tuple of the levels above: below windows each as
    often as the windows hold it."""
    axis, place = x.locate(dim)
    return flatten(x.axes[axis].expand(), place)


def lengths(x: RaggedValue, dim: int) -> list[int]:
    """`ragged.lengths`: the logical lengths of a level's components, of a tile those of the parts."""
    return [len(group) for group in logical_groups(x, dim)]


def stored_lengths(x: RaggedValue, dim: int) -> list[int]:
    """`ragged.lengths {stored}`: the element counts of a level's components, in stored order."""
    axis, place = x.locate(dim)
    return x.axes[axis].vector_lengths(place)


def offsets(x: RaggedValue, dim: int) -> list[int]:
    """`ragged.offsets`: prefix sums of the element counts of a level's components."""
    return prefix_sums(stored_lengths(x, dim))


def starts(x: RaggedValue, dim: int) -> list[int]:
    """`ragged.starts`: where every component starts."""
    axis, place = x.locate(dim)
    if x.axes[axis].letters[place] == "w":
        return x.axes[axis].starts(place)
    return offsets(x, dim)[:-1]


def nested_text(value: Value) -> str:
    """A tensor as nested lists, for `ragged.print`."""
    return str(RaggedValue.of(value).to_nested())


MEANINGS: dict[str, Callable[..., Value]] = {
    "compress": compress,
    "group_by": group_by,
    "recurrence": recurrence,
    "reduce_across": reduce_across,
    "scan": scan,
    "scatter_add": scatter_add,
    "sort": sort,
    "to_padded": to_padded,
}
"""What ops do with their operands and attributes, by the op's name."""
