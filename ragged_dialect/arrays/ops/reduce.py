"""Reducing tensors: which dims, the axes that stay, and one generic that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ragged_dialect.arrays.core.arguments import check_untiled, checked_axis
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.loops import Level, compute, empty, loops_of
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import batch_axis, contiguous, prefix
from ragged_dialect.errors import AxisError
from ragged_dialect.ir import shapes
from ragged_dialect.layout import RAGGED

AxisArgument = int | tuple[int, ...] | None
Combine = Callable[[list[Any], list[Any]], Sequence[Any]]


def dim_of(x: Tensor, axis: Any) -> int:
    """A dim of a tensor; see `checked_axis`."""
    return checked_axis(x.trace.op, axis, x.ndim)


def dims_of(x: Tensor, axis: AxisArgument) -> frozenset[int]:
    """The dims of an axis argument; all without one. AxisError out of range or twice."""
    if axis is None:
        return frozenset(range(x.ndim))
    given = axis if isinstance(axis, tuple) else (axis,)
    dims = [dim_of(x, a) for a in given]
    if len(set(dims)) != len(dims):
        raise AxisError(f"{x.trace.op}: expected different axes, got {given}")
    return frozenset(dims)


@dataclass(frozen=True)
class Kept:
    """What is left when dims are reduced: the axes, and the dim of the source each has."""

    axes: tuple[Axis, ...]
    dims: tuple[int, ...]

    def levels(self, x: Tensor) -> list[Level]:
        """The levels of the source that give the extents."""
        return [(x, dim) for dim in self.dims]


def kept(x: Tensor, dims: frozenset[int]) -> Kept:
    """The axes left when `dims` are reduced, where no ragged level stays without its parents."""
    axes: list[Axis] = []
    for number, axis in enumerate(x.axes):
        own = x.layout.dims(number)
        if isinstance(axis, PlainAxis):
            axes += [] if own[0] in dims else [axis]
        else:
            axes += _kept_levels(x, axis, [d - own[0] for d in own if d not in dims])
    return Kept(tuple(axes), tuple(d for d in range(x.ndim) if d not in dims))


def _kept_levels(x: Tensor, axis: NestedAxis, left: list[int]) -> list[Axis]:
    if len(left) == len(axis.letters):
        return [axis]
    ragged = [level for level in left if axis.letters[level] in RAGGED]
    if not ragged:
        return [batch_axis(axis, level) for level in left]
    found: list[Axis] = [prefix(x.trace, axis, ragged[-1] + 1)]
    return found + [batch_axis(axis, level) for level in left if level > ragged[-1]]


def reduce(
    x: Tensor,
    dims: frozenset[int],
    inits: Sequence[tuple[DType, Any]],
    combine: Combine,
    other: Sequence[Tensor] = (),
    beside: Sequence[tuple[Tensor, Sequence[int]]] = (),
) -> list[Tensor]:
    """Results of one pass over a tensor without tiles: `combine` gets the elements (of `x`, of `other`,
    tensors over the kept dims, and of `beside`, tensors over some dims) and the accumulators, which start
    at `inits`."""
    left = kept(x, dims)
    outs: list[tuple[Any, DType, Sequence[Axis], Sequence[int]]] = []
    for dtype, init in inits:
        made = shapes.fill(init, empty(x.trace, left.axes, left.levels(x), dtype))
        outs.append((made, dtype, left.axes, left.dims))
    loops = loops_of(x)
    operands: list[tuple[Tensor, Sequence[int | None]]] = [(x, range(x.ndim))]
    operands += [(o, left.dims) for o in other]
    operands += beside
    count = len(operands)
    return compute(x.trace, operands, outs, loops.rank, dims, lambda e: combine(e[:count], e[count:]))


def source(x: Tensor) -> Tensor:
    """A tensor as reductions read it. LayoutError for tiles, whose holes are no elements."""
    check_untiled(x.trace.op, x.layout)
    return contiguous(x)


def keep_dims(x: Tensor, result: Tensor, dims: frozenset[int]) -> Tensor:
    """A result with an extent of 1 for every reduced dim."""
    from ragged_dialect.arrays.index.dims import insert_ones

    return insert_ones(result, sorted(dims))
