"""Sums and products of jagged and dense, element by element."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

import ragged_dialect as rg
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.compat.fbgemm.converting import check_offsets_list, dense_to_jagged, jagged, jagged_to_padded_dense
from ragged_dialect.errors import ArgumentError


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
    op: str, x_values: Dense, x_offsets: Sequence[Dense], dense: Sequence[Dense], combine: Callable[..., rg.RaggedArray]
) -> tuple[Dense, list[Dense]]:
    x = jagged(op, x_values, x_offsets)
    others = [rg.like(x, dense_to_jagged(y, x_offsets)[0]) for y in dense]
    return combine(x, *others).values, list(x_offsets)
