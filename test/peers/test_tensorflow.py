"""Side by side with TensorFlow's RaggedTensor: the same values and row splits to both."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.components import NESTED, STRUCTURES, array, assert_nearly, nested

import ragged_dialect as rg

# The process ends when TensorFlow's copy of MLIR is loaded before ours.
importlib.import_module("ragged_dialect.builders")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    tf: Any = pytest.importorskip("tensorflow", reason="TensorFlow is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of TensorFlow about its own code
structured = pytest.mark.parametrize("lengths", STRUCTURES)


def _peer(x: rg.RaggedArray) -> Any:
    splits = [np.asarray(x.offsets_of(dim)) for dim in x.ragged_dims]
    return tf.RaggedTensor.from_nested_row_splits(np.asarray(x.values), splits)


def _same(got: Any, expected: Any) -> None:
    """Equal lists, of numbers that are nearly so."""
    assert_nearly(got.tolist(), expected.to_list() if hasattr(expected, "to_list") else expected.numpy().tolist())


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "sin": (lambda x: np.sin(x) * 2, lambda x: tf.sin(x) * 2),
    "row": (lambda x: x + np.arange(4, dtype=np.float32), lambda x: x + tf.range(4.0)),
    "where": (lambda x: rg.where(x > 0, x, -x), lambda x: tf.where(x > 0, x, -x)),
    "sum": (lambda x: x.sum(axis=1), lambda x: tf.reduce_sum(x, 1)),
    "prod": (lambda x: x.prod(axis=1), lambda x: tf.reduce_prod(x, 1)),
    "sum across": (lambda x: x.sum(axis=0), lambda x: tf.reduce_sum(x, 0)),
    "sum of features": (lambda x: x.sum(axis=2), lambda x: tf.reduce_sum(x, 2)),
    "concat of batches": (lambda x: rg.concat([x, x * 2], axis=0), lambda x: tf.concat([x, x * 2], 0)),
    "concat of components": (lambda x: rg.concat([x, x * 2], axis=1), lambda x: tf.concat([x, x * 2], 1)),
    "concat of features": (lambda x: rg.concat([x, x * 2], axis=2), lambda x: tf.concat([x, x * 2], 2)),
    "slice": (lambda x: x[:, 1:4], lambda x: x[:, 1:4]),
    "reversed": (lambda x: x[::-1, ::-1], lambda x: x[::-1, ::-1]),
    "steps": (lambda x: x[:, 2::-2], lambda x: x[:, 2::-2]),
    "from the end": (lambda x: x[:, -2:], lambda x: x[:, -2:]),
    "feature": (lambda x: x[..., 0], lambda x: x[..., 0]),
    "one feature": (lambda x: x[:, :, 1:3], lambda x: x[:, :, 1:3]),
    "mask": (lambda x: x[x[..., 0] > 0], lambda x: tf.ragged.boolean_mask(x, x[..., 0] > 0)),
    "padded": (lambda x: rg.to_padded(x, 7.0), lambda x: x.to_tensor(7.0)),
    "truncated": (
        lambda x: rg.to_padded(x, 7.0, 2, truncate=True),
        lambda x: x.to_tensor(7.0, shape=(None, 2, None)),
    ),
    "merged": (lambda x: rg.merge(x, axis=0), lambda x: x.merge_dims(0, 1)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@structured
def test_one_level(lengths: tuple[int, ...], name: str) -> None:
    x = array(lengths)
    ours, theirs = FUNCTIONS[name]
    _same(ours(x), theirs(_peer(x)))


@pytest.mark.parametrize("name", ["max", "min", "mean"])
def test_reductions_of_components_with_elements(name: str) -> None:
    x = array((3, 1, 5))  # of an empty one TensorFlow's maximum is the least finite number
    _same(getattr(x, name)(axis=1), getattr(tf, f"reduce_{name}")(_peer(x), 1))


@structured
def test_partitions(lengths: tuple[int, ...]) -> None:
    x = array(lengths)
    peer = _peer(x)
    for ours, theirs in (
        (x.offsets, peer.row_splits),
        (x.lengths, peer.row_lengths()),
        (x.row_ids, peer.value_rowids()),
        (x.starts, peer.row_starts()),
    ):
        assert ours.tolist() == theirs.numpy().tolist()


@pytest.mark.parametrize("lengths", [n for n in STRUCTURES if n])
def test_gathered_components(lengths: tuple[int, ...]) -> None:
    x = array(lengths)
    at = np.array([len(lengths) - 1, 0, 0])
    _same(x[at], tf.gather(_peer(x), at))


def test_gathered_rows_of_components() -> None:
    x, at = array((3, 1, 5)), rg.ragged([[2, 0], [0], [4, 4, 1]])
    _same(rg.gather(x, at), tf.gather(_peer(x), tf.ragged.constant(at.tolist(), tf.int64), batch_dims=1))


TWO_LEVELS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "outer merged": (lambda x: rg.merge(x, axis=0), lambda x: x.merge_dims(0, 1)),
    "inner merged": (lambda x: rg.merge(x, axis=1), lambda x: x.merge_dims(1, 2)),
    "inner sum": (lambda x: x.sum(axis=2), lambda x: tf.reduce_sum(x, 2)),
    "both sums": (lambda x: x.sum(axis=(1, 2)), lambda x: tf.reduce_sum(tf.reduce_sum(x, 2), 1)),
    "slice": (lambda x: x[:, 1:], lambda x: x[:, 1:]),
    "inner slice": (lambda x: x[:, :, :2], lambda x: x[:, :, :2]),
    "padded": (lambda x: rg.to_padded(x, 7.0), lambda x: x.to_tensor(7.0)),
    "exp": (np.exp, tf.exp),
}


@pytest.mark.parametrize("name", TWO_LEVELS)
@pytest.mark.parametrize("lengths", NESTED)
def test_two_levels(lengths: Any, name: str) -> None:
    x = nested(lengths)
    ours, theirs = TWO_LEVELS[name]
    _same(ours(x), theirs(_peer(x)))
