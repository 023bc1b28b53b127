"""One `linalg.generic` over the loops of broadcast tensors; every computation goes through here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ragged_dialect import builders, generic
from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.tracing.axes import Axis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, convert
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.arrays.tracing.trace import Trace, element_type
from ragged_dialect.ir import build, shapes
from ragged_dialect.sources import Source
from ragged_dialect.types import tensor_type

Body: TypeAlias = "Callable[[list[ir.Value]], Sequence[ir.Value]]"


@dataclass(frozen=True)
class Loops:
    """Loops that run over levels of tensors: `axes` of a value that has them all, and per loop the
    (tensor, dim) that gives its extent."""

    axes: tuple[Axis, ...]
    levels: tuple[TensorLevel, ...]

    @property
    def rank(self) -> int:
        """Number of loops."""
        return len(self.levels)


def loops_of(x: Tensor) -> Loops:
    """The loops over all elements of a tensor."""
    return Loops(x.axes, tuple((x, dim) for dim in range(x.ndim)))


def empty(axes: Sequence[Axis], levels: Sequence[TensorLevel], dtype: DType) -> ir.Value:
    """An uninitialised value of axes, whose extents and structure are those of levels of tensors."""
    shape = shape_of(axes)
    if shape.layout.is_dense:
        sizes = [e if e is not None else x.extent(dim) for e, (x, dim) in zip(shape.shape, levels, strict=True)]
        made = shapes.empty(sizes, element_type(dtype))
        return shapes.cast(made, tensor_type(shape, element_type(dtype)))
    likes: list[ir.Value] = []
    sources: list[Source | None] = []
    extents: list[ir.Value] = []
    for dim, (x, level) in enumerate(levels):
        if shape.layout.is_plain(dim):
            sources.append(None)
            if shape.shape[dim] is None:
                extents.append(build.value(x.extent(level)))
            continue
        if x.value not in likes:
            likes.append(x.value)
        sources.append(Source(likes.index(x.value), level))
    return builders.empty(likes, tensor_type(shape, element_type(dtype)), sources, extents)


def affine(rank: int, dims: Sequence[int | None]) -> ir.AffineMap:
    """The map of an operand: a loop per dim, None for index 0."""
    exprs = [ir.AffineConstantExpr.get(0) if d is None else ir.AffineDimExpr.get(d) for d in dims]
    return ir.AffineMap.get(rank, 0, exprs)


def compute(
    trace: Trace,
    operands: Sequence[tuple[Tensor, Sequence[int | None]]],
    outs: Sequence[tuple[ir.Value, DType, Sequence[Axis], Sequence[int]]],
    rank: int,
    reduced: frozenset[int],
    body: Body,
) -> list[Tensor]:
    """Tracers of the results of one generic. Operands have a loop (None: index 0) per dim, outs an
    initial value, dtype, axes and their loops; `body` gets the elements of both."""
    operands = [_without_ones(x, dims) for x, dims in operands]
    maps = [affine(rank, dims) for _, dims in operands] + [affine(rank, dims) for *_, dims in outs]
    kinds = ["reduction" if loop in reduced else "parallel" for loop in range(rank)]
    op = generic.generic([x.value for x, _ in operands], [out[0] for out in outs], maps, kinds, body)
    return [Tensor(trace, r, dtype, tuple(axes)) for r, (_, dtype, axes, _) in zip(op.results, outs, strict=True)]


def mapped(
    x: Tensor,
    others: Sequence[tuple[Tensor, Sequence[int | None]]],
    dtype: DType,
    body: Callable[[list[ir.Value]], ir.Value],
) -> Tensor:
    """An element for each of `x`, made of it and of those of others that have loops of it."""
    out = empty(x.axes, loops_of(x).levels, dtype)
    outs = [(out, dtype, x.axes, tuple(range(x.ndim)))]
    return compute(x.trace, [(x, range(x.ndim)), *others], outs, x.ndim, frozenset(), lambda e: [body(e[:-1])])[0]


def widened(x: Tensor) -> Tensor:
    """Integers or booleans as int64."""
    narrow = x.dtype
    return x if narrow == INT64 else mapped(x, [], INT64, lambda given: convert(given[0], narrow, INT64))


def _without_ones(x: Tensor, dims: Sequence[int | None]) -> tuple[Tensor, Sequence[int | None]]:
    """An operand before dims of extent 1 were inserted that broadcast here: nothing stands between it and
    what reads it when passes fuse them."""
    while x.value in x.trace.inserted:
        before, dim = x.trace.inserted[x.value]
        if dims[dim] is not None:
            break
        x, dims = before, [*dims[:dim], *dims[dim + 1 :]]
    return x, dims
