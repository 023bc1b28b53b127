"""Products with dense weights by the BLAS of the library whose arrays they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.spec import spec

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


def rows_times_weights(x: Any, weights: Any) -> RaggedArray | None:
    """x [B, L, …, K] times dense weights [K, N] as one product of all rows, by NumPy or CuPy; None for arguments of
    other kinds, which a program takes, or refuses."""
    if type(x) is not RaggedArray:
        return None
    values = x.buffer.array
    if type(weights) is not type(values) or weights.ndim != 2 or weights.dtype != values.dtype:
        return None
    known = x.spec
    fits = x.axes[-1] is None and values.shape[-1] == weights.shape[0] and not known.layout.has_windows
    if not fits or known.dtype not in _DTYPES or known.library not in ("numpy", "cupy"):
        return None
    made = np.matmul(values, weights) if isinstance(values, np.ndarray) else values @ weights
    if isinstance(made, np.ndarray):
        made.flags.writeable = False
    shape = (*known.shape[:-1], weights.shape[1])
    result = spec(known.layout, shape, known.dtype, known.device, known.library)
    return RaggedArray.trusted(Buffer(made), x.axes, result)
