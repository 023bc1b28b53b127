"""Functions that make ragged arrays; each checks the structure once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

import numpy as np

from ragged_dialect.arrays import storage, validation
from ragged_dialect.arrays.arguments import check_ragged, integer
from ragged_dialect.arrays.array import RaggedArray
from ragged_dialect.arrays.structure import Structure, offsets_of
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
from ragged_dialect.runtime.memory import enough


def _vector(vector: Any, name: str, like: Any, reach: int | None = None) -> Any:
    """An index vector on the device of the values. A plain sequence of numbers goes to it."""
    known = storage.library(vector) is not None
    taken = storage.take(vector)
    if not known and not taken.size:
        taken = taken.astype(np.int64)
    if not known and storage.device(like) != "cpu":
        taken = storage.namespace(like).asarray(taken)
    return validation.index_vector(taken, name, reach)


def from_offsets(values: Any, *offsets: Any, check: bool = True) -> RaggedArray:
    """A ragged array of values, [total, …], and the offsets of every ragged dim, outermost first:
    exclusive prefix sums with the total at the end. The values are not copied.

    RuntimeCheckError names the component where offsets decrease or do not fit; ArgumentError for
    offsets that are not integers or whose dtype is too narrow."""
    if not offsets:
        raise ArgumentError("from_offsets: expected offsets of at least 1 level, got 0")
    taken = storage.take(values)
    if taken.ndim == 0:
        raise ArgumentError("from_offsets: expected values of rank 1 or more, got rank 0")
    vectors = [
        _vector(v, f"from_offsets: offsets {level}", taken, taken.shape[0] if level == len(offsets) - 1 else None)
        for level, v in enumerate(offsets)
    ]
    for level, vector in enumerate(vectors):
        if vector.shape[0] == 0:
            validation.check_offsets(vector, "from_offsets", level + 1, 0)
    axes = [Structure.of_offsets(*vectors), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_offsets", check=check)


def from_lengths(values: Any, *lengths: Any, check: bool = True) -> RaggedArray:
    """As `from_offsets`, with the lengths of the components of every level, outermost first.

    RuntimeCheckError for a negative length, or lengths that do not sum to what they partition."""
    taken = storage.take(values)
    if not lengths:
        raise ArgumentError("from_lengths: expected lengths of at least 1 level, got 0")
    if taken.ndim == 0:
        raise ArgumentError("from_lengths: expected values of rank 1 or more, got rank 0")
    vectors = [_vector(v, f"from_lengths: lengths {level}", taken) for level, v in enumerate(lengths)]
    if check:
        extents = [*(v.shape[0] for v in vectors[1:]), taken.shape[0]]
        for level, (vector, extent) in enumerate(zip(vectors, extents, strict=True)):
            validation.check_lengths(vector, "from_lengths", level + 1, extent)
    axes = [Structure.of_offsets(*map(offsets_of, vectors)), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_lengths", check=False)


def from_starts_lengths(values: Any, starts: Any, lengths: Any, check: bool = True) -> RaggedArray:
    """A ragged array whose components are windows into values, [n, …]: gaps and overlaps are legal.

    RuntimeCheckError for a window that is not inside the values."""
    taken = storage.take(values)
    if taken.ndim == 0:
        raise ArgumentError("from_starts_lengths: expected values of rank 1 or more, got rank 0")
    vectors = [
        _vector(v, f"from_starts_lengths: {name}", taken) for v, name in ((starts, "starts"), (lengths, "lengths"))
    ]
    structure = Structure("dw", vectors, (vectors[0].shape[0], None))
    axes = [structure, *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_starts_lengths", check=check)


def from_row_ids(values: Any, row_ids: Any, nrows: int | None = None, check: bool = True) -> RaggedArray:
    """A ragged array of values, [n, …], and the component of each, not decreasing. `nrows` components,
    by default one more than the last id.

    RuntimeCheckError for ids that decrease, are negative or not below `nrows`."""
    taken = storage.take(values)
    ids = _vector(row_ids, "from_row_ids: row_ids", taken)
    if taken.ndim == 0 or ids.shape[0] != taken.shape[0]:
        wanted = taken.shape[0] if taken.ndim else 0
        raise ArgumentError(f"from_row_ids: expected a row id for each of {wanted} values, got {ids.shape[0]}")
    count = integer("from_row_ids", "nrows", nrows) if nrows is not None else (int(ids[-1]) + 1 if ids.shape[0] else 0)
    if count < 0:
        raise RuntimeCheckError(f"from_row_ids: expected nrows >= 0, got {count}")
    if check:
        _check_row_ids(ids, count)
    with enough("from_row_ids"):
        offsets = offsets_of(storage.namespace(ids).bincount(ids, minlength=count).astype("int64"))
    axes = [Structure.of_offsets(offsets), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_row_ids", check=False)


def _check_row_ids(ids: Any, count: int) -> None:
    outside = (ids < 0) | (ids >= count)
    if bool(outside.any()):
        at = int(outside.argmax())
        raise RuntimeCheckError(f"from_row_ids: expected row_ids[{at}] in [0, {count}), got {int(ids[at])}")
    falls = ids[1:] < ids[:-1]
    if bool(falls.any()):
        at = int(falls.argmax())
        raise RuntimeCheckError(
            f"from_row_ids: expected row_ids[{at + 1}] >= row_ids[{at}], got {int(ids[at + 1])} < {int(ids[at])}"
        )


def narrow(dense: Any, start: Any, length: Any) -> RaggedArray:
    """A view into a padded array, [B, L, …]: component b is `dense[b, start[b] : start[b] + length[b]]`.
    `start` and `length` may be one number for all.

    RuntimeCheckError for a window outside its row."""
    taken = storage.take(dense)
    if taken.ndim < 2:
        raise ArgumentError(f"narrow: expected a dense array of rank 2 or more, got rank {taken.ndim}")
    batch, extent = taken.shape[:2]
    xp = storage.namespace(taken)
    starts, lengths = (
        _vector(xp.full(batch, v) if isinstance(v, (int, np.integer)) else v, f"narrow: {name}", taken)
        for v, name in ((start, "start"), (length, "length"))
    )
    for vector, name in ((starts, "start"), (lengths, "length")):
        if vector.shape[0] != batch:
            raise RuntimeCheckError(f"narrow: expected {batch} numbers for {name}, got {vector.shape[0]}")
    validation.check_windows(starts, lengths, "narrow", 1, extent)
    flat = storage.contiguous(taken).reshape(batch * extent, *taken.shape[2:])
    structure = Structure("dw", [starts + extent * xp.arange(batch), lengths], (batch, None))
    axes = [structure, *(None for _ in range(taken.ndim - 2))]
    made = storage.give(flat, storage.library(dense) or "numpy")
    return RaggedArray.of(made, axes, op="narrow", check=False)


def ragged(components: Iterable[Any], dtype: Any = None) -> RaggedArray:
    """A ragged array of nested lists whose innermost items are arrays, or lists of numbers.

    `rg.ragged([a, b])` of arrays [n, …] has one ragged dim; a list of lists of arrays has two. Lists of
    numbers are vectors, ragged arrays lists of their components, and any iterable is a list. The values are
    copied. ArgumentError for lists of different depth, for arrays with different dense extents, for what is
    no list, and for nothing at all, whose shape nobody knows."""
    items = _listed(components, 0)
    if not _is_list(items) and not getattr(items, "ndim", 0):
        raise ArgumentError(f"ragged: expected nested lists of arrays, got {type(items).__name__}")
    counts: list[list[int]] = [[] for _ in range(_depth(items))]
    found = _collect(items, 0, counts)
    if not found:
        raise ArgumentError("ragged: expected at least one array, got none (use from_offsets)")
    first = next((leaf for leaf in found if leaf is not None), np.zeros(0))
    leaves = [first[:0] if leaf is None else leaf for leaf in found]
    for leaf in leaves:
        if leaf.ndim == 0 or leaf.ndim != first.ndim or leaf.shape[1:] != first.shape[1:]:
            wanted = ", ".join(["n", *map(str, first.shape[1:])])
            raise ArgumentError(f"ragged: expected arrays of shape [{wanted}], got {list(leaf.shape)}")
    xp = storage.namespace(first)
    with enough("ragged"):
        values = xp.concatenate(leaves)
    lengths = [np.asarray(c, np.int64) for c in counts[1:]] + [np.asarray([leaf.shape[0] for leaf in leaves], np.int64)]
    values = values if dtype is None else storage.converted("ragged", values, storage.dtype_of(dtype))
    made = storage.give(values, _library(items))
    return from_lengths(made, *(xp.asarray(v) for v in lengths))


_NUMBERS = (int, float, bool)


_DEEPEST = 64
"""Lists inside one another, as NumPy's dims; what yields itself has no end."""


def _listed(items: Any, depth: int) -> Any:
    """Ragged arrays, ranges, generators and other iterables as lists."""
    if storage.library(items) is not None or isinstance(items, (str, bytes)) or not isinstance(items, Iterable):
        return items
    if depth > _DEEPEST:
        raise ArgumentError(f"ragged: expected lists at most {_DEEPEST} deep, got deeper ones")
    if hasattr(items, "indptr"):
        raise ArgumentError(f"ragged: expected lists, got {type(items).__name__} (use from_offsets(x.data, x.indptr))")
    if isinstance(items, RaggedArray):
        return [_listed(item, depth + 1) for item in items.unbind()]
    own = cast(Sequence[Any], items) if isinstance(items, (list, tuple)) else list(cast(Iterable[Any], items))
    return own if all(type(item) in _NUMBERS for item in own) else [_listed(item, depth + 1) for item in own]


def _library(components: Any) -> str:
    while isinstance(components, (list, tuple)):
        components = next((c for c in components if not isinstance(c, (list, tuple)) or c), 0)
    return storage.library(components) or "numpy"


def _depth(items: Any) -> int:
    """How many lists are around an array, or a list of numbers."""
    return 1 + max((_depth(item) for item in items if _is_list(item) and _holds_more(item)), default=0)


def _collect(items: Any, depth: int, counts: list[list[int]]) -> list[Any]:
    """Arrays in order, None for an empty list of numbers, whose shape and dtype are those of the others;
    `counts[k]` gets the length of every list of depth k."""
    counts[depth].append(len(items))
    found: list[Any] = []
    for item in items:
        if depth + 1 == len(counts):
            found.append(None if _is_list(item) and not item else storage.take(item))
        elif _is_list(item) and (not item or _holds_more(item)):
            found += _collect(item, depth + 1, counts)
        else:
            raise ArgumentError(f"ragged: expected arrays inside {len(counts)} lists, got one inside {depth + 1}")
    return found


def _is_list(item: Any) -> bool:
    return isinstance(item, (list, tuple))


def _holds_more(item: Any) -> bool:
    """Whether a list holds arrays or lists, not numbers. An empty list is an empty vector."""
    return any(isinstance(i, (list, tuple)) or (storage.library(i) is not None and storage.take(i).ndim) for i in item)


def _check_array(op: str, x: Any, instead: str) -> None:
    """ArgumentError for what is no ragged array; within traced code with what to do instead."""
    check_ragged(op, x)
    if isinstance(x, Tensor):
        x.refuse(op, instead)


def empty_like(x: RaggedArray, dtype: Any = None) -> RaggedArray:
    """An array with the structure of another, whose values are not set."""
    _check_array("empty_like", x, "use np.zeros_like(x)")
    wanted = x.dtype if dtype is None else storage.dtype_of(dtype)
    x = x.compacted
    values = storage.namespace(x.buffer.array).empty(x.buffer.shape, wanted)
    return RaggedArray.of(storage.give(values, x.spec.library), x.axes, op="empty_like", check=False)


def assume_valid(values: Any, *offsets: Any) -> RaggedArray:
    """As `from_offsets`, without a check of the offsets: wrong ones are undefined behaviour."""
    return from_offsets(values, *offsets, check=False)


def like(x: RaggedArray, values: Any) -> RaggedArray:
    """An array with the structure of another and values of its own, in the order of `x.values` and of the same
    extents on ragged axes. RuntimeCheckError where they do not fit."""
    _check_array("like", x, "do it outside")
    taken = storage.take(values)
    known = [None if axis is None else axis.contiguous for axis in x.axes]
    axes = [*known[: taken.ndim], *(None for _ in range(taken.ndim - len(known)))]
    return RaggedArray.of(values, axes, op="like")
