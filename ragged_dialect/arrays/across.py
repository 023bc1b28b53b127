"""Reducing over the components where rows align: row i of the result combines row i of every component
that has one, as TensorFlow does."""

from __future__ import annotations

from typing import Any

from ragged_dialect import builders
from ragged_dialect.arrays.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.elements import kind
from ragged_dialect.arrays.spec import DType
from ragged_dialect.arrays.structures import contiguous, of_value
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.errors import LayoutError


def is_across(x: Tensor, axis: Any) -> bool:
    """Whether an axis argument asks to combine rows: dim 0 alone, which a ragged dim is below."""
    given = axis[0] if isinstance(axis, tuple) and len(axis) == 1 else axis
    if not isinstance(given, int) or isinstance(x.axes[0] if x.axes else None, (PlainAxis, type(None))):
        return False
    return given in (0, -x.ndim)


def reduce_across(x: Tensor, name: str, dtype: DType) -> Tensor:
    """Rows combined by sum, prod, max, min, any or all; a row that no component has does not exist.
    LayoutError for more than one level below the batch."""
    from ragged_dialect.arrays.ufuncs import astype

    x = contiguous(x)
    axis = x.axes[0]
    assert isinstance(axis, NestedAxis)
    if axis.letters != "dr":
        raise LayoutError(f'{x.trace.op}: expected one ragged dim below axis 0, got layout "{x.layout}"')
    via = "min" if name == "all" else "max" if name == "any" else name
    if kind(x.dtype) == "b" or x.dtype != dtype:
        import numpy as np

        x = astype(x, dtype=np.int8 if kind(dtype) == "b" else dtype)
    limit = builders.max_length(x.value, 1)
    value = builders.reduce_across(x.value, limit, 1, via)
    known = {number: known for number, known in enumerate(x.axes) if number > 0}
    made = of_value(x.trace, value, x.dtype, known)
    return made if x.dtype == dtype else astype(made, dtype=dtype)
