"""NumPy's functions that look elements up in a dense vector."""

from __future__ import annotations

import numpy as np

from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.core.value import Value
from ragged_dialect.arrays.ops.sorting.search import searchsorted as searched
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.errors import ArgumentError


def searchsorted(a: ArrayLike, v: ArrayLike, side: str = "left") -> ArrayLike:
    """Where elements belong in a dense vector that is in order."""
    return searched(a, v, side=side)


def digitize(x: ArrayLike, bins: ArrayLike, right: bool = False) -> ArrayLike:
    """The bin of each element, by the bins' bounds in order: an interval has its lower one, or the upper (`right`)."""
    given = bins if isinstance(bins, Value) else storage.take(bins)
    if isinstance(given, np.ndarray) and given.ndim and np.any(given[1:] < given[:-1]):
        raise ArgumentError("np.digitize: expected bins in ascending order, got others")
    return searched(given, x, side="left" if right else "right")


def isin(element: ArrayLike, test_elements: ArrayLike, *, invert: bool = False) -> ArrayLike:
    """Which elements are among those of a dense array."""
    given: ArrayLike = test_elements
    if isinstance(test_elements, Value):
        table = OPERATIONS["sort"](given if given.layout.is_dense else given.values, axis=0)
    else:
        flat = storage.take(given).reshape(-1)
        table = (
            np.sort(flat) if flat.dtype.kind in "bif" else OPERATIONS["sort"](flat, axis=0)
        )  # of bfloat16 it loses nan
    found = OPERATIONS["isin"](element, table)
    return OPERATIONS["logical_not"](found) if invert else found
