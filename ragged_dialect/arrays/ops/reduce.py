"""Reducing tensors: which dims, the axes that stay, and one generic that does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.arguments import check_untiled
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import insert_ones
from ragged_dialect.arrays.index.group import folds_pairs
from ragged_dialect.arrays.index.rows import component_lengths, component_starts, window
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.elements import compare, kind, select
from ragged_dialect.arrays.tracing.loops import compute, empty, loops_of
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.arrays.tracing.wrap import contiguous, of_value
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.layout import RAGGED

Combine: TypeAlias = "Callable[[list[ir.Value], list[ir.Value]], Sequence[ir.Value]]"


@dataclass(frozen=True)
class Kept:
    """What is left when dims are reduced: the axes, and the dim of the source each has."""

    axes: tuple[Axis, ...]
    dims: tuple[int, ...]


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
    found: list[Axis] = [x.trace.prefix(axis, ragged[-1] + 1)]
    return found + [batch_axis(axis, level) for level in left if level > ragged[-1]]


def reduce(
    x: Tensor,
    dims: frozenset[int],
    inits: Sequence[tuple[DType, ir.Value]],
    combine: Combine,
    other: Sequence[Tensor] = (),
    beside: Sequence[tuple[Tensor, Sequence[int]]] = (),
) -> list[Tensor]:
    """Results of one pass over a tensor without tiles: `combine` gets the elements (of `x`, of `other`,
    tensors over the kept dims, and of `beside`, tensors over some dims) and the accumulators, which start
    at `inits`."""
    left = kept(x, dims)
    outs: list[tuple[ir.Value, DType, Sequence[Axis], Sequence[int]]] = []
    for dtype, init in inits:
        made = shapes.fill(init, empty(left.axes, [(x, dim) for dim in left.dims], dtype))
        outs.append((made, dtype, left.axes, left.dims))
    loops = loops_of(x)
    operands: list[tuple[Tensor, Sequence[int | None]]] = [(x, range(x.ndim))]
    operands += [(o, left.dims) for o in other]
    operands += beside
    count = len(operands)
    results = compute(x.trace, operands, outs, loops.rank, dims, lambda e: combine(e[:count], e[count:]))
    turned = x.turned
    if turned is not None and not (other or beside) and min(dims, default=0) > 2:
        for number, one in enumerate(results):
            one.turned = lambda k=number: reduce(turned(), dims, inits, combine)[k]
    return results


def source(x: Tensor) -> Tensor:
    """A tensor as reductions read it. LayoutError for tiles, whose holes are no elements."""
    check_untiled(x.trace.op, x.layout)
    return contiguous(x)


def finish(x: Tensor, made: Tensor, dims: frozenset[int], keepdims: bool) -> Tensor:
    """The result of a reduction, with an extent of 1 for every reduced dim of `x` if it keeps them."""
    made = _of_pairs(x, made) if folds_pairs(x, dims) else made
    return insert_ones(made, sorted(dims)) if keepdims else made


def _of_pairs(x: Tensor, made: Tensor) -> Tensor:
    """What is left of the second elements in a component: none where there are no first ones, and so no pairs."""
    first, starts, lengths = (component_lengths(x, 1), component_starts(made, 1), component_lengths(made, 1))

    def length(at: ir.Value) -> ir.Value:
        return select(compare("eq", shapes.load(first, at), build.value(0)), build.value(0), shapes.load(lengths, at))

    kept = vectors.generate(shapes.dim(lengths, 0), length)
    return contiguous(window(made, 1, starts, kept))


# Across components ---------------------------------------------------------------------------------


def is_across(x: Tensor, dims: frozenset[int]) -> bool:
    """Whether the reduction of dims of a tensor without windows combines the rows of components, no more."""
    return dims == frozenset({0}) and x.axes[0].letters == "dr"


def reduce_across(x: Tensor, name: str, dtype: DType) -> Tensor:
    """Rows combined by sum, prod, max, min, any or all; a row that no component has does not exist."""
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
