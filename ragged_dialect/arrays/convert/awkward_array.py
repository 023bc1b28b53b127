"""Awkward Array, both ways; memory is shared."""

from __future__ import annotations

from math import prod
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
from ragged_dialect.errors import ArgumentError

_FROM, _TO = "from_awkward", "to_awkward"


def from_awkward(array: Any) -> RaggedArray:
    """A ragged array of an Awkward array of numbers in lists; `var` dims are ragged, dims of one size
    dense. Values are shared; innermost lists out of order become windows.

    ArgumentError for records, unions, text and missing values; LayoutError without a `var` dim;
    RuntimeCheckError for an array that is not valid."""
    ak = optional("awkward", _FROM)
    if not isinstance(array, ak.Array):
        raise ArgumentError(f"{_FROM}: expected an awkward.Array, got {type(array).__name__}")
    content = ak.to_layout(array)
    values, levels = _read(content)
    return from_levels(_FROM, values, len(content), levels)


def _read(content: Any) -> tuple[Any, list[Level]]:
    """Flat values of an Awkward layout, and the lists below its first dim."""
    content = _projected(content)
    if content.parameter("__array__") is not None:
        raise ArgumentError(f"{_FROM}: expected lists of numbers, got {content.form.type}")
    if content.is_unknown:
        return np.zeros(0), []
    if content.is_numpy:
        data = storage.contiguous(content.data)
        sizes = data.shape[1:]
        return data.reshape(-1), [Regular(size, prod(data.shape[: k + 1])) for k, size in enumerate(sizes)]
    if content.is_regular:
        size, count = content.size, len(content)
        values, inner = _read(content.content[: size * count])
        return values, [Regular(size, count), *inner]
    if not content.is_list:
        raise ArgumentError(f"{_FROM}: expected lists of numbers, got {content.form.type}")
    level, below = _lists(content)
    values, inner = _read(below)
    return values, [level, *inner]


def _projected(content: Any) -> Any:
    """The layout without indices and options. ArgumentError for missing values."""
    while content.is_indexed or content.is_option:
        if content.is_option:
            missing = int(content.mask_as_bool(valid_when=False).sum())
            if missing:
                raise ArgumentError(
                    f"{_FROM}: expected no missing values, got {missing} (use ak.drop_none or ak.fill_none)"
                )
        content = content.project()
    return content


def _lists(content: Any) -> tuple[Level, Any]:
    """The lists of a layout, and their content. Windows only where no lists are below: levels below
    a window are not each component's own."""
    if hasattr(content, "offsets"):
        return trimmed(content.offsets.data, content.content)
    starts, stops = content.starts.data, content.stops.data[: len(content)]
    level = windows(starts, stops.astype("int64") - starts)
    if isinstance(level, Offsets):
        return trimmed(level.vector, content.content)
    if content.content.purelist_isregular:
        return level, content.content
    packed = content.to_ListOffsetArray64(True)
    return trimmed(packed.offsets.data, packed.content)


def to_awkward(x: RaggedArray) -> Any:
    """The array as an `awkward.Array`, which shares its memory, but for windows. LayoutError for tiles,
    ArgumentError for bfloat16, which Awkward does not have."""
    ak = optional("awkward", _TO)
    if x.dtype.name == "bfloat16":
        raise ArgumentError(f"{_TO}: expected a dtype that Awkward has, got {x.dtype} (use astype)")
    content = ak.contents.NumpyArray(flat_values(x))
    for level in reversed(to_levels(x, _TO)):
        content = _wrapped(ak, content, level)
    return ak.Array(content)


def _wrapped(ak: Any, content: Any, level: Regular | Offsets) -> Any:
    index, contents = ak.index.Index64, ak.contents
    if isinstance(level, Regular):
        return contents.RegularArray(content, level.size, zeros_length=level.count)
    return contents.ListOffsetArray(index(level.vector), content)
