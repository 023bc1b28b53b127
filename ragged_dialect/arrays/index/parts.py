"""Values and index vectors of traced arrays, as those that arrays have: windows are made contiguous first, and the
vectors of tiled levels count elements."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import check_untiled, ragged_dim
from ragged_dialect.arrays.index.levels import merge
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64
from ragged_dialect.arrays.tracing.guards import structure_at
from ragged_dialect.arrays.tracing.leaves import Leaves, Origin
from ragged_dialect.arrays.tracing.operation import OPERATIONS
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.ir import build


def values(x: Tensor) -> Tensor:
    """The elements, one row after the other."""
    x = contiguous(x)
    axes = [axis if isinstance(axis, PlainAxis) else PlainAxis(None) for axis in x.axes]
    return x.trace.assembled(x.storage, axes, x.dtype)


def vector(x: Tensor, part: str, dim: int | None) -> Tensor:
    """An index vector of a ragged dim, by default the first one: `offsets`, `lengths`, `starts` or `row_ids`."""
    x, dim = _ragged(contiguous(x), part, dim)
    make: Callable[[ir.Value, int], ir.Value] = getattr(builders, part)
    return x.trace.assembled(make(x.value, dim), [PlainAxis(None)], INT64)


def number(x: Tensor, part: str) -> Tensor:
    """`total` or `max_length` of the first ragged dim."""
    x, dim = _ragged(x, part, None)
    return _number(x, part, dim)


def size(x: Tensor) -> Tensor | int:
    """How many elements there are. LayoutError for a layout with tiles."""
    check_untiled("size", x.layout)
    found: Tensor | int = 1
    extents = x.shape
    for number, axis in enumerate(x.axes):
        last = x.layout.dims(number)[-1]
        found = OPERATIONS["multiply"](
            extents[last] if isinstance(axis, PlainAxis) else _number(x, "total", last), found
        )
    return found


def _number(x: Tensor, part: str, dim: int) -> Tensor:
    """The total or the longest length of a ragged dim, as a number."""
    make: Callable[[ir.Value, int], ir.Value] = getattr(builders, part)
    axis, level = x.nested(dim), x.place(dim)[1]

    def read(leaves: Leaves, origin: Origin) -> int:
        structure = structure_at(leaves, origin)
        return structure.total(level) if part == "total" else structure.longest[level]

    return x.trace.counted(build.to_i64(make(x.value, dim)), None if axis is None else axis.root.origin, read)


def _ragged(x: Tensor, part: str, dim: int | None) -> tuple[Tensor, int]:
    """A ragged dim, of the array without its tiles; see `ragged_dim`."""
    dim = ragged_dim(part, x, dim)
    tiled = dim + 1 < x.ndim and x.layout.letter(dim + 1) == "t"
    return merge(x, axis=dim) if tiled else x, dim
