"""Functions that make ragged arrays; each checks the structure once."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from typing import Any, cast

import numpy as np

from ragged_dialect.arrays.core import storage, validation
from ragged_dialect.arrays.core.arguments import check_ragged, flag, integer, name_error
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.storage import ArrayLike, DTypeLike
from ragged_dialect.arrays.core.structure import Structure, offsets_of
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.errors import ArgumentError, RuntimeCheckError
from ragged_dialect.runtime.memory import enough
from ragged_dialect.runtime.signature import Array


def _taken(given: Any, name: str, take: Callable[[Any], Array] = storage.peek) -> Array:
    """What was given as an array. Errors name it."""
    try:
        return take(given)
    except ArgumentError as error:
        name_error(name, error)
        raise


def _vector(vector: object, name: str, like: Array, reach: int | None = None) -> Array:
    """An index vector on the device of the values. A plain sequence of numbers goes to it."""
    known = storage.library(vector) is not None
    inside = cast("Sequence[object]", vector) if isinstance(vector, (list, tuple)) else ()
    if any(isinstance(v, Sized) and getattr(v, "ndim", 1) for v in inside):
        raise ArgumentError(f"{name}: expected integers, got a sequence of vectors (every level is an argument)")
    taken = _taken(vector, name, storage.take)
    if not known and not taken.size:
        taken = taken.astype(np.int64)
    if not known and storage.device(like) != "cpu":
        taken = storage.namespace(like).asarray(taken)
    return validation.index_vector(taken, name, reach)


def _traced(values: object, vectors: tuple[object, ...], name: str) -> ArrayLike:
    """Of a traced value, whose structure a program checks; None of anything else. ArgumentError for no vectors."""
    if not vectors:
        raise ArgumentError(f"from_{name}: expected {name} of at least 1 level, got 0")
    if not is_traced(values):
        return None
    made: ArrayLike = values
    if not made.layout.is_dense:
        raise ArgumentError(f'from_{name}: expected a dense array, got layout "{made.layout}" (rg.partition takes it)')
    for vector in reversed(vectors):
        made = made.partition(vector, lengths=name == "lengths")
    return made


def _partitioned(op: str, values: object) -> Array:
    """Values that have rows. ArgumentError for a number."""
    taken = _taken(values, op)
    if taken.ndim == 0:
        raise ArgumentError(f"{op}: expected values of rank 1 or more, got rank 0")
    return taken


@enough("from_offsets")
def from_offsets(values: object, *offsets: object, check: bool = True) -> RaggedArray:
    """A ragged array of values, [total, …], and the offsets of every ragged dim, outermost first:
    exclusive prefix sums with the total at the end. The values are not copied.

    RuntimeCheckError names the component where offsets decrease or do not fit; ArgumentError for
    offsets that are not integers or whose dtype is too narrow."""
    traced = _traced(values, offsets, "offsets")
    if traced is not None:
        return traced
    taken = _partitioned("from_offsets", values)
    vectors = [
        _vector(v, f"from_offsets: offsets {level}", taken, taken.shape[0] if level == len(offsets) - 1 else None)
        for level, v in enumerate(offsets)
    ]
    for level, vector in enumerate(vectors):
        if vector.shape[0] == 0:
            validation.check_offsets(vector, "from_offsets", level + 1, 0)
    axes = [Structure.of_offsets(*vectors), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_offsets", check=flag("from_offsets", "check", check))


@enough("from_lengths")
def from_lengths(values: object, *lengths: object, check: bool = True) -> RaggedArray:
    """As `from_offsets`, with the lengths of the components of every level, outermost first.

    RuntimeCheckError for a negative length, or lengths that do not sum to what they partition."""
    traced = _traced(values, lengths, "lengths")
    if traced is not None:
        return traced
    taken = _partitioned("from_lengths", values)
    vectors = [_vector(v, f"from_lengths: lengths {level}", taken) for level, v in enumerate(lengths)]
    if flag("from_lengths", "check", check):
        extents = [*(v.shape[0] for v in vectors[1:]), taken.shape[0]]
        for level, (vector, extent) in enumerate(zip(vectors, extents, strict=True)):
            validation.check_lengths(vector, "from_lengths", level + 1, extent)
    axes = [Structure.of_offsets(*map(offsets_of, vectors)), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_lengths", check=False)


@enough("from_starts_lengths")
def from_starts_lengths(values: object, starts: object, lengths: object, check: bool = True) -> RaggedArray:
    """See `index.making.from_starts_lengths`, of what is not traced."""
    taken = _partitioned("from_starts_lengths", values)
    vectors = [
        _vector(v, f"from_starts_lengths: {name}", taken) for v, name in ((starts, "starts"), (lengths, "lengths"))
    ]
    structure = Structure("dw", vectors, (vectors[0].shape[0], None))
    axes = [structure, *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_starts_lengths", check=flag("from_starts_lengths", "check", check))


@enough("from_row_ids")
def from_row_ids(values: object, row_ids: object, nrows: int | None = None, check: bool = True) -> RaggedArray:
    """See `index.making.from_row_ids`, of what is not traced."""
    taken = _taken(values, "from_row_ids")
    ids = _vector(row_ids, "from_row_ids: row_ids", taken)
    if taken.ndim == 0 or ids.shape[0] != taken.shape[0]:
        wanted = taken.shape[0] if taken.ndim else 0
        raise ArgumentError(f"from_row_ids: expected a row id for each of {wanted} values, got {ids.shape[0]}")
    largest = int(ids.max()) if ids.shape[0] else -1
    count = largest + 1 if nrows is None else integer("from_row_ids", "nrows", nrows)
    if count < 0:
        raise RuntimeCheckError(f"from_row_ids: expected nrows >= 0, got {count}")
    if flag("from_row_ids", "check", check):
        _check_row_ids(ids, count)
    offsets = offsets_of(storage.namespace(ids).bincount(ids, minlength=count).astype("int64"))
    axes = [Structure.of_offsets(offsets), *(None for _ in range(taken.ndim - 1))]
    return RaggedArray.of(values, axes, op="from_row_ids", check=False)


def _check_row_ids(ids: Array, count: int) -> None:
    outside = (ids < 0) | (ids >= count)
    if bool(outside.any()):
        at = int(outside.argmax())
        raise RuntimeCheckError(f"from_row_ids: expected row_ids[{at}] in [0, {count}), got {int(ids[at])}")
    falls = ids[1:] < ids[:-1]
    if bool(falls.any()):
        at = int(falls.argmax())
        raise RuntimeCheckError(
            f"from_row_ids: expected row_ids[{at + 1}] >= row_ids[{at}], got {int(ids[at + 1])} < {int(ids[at])} "
            "(sort values and ids by the ids, or rg.take(values, rg.group_by(row_ids, nrows)))"
        )


def narrow(dense: ArrayLike, start: ArrayLike, length: ArrayLike) -> RaggedArray:
    """See `index.making.narrow`, of what is not traced."""
    taken = _taken(dense, "narrow")
    if taken.ndim < 2:
        raise ArgumentError(f"narrow: expected a dense array of rank 2 or more, got rank {taken.ndim}")
    batch, extent = taken.shape[:2]
    xp = storage.namespace(taken)
    starts, lengths = (
        _vector(xp.full(batch, v) if np.ndim(v) == 0 else v, f"narrow: {name}", taken)
        for v, name in ((start, "start"), (length, "length"))
    )
    for vector, name in ((starts, "start"), (lengths, "length")):
        if vector.shape[0] != batch:
            raise RuntimeCheckError(f"narrow: expected {batch} numbers for {name}, got {vector.shape[0]}")
    validation.check_windows(starts, lengths, "narrow", 1, extent)
    structure = Structure("dw", [starts + extent * xp.arange(batch), lengths], (batch, None))
    axes = [structure, *(None for _ in range(taken.ndim - 2))]
    made = (taken if storage.library(dense) is None else dense).reshape(batch * extent, *taken.shape[2:])
    return RaggedArray.of(made, axes, op="narrow", check=False)


def _check_array(op: str, x: Any, instead: str) -> None:
    """ArgumentError for what is no ragged array; within traced code with what to do instead."""
    check_ragged(op, x)
    if not isinstance(x, RaggedArray):  # a traced value
        x.refuse(op, instead)


@enough("empty_like")
def empty_like(x: RaggedArray, dtype: DTypeLike | None = None) -> RaggedArray:
    """An array with the structure of another, whose values are not set."""
    _check_array("empty_like", x, "use np.zeros_like(x)")
    wanted = x.dtype if dtype is None else storage.dtype_of(dtype)
    x = x.detach().compacted
    values = storage.namespace(x.buffer.array).empty(x.buffer.shape, wanted)
    return RaggedArray.of(storage.give(values, x.spec.library), x.axes, op="empty_like", check=False)


def assume_valid(values: object, *offsets: object) -> RaggedArray:
    """As `from_offsets`, without a check of the offsets: wrong ones are undefined behaviour."""
    return from_offsets(values, *offsets, check=False)


def like(x: RaggedArray, values: object) -> RaggedArray:
    """`rg.like` outside of traced code."""
    check_ragged("like", x)
    taken = _taken(values, "like")
    known = [None if axis is None else axis.contiguous for axis in x.axes]
    axes = [*known[: taken.ndim], *(None for _ in range(taken.ndim - len(known)))]
    return RaggedArray.of(values, axes, op="like")
