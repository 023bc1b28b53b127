"""The distinct indices of every feature of a batch."""

from __future__ import annotations

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage, validation
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.core.structure import offsets_of
from ragged_dialect.compat.fbgemm.selecting import given_like
from ragged_dialect.errors import ArgumentError, RangeError

OP = "jagged_unique_indices"


def jagged_unique_indices(
    hash_size_cumsum: Dense, hash_size_offsets: Dense, offsets: Dense, indices: Dense
) -> tuple[Dense, Dense, Dense, Dense]:
    """Lengths and offsets of the distinct indices, these indices, and for every index where it went.

    `indices` are those of T features of B samples, feature by feature, with T * B + 1 `offsets`. Feature t
    has indices in [0, hash_size_cumsum[t + 1] - hash_size_cumsum[t]); one of size 0 uses the table of
    the next. Features from hash_size_offsets[g] on, below hash_size_offsets[g + 1], are a group: its
    distinct indices are in ascending order, and their count is spread evenly over the samples of
    its features, the first of which get one more.

    ArgumentError for offsets that do not fit T, RangeError for an index that its table does not have."""
    x = rg.from_offsets(indices, offsets)
    sums = validation.index_vector(storage.take(hash_size_cumsum), f"{OP}: hash_size_cumsum")
    groups = validation.index_vector(storage.take(hash_size_offsets), f"{OP}: hash_size_offsets")
    features = sums.shape[0] - 1
    if features < 1 or len(x) % features:
        raise ArgumentError(f"{OP}: expected offsets for samples of {features} features, got {len(x)} components")
    validation.check_offsets(groups, OP, 0, features)
    batch = len(x) // features
    xp = storage.namespace(sums)
    owner = storage.take(x.row_ids) // max(batch, 1)
    linear = storage.take(indices).astype("int64") + sums[owner]
    low, high = sums[groups[:-1]], sums[groups[1:]]
    table = xp.searchsorted(groups, owner, side="right") - 1
    _check_range(linear, low[table], high[table])
    found, inverse = xp.unique(linear, return_inverse=True)
    counts = xp.searchsorted(found, high) - xp.searchsorted(found, low)
    lengths = _spread(counts, (groups[1:] - groups[:-1]) * batch)
    home = xp.searchsorted(sums, found, side="right") - 1
    return (
        given_like(lengths, offsets),
        given_like(offsets_of(lengths), offsets),
        given_like(found - sums[home], indices),
        storage.give(inverse.astype("int64", copy=False), storage.library(indices) or "numpy"),
    )


def _check_range(linear: Dense, low: Dense, high: Dense) -> None:
    outside = (linear < low) | (linear >= high)
    if bool(outside.any()):
        at = int(outside.argmax())
        text = f"expected an index in [0, {int(high[at] - low[at])}), got {int(linear[at] - low[at])}"
        raise RangeError(f"{OP}: indices[{at}]: {text}")


def _spread(counts: Dense, slots: Dense) -> Dense:
    """Per slot of every group its share of the group's count: shares differ by at most one."""
    xp = storage.namespace(counts)
    whole, rest = counts // slots.clip(1), counts % slots.clip(1)
    place = xp.arange(int(slots.sum())) - xp.repeat(slots.cumsum() - slots, slots)
    return xp.repeat(whole, slots) + (place < xp.repeat(rest, slots))
