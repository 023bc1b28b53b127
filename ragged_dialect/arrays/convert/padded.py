"""Between padded and ragged arrays."""

from __future__ import annotations

from ragged_dialect.arrays.core.storage import ArrayLike
from ragged_dialect.arrays.tracing.leaves import dense_leaf, is_dense
from ragged_dialect.arrays.tracing.operation import named
from ragged_dialect.errors import ArgumentError
from ragged_dialect.narrowing import is_array, is_scalar


def to_padded(
    x: ArrayLike, pad: ArrayLike = 0, max_lengths: int | tuple[int, ...] | None = None, truncate: bool = False
) -> ArrayLike:
    """A dense array with `pad` behind the end of every component. The extents are `max_lengths`, one per
    ragged dim, or the longest lengths.

    RuntimeCheckError for a component longer than its maximum, unless `truncate` asks to cut it."""
    maxima = () if max_lengths is None else max_lengths if isinstance(max_lengths, tuple) else (max_lengths,)
    return named("to_padded")(x, _number(pad), *maxima, truncate=truncate)


def from_padded(
    dense: ArrayLike, lengths: ArrayLike = None, *, pad_value: ArrayLike = None, mask: ArrayLike = None
) -> ArrayLike:
    """A ragged array of the rows of a padded one, [B, L, …]: the first `lengths[b]` elements of row b; without
    the trailing elements that are all `pad_value`; or those where `mask`, [B, L], is true. A copy.

    RuntimeCheckError for a length below 0 or above L."""
    given = [name for name, v in (("lengths", lengths), ("pad_value", pad_value), ("mask", mask)) if v is not None]
    if len(given) != 1:
        got = " and ".join(given) or "none"
        raise ArgumentError(f"from_padded: expected one of lengths, pad_value and mask, got {got}")
    return named("from_padded")(_loose(dense), lengths, _number(pad_value), _loose(mask))


def _number(x: ArrayLike) -> ArrayLike:
    """A scalar of NumPy as Python's, which has to fit."""
    return x.item() if (is_scalar(x) or (is_array(x) and x.ndim == 0)) and x.dtype.kind in "bif" else x


def _loose(x: ArrayLike) -> ArrayLike:
    """A padded extent changes with every batch: it is no part of the key."""
    return dense_leaf(x, frozenset({0, 1})) if is_dense(x) else x
