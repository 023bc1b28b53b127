"""Reducing over the components where rows align: row i of the result combines row i of every component
that has one, as TensorFlow does."""

from __future__ import annotations

import numpy as np

from ragged_dialect import builders
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.elements import kind
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.arrays.tracing.wrap import of_value


def is_across(x: Tensor, dims: frozenset[int]) -> bool:
    """Whether the reduction of dims of a tensor without windows combines the rows of components, no more."""
    return dims == frozenset({0}) and x.axes[0].letters == "dr"


def reduce_across(x: Tensor, name: str, dtype: DType) -> Tensor:
    """Rows combined by sum, prod, max, min, any or all; a row that no component has does not exist."""
    from ragged_dialect.arrays.ops.elementwise import astype

    via = "min" if name == "all" else "max" if name == "any" else name
    if x.dtype != dtype:
        x = astype(x, dtype=dtype)
    if kind(dtype) == "b":
        x = astype(x, dtype=np.int8)
    limit = builders.max_length(x.value, 1)
    value = known(builders.reduce_across(x.value, limit, 1, via))  # no more rows than there are elements
    others = {number: axis for number, axis in enumerate(x.axes) if number > 0}
    made = of_value(x.trace, value, x.dtype, others)
    return made if x.dtype == dtype else astype(made, dtype=dtype)
