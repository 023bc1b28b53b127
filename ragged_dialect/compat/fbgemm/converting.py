"""Conversions between jagged and dense."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage, validation
from ragged_dialect.arrays.core.arguments import integer, listed
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.core.structure import Structure
from ragged_dialect.errors import ArgumentError, RuntimeCheckError

MAX_LEVELS = 5
"""Jagged dims that FBGEMM's operators are made for."""


def check_offsets_list(op: str, offsets: Dense) -> Sequence[Dense]:
    """The list of offsets. ArgumentError for what is no list of 1 to 5 vectors."""
    listed(op, "offsets", offsets)
    if not 1 <= len(offsets) <= MAX_LEVELS:
        raise ArgumentError(f"{op}: expected 1 to {MAX_LEVELS} offsets, got {len(offsets)}")
    return offsets


def jagged(op: str, values: Dense, offsets: Dense) -> rg.RaggedArray:
    """The ragged array of values and a list of offsets, whose last ends with the values."""
    return rg.from_offsets(values, *check_offsets_list(op, offsets))


def jagged_to_padded_dense(
    values: Dense, offsets: Sequence[Dense], max_lengths: Sequence[int], padding_value: float = 0
) -> Dense:
    """A dense array [B, *max_lengths, ...] of values [total, ...] and offsets of 1 to 5 levels.

    What a component has beyond its maximum is cut off, what it lacks is `padding_value`. Values after
    the last offset belong to no component.

    RuntimeCheckError for offsets that do not fit, ArgumentError for another number of maxima."""
    op = "jagged_to_padded_dense"
    check_offsets_list(op, offsets)
    maxima = [integer(op, "max_lengths", limit) for limit in listed(op, "max_lengths", max_lengths)]
    if len(maxima) != len(offsets):
        raise ArgumentError(f"{op}: expected {len(offsets)} max_lengths, got {len(maxima)}")
    x = jagged(op, _up_to_the_end(values, offsets[-1]), offsets)
    return rg.to_padded(x, padding_value, tuple(maxima), truncate=True)


def _up_to_the_end(values: Dense, offsets: Dense) -> Dense:
    last = storage.take(offsets)
    values = values if storage.library(values) else storage.take(values)
    return values if last.ndim != 1 or not last.size else values[: max(0, int(last[-1]))]


def jagged_2d_to_dense(values: Dense, offsets: Dense, max_sequence_length: int) -> Dense:
    """A dense array [B, max_sequence_length, D] of values [total, D], with zeros behind components;
    longer ones are cut off. ArgumentError for values of another rank."""
    _check_rank("jagged_2d_to_dense", values, 2)
    return jagged_to_padded_dense(values, [offsets], [max_sequence_length])


def jagged_1d_to_dense(values: Dense, offsets: Dense, max_sequence_length: int, padding_value: float) -> Dense:
    """A dense array [B, max_sequence_length] of values [total], with `padding_value` behind components;
    longer ones are cut off. ArgumentError for values of another rank."""
    _check_rank("jagged_1d_to_dense", values, 1)
    return jagged_to_padded_dense(values, [offsets], [max_sequence_length], padding_value)


def _check_rank(op: str, values: Dense, rank: int) -> None:
    if storage.peek(values).ndim != rank:
        raise ArgumentError(f"{op}: expected values of rank {rank}, got rank {storage.peek(values).ndim}")


def dense_to_jagged(dense: Dense, x_offsets: Sequence[Dense], total_L: int | None = None) -> tuple[Dense, list[Dense]]:
    """Values [total, ...] of a dense array [B, L1, ..., Lk, ...] at the places of k levels of offsets, and
    the offsets. Where the dense array is too short, values are 0.

    RuntimeCheckError for offsets that do not fit, and for a `total_L` that is not their last."""
    op = "dense_to_jagged"
    structure = _structure(op, x_offsets)
    total = structure.total(len(x_offsets))
    if total_L is not None and total_L != total:
        raise RuntimeCheckError(f"{op}: expected total_L == {total}, got {total_L}")
    rows = dense
    for level in range(1, len(x_offsets) + 1):
        lengths = structure.lengths(level)
        rows = rg.from_padded(_reaching(rows, structure.longest[level]), lengths).values
    return rows, list(x_offsets)


def _structure(op: str, offsets: Dense) -> Structure:
    """The structure of offsets, checked."""
    vectors = [
        validation.index_vector(storage.take(v), f"{op}: offsets {level}")
        for level, v in enumerate(check_offsets_list(op, offsets))
    ]
    made = Structure.of_offsets(*vectors)
    made.validate(op, int(vectors[-1][-1]) if vectors[-1].size else 0)
    return made


def _reaching(dense: Dense, extent: int) -> Dense:
    """The dense array itself, or with zeros up to an extent of dim 1."""
    taken = dense if storage.library(dense) else np.asarray(dense)
    if taken.ndim < 2 or taken.shape[1] >= extent:
        return taken
    return rg.to_padded(rg.narrow(taken, 0, taken.shape[1]), 0, extent)
