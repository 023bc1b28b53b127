"""Walks over the components of an axis, and index vectors with an entry per component."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from ragged_dialect._mlir import ir, tensor
from ragged_dialect.ir import build, flow, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering.scf.parts import Parts

if TYPE_CHECKING:
    from ragged_dialect.lowering.scf.context import Lowering


Visit: TypeAlias = "Callable[[list[Mixed], list[ir.Value]], Sequence[ir.Value]]"
"""What is done at an index tuple with what is carried."""


def visit(
    ctx: Lowering, levels: int, extent: Callable[[list[Mixed]], Mixed], inits: Sequence[ir.Value], body: Visit
) -> list[ir.Value]:
    """Visit the index tuples of some levels in logical order; `extent` is that of the level below some indices."""

    def below(fixed: list[Mixed], carried: list[ir.Value]) -> list[ir.Value]:
        if len(fixed) == levels:
            return list(body(fixed, carried))

        def inner(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            with ctx.scope():
                return below([*fixed, i], state)

        return flow.for_loop(extent(fixed), carried, inner)

    return below([], list(inits))


def walk(parts: Parts, axis: int, levels: int, inits: Sequence[ir.Value], body: Visit) -> list[ir.Value]:
    """Visit the index tuples of the first `levels` levels of an axis in logical order."""
    dims = parts.layout.dims(axis)
    return visit(parts.ctx, levels, lambda fixed: parts.loop_extent(dims[len(fixed)], fixed), inits, body)


def count_tuples(parts: Parts, axis: int, levels: int) -> Mixed:
    """Number of index tuples of the first `levels` levels of an axis."""
    letters = parts.layout.axes[axis][:levels]
    dims = parts.layout.dims(axis)
    if set(letters) <= {"d"}:
        # only the one dense dim of an axis can be the outer part of a split
        split = parts.layout.is_split_outer
        return build.product(parts.loop_extent(d, []) if split(d) else parts.extent(d) for d in dims[:levels])
    if set(letters) <= {"d", "r"} and levels < len(dims) and parts.layout.letter(dims[levels]) in RAGGED:
        return parts.parents(dims[levels])

    def body(_: list[Mixed], state: list[ir.Value]) -> list[ir.Value]:
        return [build.add(state[0], 1)]

    return walk(parts, axis, levels, [build.value(0)], body)[0]


def per_tuple(parts: Parts, axis: int, levels: int, element: Callable[[list[Mixed]], Mixed]) -> ir.Value:
    """A vector with one entry per index tuple of the first `levels` levels, in logical order."""
    return collected(count_tuples(parts, axis, levels), partial(walk, parts, axis, levels), element)


def collected(
    size: Mixed, visit: Callable[[Sequence[ir.Value], Visit], list[ir.Value]], element: Callable[[list[Mixed]], Mixed]
) -> ir.Value:
    """A vector with an entry for each of the index tuples that are visited."""
    init = vectors.empty(size)

    def body(fixed: list[Mixed], state: list[ir.Value]) -> list[ir.Value]:
        count, vector = state
        vector = tensor.insert(build.to_i64(element(fixed)), vector, [count])
        return [build.add(count, 1), vector]

    return visit([build.value(0), init], body)[1]


def logical_lengths(parts: Parts, dim: int) -> ir.Value:
    """Lengths of a level, one per index tuple of the levels above it, in logical order."""
    axis, at, letters = parts.layout.level(dim)
    if letters[at] in RAGGED and "w" not in letters[:at]:
        lengths = element_lengths(parts, dim)
        factor = parts.shape.factor(dim)
        if factor == 1:
            return lengths
        return vectors.generate(shapes.dim(lengths, 0), lambda i: build.ceildiv(shapes.load(lengths, i), factor))
    return per_tuple(parts, axis, at, lambda fixed: parts.loop_extent(dim, fixed))


def element_lengths(parts: Parts, dim: int) -> ir.Value:
    """Stored lengths of a ragged level, in elements, by parent position."""
    if parts.layout.letter(dim) == "w":
        return parts.vectors["lengths", dim]
    offsets = parts.vectors["offsets", dim]
    return parts.ctx.memo(("differences", offsets), lambda: vectors.differences(offsets))


def element_starts(parts: Parts, dim: int) -> ir.Value:
    """Stored starts of a ragged level by parent position."""
    if parts.layout.letter(dim) == "w":
        return parts.vectors["starts", dim]
    return vectors.but_last(parts.vectors["offsets", dim])
