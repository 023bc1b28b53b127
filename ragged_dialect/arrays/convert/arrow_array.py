"""Apache Arrow, both ways; memory is shared."""

from __future__ import annotations

from typing import Any

import numpy as np

from ragged_dialect.arrays.convert.nesting import (
    Level,
    Offsets,
    Regular,
    flat_values,
    from_levels,
    to_levels,
    trimmed,
    windows,
)
from ragged_dialect.arrays.convert.optional import optional
from ragged_dialect.arrays.core import storage
from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.structure import offsets_of
from ragged_dialect.errors import ArgumentError

_FROM, _TO = "from_arrow", "to_arrow"
_WITHOUT_LISTS = "use pyarrow.compute.drop_null, or fill_null(x, [])"
_WITHOUT_NUMBERS = "use type(x).from_arrays(x.offsets, pyarrow.compute.fill_null(x.values, 0))"
"""What makes arrays without nulls."""


def from_arrow(array: Any) -> RaggedArray:
    """A ragged array of an Arrow array of numbers in lists: lists, large lists and list views are
    ragged dims, lists of a fixed size dense ones. Takes PyArrow's arrays and chunked arrays, and what
    exports the C data interface, as Polars does. Values are shared but for booleans,
    which Arrow packs into bits; several chunks are joined.

    ArgumentError for other types and for nulls; LayoutError without a ragged dim; RuntimeCheckError for
    an array that is not valid."""
    pa = optional("pyarrow", _FROM)
    taken = _array(pa, array)
    values, levels = _read(pa, taken)
    return from_levels(_FROM, values, len(taken), levels)


def _array(pa: Any, given: Any) -> Any:
    if not isinstance(given, (pa.Array, pa.ChunkedArray)):
        if hasattr(given, "__arrow_c_array__"):
            given = pa.array(given)
        elif hasattr(given, "__arrow_c_stream__"):
            given = pa.chunked_array(given)
        else:
            raise ArgumentError(f"{_FROM}: expected an array of Arrow, got {type(given).__name__}")
    if isinstance(given, pa.Array):
        return given
    return given.chunk(0) if given.num_chunks == 1 else given.combine_chunks()


def _read(pa: Any, array: Any) -> tuple[Any, list[Level]]:
    """Flat values of an Arrow array, and the lists below its first dim."""
    kind, types = array.type, pa.types
    if array.null_count:
        instead = _WITHOUT_LISTS if types.is_nested(kind) else _WITHOUT_NUMBERS
        raise ArgumentError(f"{_FROM}: expected no nulls, got {array.null_count} ({instead})")
    if types.is_fixed_size_list(kind):
        level: Level = Regular(kind.list_size, len(array))
        below = array.flatten() if kind.list_size else array.values[:0]
    elif types.is_list(kind) or types.is_large_list(kind):
        level, below = trimmed(array.offsets.to_numpy(), array.values)
    elif types.is_list_view(kind) or types.is_large_list_view(kind):
        level, below = _views(pa, array)
    else:
        return _numbers(pa, array), []
    values, inner = _read(pa, below)
    return values, [level, *inner]


def _views(pa: Any, array: Any) -> tuple[Level, Any]:
    """The lists of list views. Windows only where no lists are below: levels below a window are not
    each component's own."""
    lengths = array.sizes.to_numpy()
    level = windows(array.offsets.to_numpy(), lengths)
    if isinstance(level, Offsets):
        return trimmed(level.vector, array.values)
    if pa.types.is_nested(array.values.type):
        return Offsets(offsets_of(lengths.astype("int64"))), array.flatten()
    return level, array.values


def _numbers(pa: Any, array: Any) -> Any:
    kind, types = array.type, pa.types
    if types.is_null(kind):
        return np.zeros(0)
    if not (types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind)):
        hint = " (cast to lists of pyarrow.int64(), or int32() of 32 bits)" if types.is_temporal(kind) else ""
        raise ArgumentError(f"{_FROM}: expected lists of numbers, got {kind}{hint}")
    return array.to_numpy(zero_copy_only=not types.is_boolean(kind))


def to_arrow(x: RaggedArray, *, large: bool = True) -> Any:
    """The array as a `pyarrow.Array` that shares its memory, but for booleans and windows. An array on a GPU is
    copied. `large=False` gives lists with 32-bit offsets, which some readers want.

    LayoutError for tiles; ArgumentError for bfloat16, which Arrow does not have, and for offsets that
    32 bits do not hold."""
    pa = optional("pyarrow", _TO)
    if x.dtype.name == "bfloat16":
        raise ArgumentError(f"{_TO}: expected a dtype that Arrow has, got {x.dtype} (use astype)")
    content = pa.array(storage.to_host(flat_values(x)))
    for level in reversed(to_levels(x, _TO)):
        content = _wrapped(pa, content, level, large)
    return content


def _wrapped(pa: Any, content: Any, level: Regular | Offsets, large: bool) -> Any:
    if isinstance(level, Regular):
        kind = pa.list_(content.type, level.size)
        return pa.Array.from_buffers(kind, level.count, [None], children=[content])
    made = pa.LargeListArray if large else pa.ListArray
    return made.from_arrays(_index(pa, level.vector, large), content)


def _index(pa: Any, vector: Any, large: bool) -> Any:
    host = storage.to_host(vector)
    if large:
        return pa.array(host)
    if host.size and int(host.max()) >= 2**31:
        raise ArgumentError(f"{_TO}: expected offsets below 2**31 without large, got {int(host.max())}")
    return pa.array(host.astype(np.int32))
