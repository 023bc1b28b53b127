"""Arrays as nested lists and as text."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ragged_dialect.arrays.core.array import RaggedArray
from ragged_dialect.arrays.core.components import components
from ragged_dialect.arrays.core.storage import take, to_host


def nested_lists(x: Any) -> list[Any]:
    """Nested lists of Python numbers."""
    if isinstance(x, RaggedArray):
        return [nested_lists(part) for part in components(x)]
    return to_host(take(x)).tolist()


_SHOWN = 3
_WHOLE = 32
"""Components, and elements of a component with lists of its own, that are shown whole."""


def text(x: RaggedArray) -> str:
    """What it is, the structure, and the first values, in a few lines."""
    extents = ", ".join("~" if e is None else str(e) for e in x.shape)
    where = "" if x.device == "cpu" else f", device={x.device}"
    lines = [f'RaggedArray([{extents}], {x.dtype}, "{x.layout}"{where})']
    for dim in x.ragged_dims:
        lines.append(f"  lengths of dim {dim}: {_short(x.lengths_of(dim))}")
    parts = components(x, _SHOWN)
    for number, part in enumerate(parts):
        small = isinstance(part, RaggedArray) and prod(part.buffer.shape) <= _WHOLE
        shown = f"{nested_lists(part)}" if small else _array_text(part)
        lines.append(f"  [{number}] {shown}")
    if len(x) > len(parts):
        lines.append(f"  … {len(x) - len(parts)} more")
    return "\n".join(lines)


def _short(vector: Any) -> str:
    return np.array2string(to_host(take(vector)), threshold=12, edgeitems=4, separator=", ")


def _array_text(part: Any) -> str:
    if isinstance(part, RaggedArray):
        return text(part).splitlines()[0]
    shown = np.array2string(to_host(take(part)), threshold=8, edgeitems=2, separator=", ", precision=4)
    return " ".join(shown.split())
