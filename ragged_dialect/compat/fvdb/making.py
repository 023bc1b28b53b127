"""Ragged arrays of what fvdb's constructors take: one level for a list of tensors, two for lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ragged_dialect.arrays.convert.lists import ragged
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import check_ragged, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_lengths, from_offsets, from_row_ids
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.levels import compact
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError

LAYOUTS = ("dr", "drr")


def of_array(array: RaggedArray) -> RaggedArray:
    """A ragged array that may stand for a jagged tensor. LayoutError where a nesting other than one or
    two ragged levels in front is in its layout."""
    check_ragged("JaggedTensor", array)
    array = compact(array) if array.layout.has_windows else array
    first, *rest = array.layout.axes
    if first not in LAYOUTS or any(letters != "d" for letters in rest):
        raise LayoutError(f'JaggedTensor: expected one or two ragged levels in front, got layout "{array.layout}"')
    return array


def of_tensors(tensors: Any) -> RaggedArray:
    """Of one tensor, a list of tensors or a list of lists of them; None makes no tensor at all."""
    if tensors is None:
        return from_offsets(np.zeros(0, np.float32), [0])
    if storage.library(tensors) is not None:
        return of_tensor(tensors)
    nested = [isinstance(item, (list, tuple)) for item in listed("JaggedTensor", "tensors", tensors)]
    if any(nested) and not all(nested):
        raise ArgumentError("JaggedTensor: expected tensors or lists of tensors, got both")
    return of_lists(tensors) if any(nested) else ragged(list(tensors))


def of_tensor(data: Dense) -> RaggedArray:
    """Of one tensor."""
    taken = storage.peek(data)
    if taken.ndim == 0:
        raise ArgumentError("JaggedTensor: expected a tensor of rank 1 or more, got rank 0")
    return from_offsets(data, [0, taken.shape[0]])


def of_lists(tensors: Sequence[Sequence[Dense]]) -> RaggedArray:
    """Of lists of tensors; a list may be empty."""
    op = "JaggedTensor"
    flat = ragged([t for row in listed(op, "lists", tensors) for t in listed(op, "tensors", row)])
    return from_lengths(flat.values, [len(row) for row in tensors], flat.lengths)


def grouped(flat: RaggedArray, list_ids: Dense) -> RaggedArray:
    """A list of tensors in lists, by fvdb's list ids: [num_tensors, 2] with the list of every tensor and its
    place there, [total] with the list of every element, or [0, 1] for no lists.

    RuntimeCheckError for ids that decrease, places that do not count up from 0, elements of a tensor that
    are in several lists, and tensors without elements where ids are those of elements."""
    ids = storage.to_host(storage.take(list_ids))
    if ids.shape == (0, 1):  # a mere list, as `jlidx` says it
        return flat
    lists = _by_tensor(ids, len(flat)) if ids.ndim == 2 else _by_element(ids, flat)
    vector = storage.namespace(flat.structure(0).vectors[0]).asarray(lists.offsets)
    return from_offsets(flat.values, vector, storage.take(flat.offsets))


def _by_tensor(ids: Dense, count: int) -> RaggedArray:
    if ids.shape != (count, 2):
        raise ArgumentError(f"list_ids: expected shape [{count}, 2], got {list(ids.shape)}")
    lists = _lists(ids[:, 1], ids[:, 0])
    place = np.arange(count) - np.asarray(lists.offsets)[np.asarray(lists.row_ids)]
    wrong = ids[:, 1] != place
    if wrong.any():
        at = int(wrong.argmax())
        raise RuntimeCheckError(f"list_ids: expected place {place[at]} for tensor {at}, got {ids[at, 1]}")
    return lists


def _by_element(ids: Dense, flat: RaggedArray) -> RaggedArray:
    offsets, lengths, rows = (storage.to_host(storage.take(v)) for v in (flat.offsets, flat.lengths, flat.row_ids))
    if ids.shape != rows.shape:
        raise ArgumentError(f"list_ids: expected shape [{len(flat)}, 2] or [{len(rows)}], got {list(ids.shape)}")
    if (lengths == 0).any():
        at = int((lengths == 0).argmax())
        raise RuntimeCheckError(f"list_ids: expected elements in every tensor, got none in tensor {at} (give rows)")
    first = ids[offsets[:-1]]
    split = ids != first[rows]
    if split.any():
        at = int(split.argmax())
        raise RuntimeCheckError(f"list_ids: expected list {first[rows[at]]} for element {at}, got {ids[at]}")
    return _lists(first, first)


def _lists(values: Dense, ids: Dense) -> RaggedArray:
    return from_row_ids(values, ids, int(ids.max()) + 1 if ids.size else 0)


def check_conform(a: RaggedArray, b: RaggedArray, levels: int | None = None) -> None:
    """RuntimeCheckError where the first levels of two structures, by default all, differ: 1 of them says how many
    tensors or lists there are."""
    own, other = a.structure(0), b.structure(0)
    if own.letters != other.letters:
        raise RuntimeCheckError(f"expected a structure of {a.nlevels} levels, got {b.nlevels}")
    text = own.prefix(levels or len(own.letters)).difference(other.prefix(levels or len(own.letters)))
    if text is not None:
        raise RuntimeCheckError(f"expected tensors of one structure, got different ones ({text})")
