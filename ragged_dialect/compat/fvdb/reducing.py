"""Sums and extrema of each tensor of a jagged tensor."""

from __future__ import annotations

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.creation import from_lengths
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.arrays.index.dims import unsqueeze
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.compat.fvdb.shaping import data_axis


def reduced(array: RaggedArray, name: str, dim: int, keepdim: bool) -> RaggedArray:
    """The operation `name` (sum, max, min, argmax, argmin) along a dim of the data. Along dim 0 every tensor has
    one row left, whatever `keepdim` says. AxisError for a dim that the data does not have."""
    axis = data_axis(array, dim, f"j{name.removeprefix('arg')}")
    found = OPERATIONS[name](array, axis=axis)
    if axis == array.nlevels:
        return _rows(array, found)
    return unsqueeze(found, axis=axis) if keepdim else found


def _rows(array: RaggedArray, found: RaggedArray | Dense) -> RaggedArray:
    """One row per tensor, under the lists of the array."""
    values = found.values if isinstance(found, RaggedArray) else found
    structure = array.structure(0)
    ones = storage.namespace(structure.vectors[-1]).ones(structure.lengths(array.nlevels).shape[0], "int64")
    above = [structure.lengths(1)] if array.nlevels == 2 else []
    return from_lengths(values, *above, ones, check=False)
