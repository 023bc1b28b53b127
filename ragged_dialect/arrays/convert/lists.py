"""Arrays of nested lists, and as nested lists and text."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from math import prod
from typing import Any, cast

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import name_error
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.components import components
from ragged_dialect.arrays.core.creation import from_lengths
from ragged_dialect.arrays.core.storage import ArrayLike, Dense, DTypeLike
from ragged_dialect.errors import ArgumentError, RaggedError
from ragged_dialect.narrowing import is_list, is_tuple
from ragged_dialect.runtime.memory import enough
from ragged_dialect.runtime.signature import Array


@enough("ragged")
def ragged(components: Iterable[object], dtype: DTypeLike | None = None) -> RaggedArray:
    """A ragged array of nested lists whose innermost items are arrays, or lists of numbers.

    `rg.ragged([a, b])` of arrays [n, …] has one ragged dim; a list of lists of arrays has two. Lists of numbers are
    vectors, ragged arrays lists of their components, and any iterable is a list. The values are copied. ArgumentError
    for lists of different depth, for arrays with different dense extents, for what is no list, and for no lists at all,
    whose shape is unknown."""
    try:
        return _made(components, dtype)
    except RaggedError as error:
        name_error("ragged", error)
        raise


def _made(components: Iterable[object], dtype: DTypeLike | None) -> RaggedArray:
    plain = _plain(components, dtype is None) if is_list(components) else None
    if plain is not None:
        values, lengths = plain
        values = values if dtype is None else storage.converted("ragged", values, storage.dtype_of(dtype))
        return from_lengths(values, *lengths)
    if dtype is None and (is_list(components) or is_tuple(components)):
        joined = storage.joined_alike(components)
        if joined is not None:
            return from_lengths(*joined)
    items = _listed(components, 0)
    if not is_list(items) and (storage.library(items) is None or not storage.peek(items).ndim):
        raise ArgumentError(f"ragged: expected nested lists of arrays, got {type(items).__name__}")
    items = cast("Sequence[object]", items)
    counts: list[list[int]] = [[] for _ in range(_depth(items))]
    given = _collect(items, 0, counts)
    if any(leaf is None for leaf in given):
        place = _place(counts, next(k for k, leaf in enumerate(given) if leaf is None))
        raise ArgumentError(f"ragged: expected a list or an array at {place}, got None (write [] for a missing list)")
    found = [None if _is_empty(leaf) else storage.peek(leaf) for leaf in given]
    if not found:
        raise ArgumentError("ragged: expected at least one array, got none (use from_offsets)")
    first = next((leaf for leaf in found if leaf is not None), np.zeros(0))
    _check_alike(found, first, counts)
    leaves = [first[:0] if leaf is None else leaf for leaf in found]
    xp, values = storage.namespace(first), _joined(leaves, dtype is None)
    lengths = [np.asarray(c, np.int64) for c in counts[1:]] + [np.asarray([leaf.shape[0] for leaf in leaves], np.int64)]
    values = values if dtype is None else storage.converted("ragged", values, storage.dtype_of(dtype))
    if any(map(storage.is_recorded, given)):
        made = storage.joined([leaf for leaf in given if not _is_empty(leaf)], values)
    else:
        made = storage.give(values, _library(items))
    return from_lengths(made, *(xp.asarray(v) for v in lengths))


def _joined(arrays: Sequence[Array], exact: bool) -> Array:
    """One array of several. ArgumentError for dtypes of which NumPy does not know what they have in common, and where
    numbers have to stay `exact` for those that programs do not have: NumPy makes floats of uint64 beside int64."""
    for dtype in {array.dtype for array in arrays} if exact else ():
        storage.check_dtype(dtype)
    try:
        with enough("ragged"):
            return storage.namespace(arrays[0]).concatenate(arrays)
    except TypeError:  # of bfloat16 beside others
        kinds = " and ".join(dict.fromkeys(str(array.dtype) for array in arrays))
        raise ArgumentError(f"ragged: expected arrays of dtypes that NumPy joins, got {kinds} (convert them)") from None


def _check_alike(found: Sequence[Array | None], first: Array, counts: Sequence[Sequence[int]]) -> None:
    """ArgumentError for a number in place of a list, and for dense extents that are not those of the first array."""
    for k, leaf in enumerate(found):
        if leaf is None:
            continue
        if not leaf.ndim:
            hint = "(as in rg.ragged([[1, 2], [3]]))"
            raise ArgumentError(f"ragged: expected a list or an array at {_place(counts, k)}, got a number {hint}")
        if leaf.shape[1:] != first.shape[1:]:
            wanted = ", ".join(["n", *map(str, first.shape[1:])])
            place = _place(counts, k)
            raise ArgumentError(f"ragged: expected arrays of shape [{wanted}], got {list(leaf.shape)} at {place}")


def _place(counts: Sequence[Sequence[int]], at: int) -> str:
    """The indices, `[1][0]`, of a leaf, of the lengths of the lists of every depth."""
    path = ""
    for lengths in reversed(counts):
        owner = 0
        while at >= lengths[owner]:
            at -= lengths[owner]
            owner += 1
        path, at = f"[{at}]{path}", owner
    return path


_NUMBERS = (int, float, bool)


def _plain(items: Sequence[object], exact: bool) -> tuple[np.ndarray, list[np.ndarray]] | None:
    """Values and lengths of lists of nothing but numbers, or arrays of NumPy, all equally deep: level by level, as a
    list of many would cost as much as its elements. None for everything else, and for what is refused. ArgumentError
    for integers that have to stay exact and do not fit int64."""
    level: Sequence[Sequence[object]] = [items]
    lengths: list[np.ndarray] = []
    for _ in range(_DEEPEST):
        lengths.append(np.fromiter(map(len, level), np.int64, len(level)))
        inside = list(itertools.chain.from_iterable(level))
        kinds = set(map(type, inside))
        if not kinds or not kinds <= {list, tuple}:
            break
        level = cast("list[Sequence[object]]", inside)
    else:
        return None
    if kinds == {np.ndarray}:
        arrays = cast("list[np.ndarray]", inside)
        if {a.shape[1:] for a in arrays if a.ndim} != {arrays[0].shape[1:]} or not all(a.ndim for a in arrays):
            return None
        lengths.append(np.fromiter(map(len, arrays), np.int64, len(arrays)))
        return _joined(arrays, exact), lengths[1:]
    if not kinds or len(lengths) < 2 or not kinds <= set(_NUMBERS):
        return None
    if kinds == {float}:  # NumPy looks at every element for its type otherwise, a third of the time
        return np.fromiter(cast("list[float]", inside), np.float64, len(inside)), lengths[1:]
    values = np.asarray(inside)
    if exact:
        storage.check_integers(inside, values)
    return (values, lengths[1:]) if values.dtype.kind in "bif" else None


_DEEPEST = 64
"""Lists inside one another, as NumPy's dims; what yields itself has no end."""


def _listed(items: object, depth: int) -> object:
    """Ragged arrays, ranges, generators and other iterables as lists."""
    if storage.library(items) is not None or isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        return items
    items = cast("Iterable[object]", items)
    if depth > _DEEPEST:
        raise ArgumentError(f"ragged: expected lists at most {_DEEPEST} deep, got deeper ones")
    if hasattr(items, "indptr"):
        raise ArgumentError(f"ragged: expected lists, got {type(items).__name__} (use from_offsets(x.data, x.indptr))")
    if isinstance(items, RaggedArray):
        return [_listed(item, depth + 1) for item in components(items)]
    own: Sequence[object] = items if is_list(items) else list(items)
    return own if all(type(item) in _NUMBERS for item in own) else [_listed(item, depth + 1) for item in own]


def _library(components: object) -> str:
    while is_list(components):
        components = next((c for c in components if not is_list(c) or c), 0)
    return storage.library(components) or "numpy"


def _depth(items: Sequence[object]) -> int:
    """How many lists are around an array, or a list of numbers."""
    return 1 + max((_depth(item) for item in items if is_list(item) and _holds_more(item)), default=0)


def _collect(items: Sequence[object], depth: int, counts: list[list[int]]) -> list[storage.ArrayLike]:
    """Arrays in order, and empty lists of numbers, whose shape and dtype are those of the others;
    `counts[k]` gets the length of every list of depth k."""
    counts[depth].append(len(items))
    found: list[storage.ArrayLike] = []
    for item in items:
        if depth + 1 == len(counts):
            found.append(item)
        elif is_list(item) and (not item or _holds_more(item)):
            found += _collect(item, depth + 1, counts)
        else:
            raise ArgumentError(f"ragged: expected arrays inside {len(counts)} lists, got one inside {depth + 1}")
    return found


def _is_empty(item: object) -> bool:
    """Whether a list has nothing in it, and so no shape."""
    return is_list(item) and not item


def _holds_more(item: Sequence[object]) -> bool:
    """Whether a list holds arrays or lists, not numbers. An empty list is an empty vector."""
    return any(isinstance(i, (list, tuple)) or (storage.library(i) is not None and storage.peek(i).ndim) for i in item)


def nested_lists(x: object) -> list[Any]:
    """Nested lists of Python numbers."""
    if isinstance(x, RaggedArray):
        whole = _folded(x.detach())
        return [nested_lists(part) for part in components(x.detach())] if whole is None else whole
    return storage.to_host(storage.take(x)).tolist()


def _folded(x: RaggedArray) -> list[ArrayLike] | None:
    """The elements as one list, of windows those that they show, cut into lists level by level, innermost first. None
    for levels that do not follow one another."""
    axis = x.axes[0]
    if axis is None or not set(axis.letters) <= set("drw") or any(other is not None for other in x.axes[1:]):
        return None
    axis = axis.contiguous
    parts: list[ArrayLike] = storage.to_host(x.compacted.buffer.array).tolist()
    for level in range(len(axis.letters) - 1, 0, -1):
        if axis.letters[level] == "d":
            size = axis.extents[level]
            if not size:
                return None
            parts = [parts[low : low + size] for low in range(0, len(parts), size)]
        else:
            starts, lengths = storage.to_host(axis.starts(level)), storage.to_host(axis.lengths(level))
            ends = (starts + lengths).tolist()
            parts = [parts[low:high] for low, high in zip(starts.tolist(), ends, strict=True)]
    return parts


_SHOWN = 3
_WHOLE = 32
"""Components, and elements of a component with lists of its own, that are shown whole."""


def text(x: RaggedArray) -> str:
    """What it is, the structure, and the first values, in a few lines."""
    extents = ", ".join("~" if e is None else str(e) for e in x.shape)
    where = "" if x.device == "cpu" else f", device={x.device}"
    lines = [f'RaggedArray([{extents}], {x.dtype}, "{x.layout}"{where})']
    for dim in x.ragged_dims:
        lengths = storage.to_host(storage.take(x.lengths_of(dim)))
        shown = np.array2string(lengths, threshold=12, edgeitems=4, separator=", ")
        lines.append(f"  lengths of dim {dim}: {shown}")
    parts = [] if x.layout.has_tiles else components(x.detach(), _SHOWN)  # holes of tiles are no elements
    for number, part in enumerate(parts):
        small = isinstance(part, RaggedArray) and prod(part.buffer.shape) <= _WHOLE
        shown = f"{nested_lists(part)}" if small else _array_text(part)
        lines.append(f"  [{number}] {shown}")
    if len(x) > len(parts):
        lines.append(f"  … {len(x) - len(parts)} more")
    return "\n".join(lines)


def _array_text(part: RaggedArray | Dense) -> str:
    if isinstance(part, RaggedArray):
        return text(part).splitlines()[0]
    shown = np.array2string(storage.to_host(storage.take(part)), threshold=8, edgeitems=2, separator=", ", precision=4)
    return " ".join(shown.split())
