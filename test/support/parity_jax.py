"""The modes and parameters of `jax.lax.ragged_dot_general`."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.parity import Table, refused

import ragged_dialect as rg

TABLE = Table("JAX's ragged products", "ragged_dialect.arrays.ops.matmul")

SIZES = np.array([2, 0, 1])


def given(*shape: int) -> Any:
    """Rows of three groups."""
    return np.arange(3 * np.prod(shape), dtype=np.float32).reshape(3, *shape)


def grouped(x: Any) -> Any:
    return rg.from_lengths(x, SIZES)


@TABLE.works("ragged_dot", "ragged non-contracting dim", note='`mode="rows"`, also `matmul`')
def _rows() -> None:
    x, w = given(2), given(2, 4)
    expected = np.concatenate([x[:2] @ w[0], x[2:] @ w[2]])
    assert np.array_equal(rg.ragged_dot(grouped(x), w).values, expected)


@TABLE.works("ragged contracting dim", note='`mode="contraction"`, also `transposed_matmul`')
def _contraction() -> None:
    x, y = given(2), given(4)
    found = rg.ragged_dot(grouped(x), grouped(y), mode="contraction")
    assert np.array_equal(found, [x[:2].T @ y[:2], np.zeros((2, 4)), x[2:].T @ y[2:]])


@TABLE.works("ragged batch dim", note='`mode="batch"`')
def _batch() -> None:
    x, y = given(2, 5), given(5, 4)
    assert np.array_equal(rg.ragged_dot(grouped(x), grouped(y), mode="batch").values, x @ y)


@TABLE.works("dimension_numbers", note="the subscripts of `einsum`")
def _dimensions() -> None:
    x, w = given(2), given(4, 2)
    assert np.array_equal(rg.einsum("gmk,gnk->gmn", grouped(x), w).values[2:], x[2:] @ w[2].T)


@TABLE.differs("group_sizes", why="the lengths of an array, checked when it is made; JAX does with fewer rows")
def _sizes() -> None:
    refused(rg.RaggedError, lambda: rg.from_lengths(given(2), np.array([2, 0, 0])))


@TABLE.differs("preferred_element_type", why="the operands' dtype, short floats are added in float32")
def _dtype() -> None:
    x = given(2).astype(np.float16)
    assert rg.ragged_dot(grouped(x), given(2, 4).astype(np.float16)).dtype == np.float16


TABLE.not_applicable("precision", why="products are of the operands' dtype")
TABLE.not_applicable("group_offset", why="a slice of a batch is a view; JAX does not take one yet")
