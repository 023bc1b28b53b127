"""Parts of components, and components by index."""

from __future__ import annotations

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage, validation
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.errors import ArgumentError, RangeError, RuntimeCheckError


def given_like(vector: Dense, given: Dense) -> Dense:
    """An index vector in the library and dtype of one that came in."""
    taken = storage.take(given)
    return storage.give(vector.astype(taken.dtype, copy=False), storage.library(given) or "numpy")


def jagged_slice(x_values: Dense, x_lengths: Dense, start: Dense, slice_length: int) -> tuple[Dense, Dense]:
    """At most `slice_length` elements of every component from `start[b]` on: values and lengths.

    RangeError for a start that is negative or behind the end of its component."""
    op = "jagged_slice"
    x = rg.from_lengths(x_values, x_lengths)
    slice_length = integer(op, "slice_length", slice_length)
    if slice_length < 0:
        raise ArgumentError(f"{op}: expected slice_length >= 0, got {slice_length}")
    begin = validation.index_vector(storage.take(start), f"{op}: start")
    lengths, starts = x.structure(1).lengths(1), x.structure(1).starts(1)
    if begin.shape != lengths.shape:
        raise RuntimeCheckError(f"{op}: expected {lengths.shape[0]} numbers for start, got {begin.shape[0]}")
    outside = (begin < 0) | (begin > lengths)
    if bool(outside.any()):
        at = int(outside.argmax())
        raise RangeError(f"{op}: component {at}: expected start in [0, {int(lengths[at])}], got {int(begin[at])}")
    sizes = (lengths - begin).clip(None, slice_length)
    made = rg.compact(rg.from_starts_lengths(x_values, starts + begin, sizes))
    return made.values, given_like(sizes, x_lengths)


def jagged_index_select(
    values: Dense, lengths: Dense, indices: Dense, num_dense_output_rows: int | None = None
) -> list[Dense]:
    """The components at `indices`, in that order and perhaps more than once: values and lengths. Negative
    ones count from the end.

    IndexError for an index out of range; RuntimeCheckError for a `num_dense_output_rows` that is not
    the sum of the lengths."""
    op = "jagged_index_select"
    at = validation.index_vector(storage.take(indices), f"{op}: indices")
    made = rg.compact(rg.take(rg.from_lengths(values, lengths), at, axis=0))
    if num_dense_output_rows is not None and num_dense_output_rows != made.total:
        raise RuntimeCheckError(f"{op}: expected num_dense_output_rows == {made.total}, got {num_dense_output_rows}")
    return [made.values, given_like(made.structure(1).lengths(1), lengths)]
