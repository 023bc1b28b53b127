"""Where dims of a nested tensor are in its ragged array.

The array has the batch, the ragged dim, and the dense dims in their order. A nested tensor shows the
ragged dim at `ragged_dim`, as the transpose of one that has it second.
"""

from __future__ import annotations

from typing import SupportsIndex

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.arguments import checked_axis
from ragged_dialect.arrays.core.storage import Dense
from ragged_dialect.errors import LayoutError


def dim_of(op: str, dim: SupportsIndex, rank: int) -> int:
    """A dim, counted from the end when negative. AxisError out of range, ArgumentError for no integer."""
    return checked_axis(op, dim, rank, "dim")


def axis_of(dim: int, ragged_dim: int) -> int:
    """The axis of the array that a dim is."""
    if dim == ragged_dim:
        return 1
    return dim + 1 if 0 < dim < ragged_dim else dim


def slot(op: str, dim: int, rank: int, ragged_dim: int) -> tuple[int, int]:
    """For a new dim of a tensor that then has `rank` dims: its axis, and the ragged dim of the result.
    LayoutError in front of the batch."""
    found = dim_of(op, dim, rank)
    if found == 0:
        raise LayoutError(f"{op}: expected a dim behind the batch, got dim 0")
    return (found + 1, ragged_dim + 1) if found <= ragged_dim else (found, ragged_dim)


def moved(array: Dense, source: int, target: int) -> Dense:
    """A dense array of any library with an axis at another place: a view."""
    if source == target:
        return array
    if storage.library(array) == "torch":
        return array.movedim(source, target)
    return storage.namespace(array).moveaxis(array, source, target)
