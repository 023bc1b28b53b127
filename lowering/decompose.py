"""Softmax as linalg.generic ops: maximum; exponential of the difference and its sum; product with
the inverse of the sum."""

from __future__ import annotations

from typing import Any

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.generic import generic
from ragged_dialect.lowering import emit
from ragged_dialect.lowering.combiners import neutral
from ragged_dialect.sources import Source
from ragged_dialect.types import DYNAMIC, shape_of, tensor_type


def empty_without(x: Any, dim: int, element: Any) -> Any:
    """An uninitialised tensor with the structure of `x` without a dim."""
    shape = shape_of(x.type).reduce(frozenset({dim}))
    kept = [d for d in range(len(x.type.shape)) if d != dim]
    result = tensor_type(shape, element)
    if shape.layout.is_dense:
        return emit.empty([_extent(x, d) for d in kept], element)
    likes = [None if shape.layout.is_plain(new) else Source(0, old) for new, old in enumerate(kept)]
    extents = [_extent(x, old) for new, old in enumerate(kept) if likes[new] is None and shape.shape[new] is None]
    return builders.empty([x], result, likes, extents)


def _extent(x: Any, dim: int) -> Any:
    """Extent of a dense dim; of the outer part of a split plain dim the number of tiles."""
    size = x.type.shape[dim]
    return size if size != DYNAMIC else emit.dim(x, dim)


def decompose_softmax(op: Any) -> None:
    """Replace linalg.softmax; short floats compute in f32 and round once."""
    source, target = op.operands
    dim = op.attributes["dimension"].value
    rank = len(source.type.shape)
    element = source.type.element_type
    short = isinstance(element, (ir.F16Type, ir.BF16Type))
    wide = ir.F32Type.get() if short else element
    whole = ir.AffineMap.get_identity(rank)
    kept = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(d) for d in range(rank) if d != dim])
    reduction = ["reduction" if d == dim else "parallel" for d in range(rank)]

    def widen(x: Any) -> Any:
        return arith.extf(wide, x) if short and x.type != wide else x

    def filled(kind: str) -> Any:
        return emit.fill(neutral(kind, wide), empty_without(source, dim, wide))

    def larger(a: list[Any]) -> list[Any]:
        # a NaN may be passed over here: it comes back with the exponential of its own difference
        x = widen(a[0])
        return [arith.select(arith.cmpf(arith.CmpFPredicate.OGT, x, a[1]), x, a[1])]

    def power(a: list[Any]) -> list[Any]:
        made = math.exp(arith.subf(widen(a[0]), a[1]))
        return [made, arith.addf(a[3], made)]

    def quotient(a: list[Any]) -> list[Any]:
        made = arith.mulf(a[0], a[1])
        return [arith.truncf(element, made) if short else made]

    top = generic([source], [filled("max")], [whole, kept], reduction, larger).result
    outs = [empty_like(source, wide), filled("sum")]
    powers, total = generic([source, top], outs, [whole, kept, whole, kept], reduction, power).results
    one, small = emit.constant(wide, 1.0), ir.AffineMap.get_identity(rank - 1)
    inverse = generic(
        [total],
        [empty_without(source, dim, wide)],
        [small, small],
        ["parallel"] * (rank - 1),
        lambda a: [arith.divf(one, a[0])],
    ).result
    out = empty_like(target, element)
    result = generic([powers, inverse], [out], [whole, kept, whole], ["parallel"] * rank, quotient).result
    op.results[0].replace_all_uses_with(result)
    op.erase()


def empty_like(x: Any, element: Any) -> Any:
    """An uninitialised tensor of another element type with the structure of `x`."""
    shape = shape_of(x.type)
    if shape.layout.is_dense:
        return emit.empty([_extent(x, d) for d in range(shape.rank)], element)
    extents = [_extent(x, d) for d in range(shape.rank) if shape.layout.is_plain(d) and shape.shape[d] is None]
    return builders.empty([x], tensor_type(shape, element), None, extents)
