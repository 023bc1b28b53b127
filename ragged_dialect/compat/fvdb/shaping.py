"""Lists of a jagged tensor flattened, regrouped and indexed; dense dims of extent 1 dropped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ragged_dialect.arrays.core.arguments import integer, listed
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_lengths, from_offsets
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.dims import squeeze
from ragged_dialect.arrays.index.gather import gather
from ragged_dialect.arrays.index.levels import compact, merge
from ragged_dialect.compat.fvdb.making import check_conform, of_tensor
from ragged_dialect.errors import AxisError, RangeError


def flattened(array: RaggedArray, dim: int) -> RaggedArray:
    """Without a level: dim 0 of lists of lists gives the list of all tensors, dim 1 a tensor per list; dim 0 of
    a list gives one tensor. AxisError for another dim."""
    dim = integer("jflatten", "dim", dim)
    if not -array.nlevels <= dim < array.nlevels:
        raise AxisError(f"jflatten: expected dim in [{-array.nlevels}, {array.nlevels}), got {dim}")
    if array.nlevels == 1:
        return of_tensor(array.values)
    return merge(array, axis=dim % array.nlevels)


def regrouped(values: Dense, lshape: Sequence[int] | Sequence[Sequence[int]]) -> RaggedArray:
    """Values under other lengths: of tensors, or of the tensors of every list. RuntimeCheckError where they do
    not sum to the number of elements."""
    if not any(isinstance(row, (list, tuple)) for row in listed("jreshape", "lengths", lshape)):
        return from_lengths(values, list(lshape))
    rows = cast("Sequence[Sequence[int]]", lshape)
    return from_lengths(values, [len(row) for row in rows], [length for row in rows for length in row])


def squeezed(array: RaggedArray, dim: int | None) -> RaggedArray:
    """Without dense dims of extent 1, all of them or dim `dim` of the data; the jagged dim stays, as do dims of
    another extent. AxisError for a dim that the data does not have."""
    if dim is None:
        return squeeze(array)
    axis = data_axis(array, dim, "jsqueeze")
    return squeeze(array, axis=axis) if axis > array.nlevels and array.shape[axis] == 1 else array


def data_axis(array: RaggedArray, dim: int, name: str) -> int:
    """The dim of the array for a dim of the data, whose dim 0 is the jagged one. AxisError for another."""
    rank, dim = array.ndim - array.nlevels, integer(name, "dim", dim)
    if not -rank < dim < rank:
        raise AxisError(f"{name}: expected dim in ({-rank}, {rank}), got {dim}")
    return array.nlevels + dim % rank


def indexed(array: RaggedArray, index: int) -> RaggedArray:
    """One tensor of a list, or one list of lists, from the end when negative. RangeError outside."""
    count = len(array)
    if not -count <= index < count:
        raise RangeError(f"expected an index in [{-count}, {count}), got {index}")
    at = index % count
    return compact(array[at] if array.nlevels == 2 else array[at : at + 1])


def picked(array: RaggedArray, index: RaggedArray) -> RaggedArray:
    """The elements of every tensor that a mask keeps, or that integers name, counted within the tensor.
    RuntimeCheckError where the tensors or lists of both do not match."""
    if index.dtype.kind == "b":
        return array[index]
    check_conform(array, index, array.nlevels)
    if array.nlevels == 1:
        return gather(array, index)
    taken = gather(merge(array, axis=0), merge(index, axis=0))
    return from_offsets(taken.values, *(index.structure(0).vectors), check=False)
