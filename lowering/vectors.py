"""Computing index vectors: scans, gathers, and walks over the components of an axis.

Elementwise ones are dense linalg on vectors; scans are sequential loops. Sizes come from extents
of tensors wherever they can, so that grids and buffers are known before the data is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering.parts import Parts
from ragged_dialect.types import vector_type


def generate(size: Mixed, body: Callable[[ir.Value], Mixed]) -> ir.Value:
    """`tensor<?xi64>` of a size with element i = body(i), an index."""
    init = shapes.cast(shapes.empty([build.value(size)], build.i64()), vector_type())
    identity = ir.AffineMap.get_identity(1)
    return generic([], [init], [identity], ["parallel"], lambda _: [build.to_i64(body(loop_index(0)))]).result


def scan(lengths: ir.Value) -> ir.Value:
    """Offsets of lengths: exclusive prefix sums with the total at the end."""
    count = shapes.dim(lengths, 0)
    init = shapes.cast(shapes.empty([build.value(build.add(count, 1))], build.i64()), vector_type())
    init = tensor.insert(build.constant(build.i64(), 0), init, [build.value(0)])

    def body(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        total = arith.addi(carried[0], tensor.extract(lengths, [i]))
        return [total, tensor.insert(total, carried[1], [build.add(i, 1)])]

    return flow.for_loop(count, [build.constant(build.i64(), 0), init], body, "scan")[1]


def last(offsets: ir.Value) -> ir.Value:
    """The last entry of an offsets vector: the total."""
    return shapes.load(offsets, build.sub(shapes.dim(offsets, 0), 1))


def differences(offsets: ir.Value) -> ir.Value:
    """Lengths of offsets."""
    size = build.sub(shapes.dim(offsets, 0), 1)
    return generate(size, lambda i: build.sub(shapes.load(offsets, build.add(i, 1)), shapes.load(offsets, i)))


def gather(vector: ir.Value, at: ir.Value) -> ir.Value:
    """vector[at[i]]."""
    return generate(shapes.dim(at, 0), lambda i: shapes.load(vector, shapes.load(at, i)))


def scale(vector: ir.Value, factor: Mixed) -> ir.Value:
    """vector[i] * factor."""
    if isinstance(factor, int) and factor == 1:
        return vector
    return generate(shapes.dim(vector, 0), lambda i: build.mul(shapes.load(vector, i), factor))


def section(vector: ir.Value, low: Mixed, size: Mixed, base: Mixed | None = None) -> ir.Value:
    """vector[low + i] - base for i below size."""
    return generate(size, lambda i: build.sub(shapes.load(vector, build.add(low, i)), 0 if base is None else base))


def walk(
    parts: Parts,
    axis: int,
    levels: int,
    inits: Sequence[ir.Value],
    body: Callable[[list[Mixed], list[ir.Value]], Sequence[ir.Value]],
) -> list[ir.Value]:
    """Visit the index tuples of the first `levels` levels of an axis in logical order."""
    dims = parts.layout.dims(axis)

    def visit(fixed: list[Mixed], carried: list[ir.Value]) -> list[ir.Value]:
        if len(fixed) == levels:
            return list(body(fixed, carried))
        count = parts.loop_extent(dims[len(fixed)], fixed)

        def inner(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
            with parts.ctx.scope():
                return visit([*fixed, i], state)

        return flow.for_loop(count, list(carried), inner)

    return visit([], list(inits))


def count_tuples(parts: Parts, axis: int, levels: int) -> Mixed:
    """Number of index tuples of the first `levels` levels of an axis."""
    letters = parts.layout.axes[axis][:levels]
    dims = parts.layout.dims(axis)
    if set(letters) <= {"d"}:
        # only the one dense dim of an axis can be the outer part of a split
        split = parts.layout.is_split_outer
        return build.product(parts.loop_extent(d, []) if split(d) else parts.extent(d) for d in dims[:levels])
    if set(letters) <= {"d", "r"} and levels < len(dims) and "t" not in parts.layout.axes[axis][: levels + 1]:
        if parts.layout.letter(dims[levels]) in RAGGED:
            return parts.parents(dims[levels])

    def body(_: list[Mixed], state: list[ir.Value]) -> list[ir.Value]:
        return [build.add(state[0], 1)]

    return walk(parts, axis, levels, [build.value(0)], body)[0]


def per_tuple(parts: Parts, axis: int, levels: int, element: Callable[[list[Mixed]], Mixed]) -> ir.Value:
    """A vector with one entry per index tuple of the first `levels` levels, in logical order."""
    size = count_tuples(parts, axis, levels)
    init = shapes.cast(shapes.empty([build.value(size)], build.i64()), vector_type())

    def body(fixed: list[Mixed], state: list[ir.Value]) -> list[ir.Value]:
        count, vector = state
        vector = tensor.insert(build.to_i64(element(fixed)), vector, [count])
        return [build.add(count, 1), vector]

    return walk(parts, axis, levels, [build.value(0), init], body)[1]


def logical_lengths(parts: Parts, dim: int) -> ir.Value:
    """Lengths of a level, one per index tuple of the levels above it, in logical order."""
    axis, at = parts.layout.locate(dim)
    letters = parts.layout.axes[axis]
    if letters[at] in RAGGED and "w" not in letters[:at]:
        lengths = element_lengths(parts, dim)
        factor = parts.shape.factor(dim)
        if factor == 1:
            return lengths
        return generate(shapes.dim(lengths, 0), lambda i: build.ceildiv(shapes.load(lengths, i), factor))
    return per_tuple(parts, axis, at, lambda fixed: parts.loop_extent(dim, fixed))


def element_lengths(parts: Parts, dim: int) -> ir.Value:
    """Stored lengths of a ragged level, in elements, by parent position."""
    if parts.layout.letter(dim) == "w":
        return parts.vectors["lengths", dim]
    offsets = parts.vectors["offsets", dim]
    return parts.ctx.memo(("differences", offsets), lambda: differences(offsets))


def element_starts(parts: Parts, dim: int) -> ir.Value:
    """Stored starts of a ragged level by parent position."""
    if parts.layout.letter(dim) == "w":
        return parts.vectors["starts", dim]
    offsets = parts.vectors["offsets", dim]
    return section(offsets, 0, build.sub(shapes.dim(offsets, 0), 1))


def reduce_vector(
    vector: ir.Value, init: int, combine: Callable[[ir.Value, ir.Value], ir.Value], fold: str
) -> ir.Value:
    """Fold a vector into one index; `fold` names the combiner as `flow.FOLD` does."""

    def body(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return [combine(state[0], shapes.load(vector, i))]

    return flow.for_loop(shapes.dim(vector, 0), [build.value(init)], body, fold)[0]


def total(vector: ir.Value) -> ir.Value:
    """Sum of a vector."""
    return reduce_vector(vector, 0, build.add, "addi")


def largest(vector: ir.Value) -> ir.Value:
    """Maximum of a vector, 0 when it is empty."""
    return reduce_vector(vector, 0, build.maximum, "maxsi")
