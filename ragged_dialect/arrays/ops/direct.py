"""Results of operations that need no program."""

from __future__ import annotations

import numpy as np

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.buffer import Buffer
from ragged_dialect.arrays.core.spec import spec
from ragged_dialect.arrays.core.storage import ArrayLike, frozen
from ragged_dialect.arrays.core.value import is_traced
from ragged_dialect.arrays.tracing.operation import directly, named

_DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
_LARGE = 512 << 10
"""Bytes of weights beyond which NumPy's BLAS is faster than a program (docs/speed.md): they do not stay in a second
cache beside the rows, and a BLAS makes copies of rows that are in order."""

_SHORT = 1 << 20
"""Multiplications below which a call of NumPy's BLAS is faster. Of 64x64, one thread: 8 us and a program 12 for 2^18 of
them, 21 and 21 for 2^20, 38 and 33 for 2^21."""
_THIN, _SHORT_OF_THIN = 4, 1 << 12
"""The same of weights with less rows or columns than that, which a BLAS is not made for: 65,536 rows times 1x1 take 112
us, and a program 9."""


@directly("matmul")
def _rows_times_weights(x: ArrayLike, weights: ArrayLike) -> RaggedArray | None:
    """x [B, L, …, K] times dense weights [K, N] as one product of all rows, by NumPy or CuPy; None for small weights of
    many rows on the CPU and arguments of other kinds, which a program takes, or refuses."""
    if type(x) is not RaggedArray or x.spec.library not in ("numpy", "cupy"):
        return None
    values = x.buffer.array
    if type(weights) is not type(values) or weights.ndim != 2 or weights.dtype != values.dtype:
        return None
    short = _SHORT if min(weights.shape) >= _THIN else _SHORT_OF_THIN
    if x.spec.library == "numpy" and weights.nbytes <= _LARGE and values.size * weights.shape[1] >= short:
        return None
    known = x.spec
    fits = x.axes[-1] is None and values.shape[-1] == weights.shape[0] and not known.layout.has_windows
    if not fits or known.dtype not in _DTYPES:
        return None
    made = frozen(np.matmul(values, weights) if known.library == "numpy" else values @ weights)
    shape = (*known.shape[:-1], weights.shape[1])
    result = spec(known.layout, shape, known.dtype, known.device, known.library)
    return RaggedArray.trusted(Buffer(made), x.axes, result)


@directly("power")
def _by_products(x: ArrayLike, exponent: ArrayLike) -> ArrayLike | None:
    """A power whose exponent is a small integer of Python, which takes a fiftieth of the time by products, or a half,
    which NumPy takes for a root as well; None for others. Cubes of short floats are computed in float32, as powers are,
    and integers have no inverse."""
    if type(exponent) not in (int, float) or not (type(x) is RaggedArray or is_traced(x)):
        return None
    kind, short = x.dtype.kind, x.dtype.itemsize < 4
    if kind == "b" or (kind == "i" and type(exponent) is float):
        return None
    if exponent == 1:
        return named("positive")(x)
    if exponent == 2:
        return named("square")(x)
    if exponent in (-1, 0.5) and kind != "i":
        return named("reciprocal" if exponent < 0 else "sqrt")(x)
    if exponent == 3:
        wide = x.astype(np.float32) if kind != "i" and short else x
        cube = named("multiply")(named("square")(wide), wide)
        return cube if wide is x else cube.astype(x.dtype)
    return None


@directly("compact")
def _compacted(x: ArrayLike) -> ArrayLike | None:
    """The copy of windows that the array makes once."""
    return getattr(x, "compacted", None)
