"""Sums and products of jagged and dense, softmax, and the distinct indices of every feature of a batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage, validation
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.storage import ArrayLike, Dense
from ragged_dialect.arrays.core.structure import offsets_of
from ragged_dialect.compat.fbgemm.converting import check_offsets_list, dense_to_jagged, jagged, jagged_to_padded_dense
from ragged_dialect.compat.fbgemm.selecting import given_like
from ragged_dialect.errors import ArgumentError, RangeError

Combine = Callable[[ArrayLike, ArrayLike], ArrayLike] | Callable[[ArrayLike, ArrayLike, ArrayLike], ArrayLike]


def jagged_dense_elementwise_add(x_values: Dense, x_offsets: Sequence[Dense], y: Dense) -> Dense:
    """x + y as a dense array of the shape of y, [B, L1, ..., Lk, D]. x counts as 0 where it has no
    element; what it has beyond y is cut off. ArgumentError for shapes that do not fit."""
    op = "jagged_dense_elementwise_add"
    levels = len(check_offsets_list(op, x_offsets))
    dense = y if storage.library(y) else np.asarray(y)
    if dense.ndim < levels + 1:
        raise ArgumentError(f"{op}: expected y of rank {levels + 1} or more, got rank {dense.ndim}")
    padded = jagged_to_padded_dense(x_values, x_offsets, dense.shape[1 : 1 + levels])
    if tuple(padded.shape) != tuple(dense.shape):
        raise ArgumentError(f"{op}: expected y of shape {tuple(padded.shape)}, got {tuple(dense.shape)}")
    return padded + dense


def jagged_dense_elementwise_add_jagged_output(
    x_values: Dense, x_offsets: Sequence[Dense], y: Dense
) -> tuple[Dense, list[Dense]]:
    """Values of x + y with the structure of x, and the offsets. y counts as 0 where it is too short."""
    return _combined("jagged_dense_elementwise_add_jagged_output", x_values, x_offsets, [y], lambda x, y: x + y)


def jagged_dense_dense_elementwise_add_jagged_output(
    x_values: Dense, x_offsets: Sequence[Dense], y_0: Dense, y_1: Dense
) -> tuple[Dense, list[Dense]]:
    """Values of x + y_0 + y_1 with the structure of x, and the offsets. y_0 and y_1 count as 0 where they
    are too short."""
    op = "jagged_dense_dense_elementwise_add_jagged_output"
    return _combined(op, x_values, x_offsets, [y_0, y_1], lambda x, y_0, y_1: x + y_0 + y_1)


def jagged_dense_elementwise_mul(x_values: Dense, x_offsets: Sequence[Dense], y: Dense) -> tuple[Dense, list[Dense]]:
    """Values of x * y with the structure of x, and the offsets. y counts as 0 where it is too short."""
    return _combined("jagged_dense_elementwise_mul", x_values, x_offsets, [y], lambda x, y: x * y)


def _combined(
    op: str, x_values: Dense, x_offsets: Sequence[Dense], dense: Sequence[Dense], combine: Combine
) -> tuple[Dense, list[Dense]]:
    x = jagged(op, x_values, x_offsets)
    others = [rg.like(x, dense_to_jagged(y, x_offsets)[0]) for y in dense]
    return combine(x, *others).values, list(x_offsets)


def batched_dense_vec_jagged_2d_mul(v: Dense, a_values: Dense, a_offsets: Dense) -> Dense:
    """Products of vectors v [B * H, N] with the matrices [length, D] of each component and head of a
    jagged tensor [B, length, H * D]: [B * H, D]. Rows of a component beyond N are left out; an empty
    component gives 0.

    ArgumentError where B does not divide the vectors, LayoutError where H does not divide the columns."""
    op = "batched_dense_vec_jagged_2d_mul"
    a = rg.from_offsets(a_values, a_offsets)
    vectors = v if storage.library(v) else np.asarray(v)
    if a.ndim != 3 or vectors.ndim != 2:
        raise ArgumentError(f"{op}: expected v and values of rank 2, got ranks {vectors.ndim} and {a.ndim - 1}")
    batch, count = len(a), vectors.shape[0]
    if count % batch if batch else count:
        raise ArgumentError(f"{op}: expected a multiple of {batch} vectors, got {count}")
    heads = count // batch if batch else 1
    a = rg.reshape(_cut(op, a, vectors.shape[1]), dims=(2,), shape=(heads, -1))
    product = rg.einsum("bhl,blhd->bhd", vectors.reshape(batch, heads, vectors.shape[1]), a)
    return product.reshape(count, product.shape[2])


def jagged_dense_bmm(x_values: Dense, x_offsets: Dense, y: Dense, max_L: int) -> tuple[Dense, Dense]:
    """Products of the components of x, [length, K], with y [B, K, N]: values [total, N], and the offsets.
    Rows of a component beyond `max_L` are 0. RuntimeCheckError where y has another batch or K."""
    x = rg.from_offsets(x_values, x_offsets)
    product = rg.matmul(_cut("jagged_dense_bmm", x, max_L), y)
    return _whole(product, x, x_offsets), x_offsets


def jagged_jagged_bmm(x_values: Dense, y_values: Dense, x_offsets: Dense, max_L: int) -> Dense:
    """x^T y of every component, of values [total, M] and [total, N]: [B, M, N]. Rows of a component beyond
    `max_L` are left out; an empty component gives 0. RuntimeCheckError for values of another total."""
    x, y = (_cut("jagged_jagged_bmm", rg.from_offsets(v, x_offsets), max_L) for v in (x_values, y_values))
    return rg.transposed_matmul(x, y)


def jagged_softmax(values: Dense, x_offsets: Dense, max_L: int) -> tuple[Dense, Dense]:
    """The softmax over each component of values [total, D], column by column, and the offsets. Rows of a
    component beyond `max_L` do not take part, and are 0 (FBGEMM leaves them unset)."""
    x = rg.from_offsets(values, x_offsets)
    return _whole(rg.softmax(_cut("jagged_softmax", x, max_L), axis=1), x, x_offsets), x_offsets


def _cut(op: str, x: rg.RaggedArray, limit: int) -> rg.RaggedArray:
    """The first `limit` rows of every component: a view."""
    limit = integer(op, "max_L", limit)
    if limit < 0:
        raise ArgumentError(f"{op}: expected max_L >= 0, got {limit}")
    return x if x.max_length <= limit else x[:, :limit]


def _whole(cut: rg.RaggedArray, x: rg.RaggedArray, offsets: Dense) -> Dense:
    """Values over the structure of x of an array over its first rows, with zeros for the others."""
    return cut.values if cut.total == x.total else dense_to_jagged(rg.to_padded(cut), [offsets])[0]


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
