"""Matrix products and softmax of jagged tensors of one level."""

from __future__ import annotations

import numpy as np

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.compat.fbgemm.converting import dense_to_jagged
from ragged_dialect.errors import ArgumentError


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
