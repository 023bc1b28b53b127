"""The names of FBGEMM's page on jagged tensor operators, and of the operators it stands for."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from support.parity import Table, refused

from ragged_dialect.compat import fbgemm
from ragged_dialect.errors import RuntimeCheckError

TABLE = Table("FBGEMM's jagged tensor operators", "ragged_dialect.compat.fbgemm")
VALUES = np.array([[1.0, 1], [2, 2], [3, 3]])
OFFSETS = np.array([0, 1, 3])
DENSE = np.array([[[1.0, 1], [9, 9]], [[2, 2], [3, 3]]])


def same(got: Any, expected: Any) -> None:
    """Assert values."""
    assert got.tolist() == np.asarray(expected).tolist()


@TABLE.works("Values", note="of any number of dense dims, also none")
def _values() -> None:
    assert fbgemm.jagged_to_padded_dense(VALUES.reshape(3, 1, 2), [OFFSETS], [2]).shape == (2, 2, 1, 2)


@TABLE.differs("Offsets", why="they are checked; FBGEMM reads out of bounds where they are wrong")
def _offsets() -> None:
    refused(RuntimeCheckError, lambda: fbgemm.jagged_to_padded_dense(VALUES, [np.array([0, 2, 1])], [2]))


@TABLE.works("MaxLengths", note="what exceeds them is cut off")
def _max_lengths() -> None:
    same(fbgemm.jagged_to_padded_dense(VALUES, [OFFSETS], [1]), [[[1, 1]], [[2, 2]]])


@TABLE.works("jagged_to_padded_dense", "Jagged to Dense", note="1 to 5 levels, all dtypes")
def _padded() -> None:
    same(fbgemm.jagged_to_padded_dense(VALUES, [OFFSETS], [2], 7), [[[1, 1], [7, 7]], [[2, 2], [3, 3]]])
    levels = [np.array([0, 1, 2]), OFFSETS]
    same(fbgemm.jagged_to_padded_dense(VALUES[:, 0], levels, [1, 2], 7), [[[1, 7]], [[2, 3]]])


@TABLE.works("jagged_1d_to_dense", "jagged_2d_to_dense")
def _to_dense() -> None:
    same(fbgemm.jagged_1d_to_dense(VALUES[:, 0], OFFSETS, 2, -1), [[1, -1], [2, 3]])
    same(fbgemm.jagged_2d_to_dense(VALUES, OFFSETS, 2), [[[1, 1], [0, 0]], [[2, 2], [3, 3]]])


@TABLE.works(
    "dense_to_jagged", "Dense to Jagged", note="0 where the dense array is too short; `total_L` has to be right"
)
def _dense_to_jagged() -> None:
    same(fbgemm.dense_to_jagged(DENSE, [OFFSETS], 3)[0], VALUES)
    same(fbgemm.dense_to_jagged(DENSE[:, :1], [OFFSETS])[0], [[1, 1], [2, 2], [0, 0]])


@TABLE.works("jagged_dense_elementwise_add")
def _add() -> None:
    same(fbgemm.jagged_dense_elementwise_add(VALUES, [OFFSETS], DENSE), [[[2, 2], [9, 9]], [[4, 4], [6, 6]]])


@TABLE.works(
    "jagged_dense_elementwise_add_jagged_output",
    "jagged_dense_dense_elementwise_add_jagged_output",
    "jagged_dense_elementwise_mul",
)
def _jagged_output() -> None:
    same(fbgemm.jagged_dense_elementwise_add_jagged_output(VALUES, [OFFSETS], DENSE)[0], VALUES * 2)
    same(fbgemm.jagged_dense_dense_elementwise_add_jagged_output(VALUES, [OFFSETS], DENSE, DENSE)[0], VALUES * 3)
    same(fbgemm.jagged_dense_elementwise_mul(VALUES, [OFFSETS], DENSE)[0], VALUES**2)


@TABLE.works("batched_dense_vec_jagged_2d_mul")
def _vectors() -> None:
    got = fbgemm.batched_dense_vec_jagged_2d_mul(np.array([[1.0, 9], [1, 9], [1, 2], [3, 4]]), VALUES, OFFSETS)
    same(got, [[1], [1], [8], [18]])


@TABLE.works("jagged_dense_bmm", note="0 in rows beyond `max_L`")
def _dense_bmm() -> None:
    weights = np.array([np.eye(2), 2 * np.eye(2)])
    same(fbgemm.jagged_dense_bmm(VALUES, OFFSETS, weights, 2)[0], [[1, 1], [4, 4], [6, 6]])
    same(fbgemm.jagged_dense_bmm(VALUES, OFFSETS, weights, 1)[0], [[1, 1], [4, 4], [0, 0]])


@TABLE.works("jagged_jagged_bmm")
def _jagged_bmm() -> None:
    same(fbgemm.jagged_jagged_bmm(VALUES, VALUES, OFFSETS, 2), [np.full((2, 2), 1.0), np.full((2, 2), 13.0)])


@TABLE.differs("jagged_softmax", why="rows beyond `max_L` are 0; FBGEMM leaves them unset")
def _softmax() -> None:
    same(fbgemm.jagged_softmax(VALUES * 0, OFFSETS, 2)[0], [[1, 1], [0.5, 0.5], [0.5, 0.5]])
    same(fbgemm.jagged_softmax(VALUES * 0, OFFSETS, 1)[0], [[1, 1], [1, 1], [0, 0]])


@TABLE.works("jagged_slice")
def _slice() -> None:
    values, lengths = fbgemm.jagged_slice(np.array([1, 2, 3]), np.array([1, 2]), np.array([1, 0]), 1)
    assert (values.tolist(), lengths.tolist()) == ([2], [0, 1])


@TABLE.works("jagged_index_select", note="for values of any rank; the count of rows has to be right")
def _index_select() -> None:
    values, lengths = fbgemm.jagged_index_select(VALUES, np.array([1, 2]), np.array([1, 1, 0]))
    assert (values[:, 0].tolist(), lengths.tolist()) == ([2, 3, 2, 3, 1], [2, 2, 1])


@TABLE.works("jagged_unique_indices", note="on the CPU, too; an index that its table does not have is an error")
def _unique() -> None:
    sums, groups, offsets = np.array([0, 5, 9]), np.array([0, 1, 2]), np.array([0, 2, 3, 4, 6])
    lengths, ends, unique, reverse = fbgemm.jagged_unique_indices(sums, groups, offsets, np.array([3, 1, 3, 0, 2, 0]))
    assert (lengths.tolist(), ends.tolist()) == ([1, 1, 1, 1], [0, 1, 2, 3, 4])
    assert (unique.tolist(), reverse.tolist()) == ([1, 3, 0, 2], [1, 0, 1, 2, 3, 2])


@TABLE.works("gradients", note="of PyTorch's tensors")
def _gradients() -> None:
    if find_spec("torch") is None:  # `test/peers` compares all of them with FBGEMM's
        return
    torch: Any = import_module("torch")
    values = torch.from_numpy(VALUES.copy()).requires_grad_()
    fbgemm.jagged_softmax(values, torch.from_numpy(OFFSETS), 2)[0][1].sum().backward()
    assert values.grad.abs().sum() > 0
    assert values.grad[0].tolist() == [0, 0]
