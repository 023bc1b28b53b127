"""Computing index vectors: scans, gathers, sums.

Elementwise ones are dense linalg on vectors; scans are sequential loops. Sizes come from extents
of tensors wherever they can, so that grids and buffers are known before the data is.
"""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.generic import generated
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed
from ragged_dialect.types import vector_type


def empty(size: Mixed) -> ir.Value:
    """`tensor<?xi64>` of a size, without elements yet."""
    return shapes.cast(shapes.empty([build.value(size)], build.i64()), vector_type())


def generate(size: Mixed, body: Callable[[ir.Value], Mixed]) -> ir.Value:
    """`tensor<?xi64>` of a size with element i = body(i), an index."""
    return generated(empty(size), lambda indices: build.to_i64(body(indices[0]))).result


def scan(lengths: ir.Value) -> ir.Value:
    """Offsets of lengths: exclusive prefix sums with the total at the end."""
    return running(shapes.dim(lengths, 0), lambda i: tensor.extract(lengths, [i]))


def running(count: Mixed, length: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """Offsets of a number of lengths, `length(i)` an i64."""
    init = empty(build.add(count, 1))
    init = tensor.insert(build.constant(build.i64(), 0), init, [build.value(0)])

    def body(i: ir.Value, carried: list[ir.Value]) -> list[ir.Value]:
        total = arith.addi(carried[0], length(i))
        return [total, tensor.insert(total, carried[1], [build.add(i, 1)])]

    return flow.for_loop(count, [build.constant(build.i64(), 0), init], body, "scan")[1]


def count(offsets: ir.Value) -> Mixed:
    """How many components offsets are of."""
    return build.sub(shapes.dim(offsets, 0), 1)


def component(offsets: ir.Value, q: Mixed) -> tuple[ir.Value, Mixed]:
    """Where component q begins, and its length."""
    start = shapes.load(offsets, q)
    return start, build.sub(shapes.load(offsets, build.add(q, 1)), start)


def last(offsets: ir.Value) -> ir.Value:
    """The last entry of an offsets vector: the total."""
    return shapes.load(offsets, count(offsets))


def but_last(offsets: ir.Value) -> ir.Value:
    """All entries of an offsets vector but the last one: starts."""
    return section(offsets, 0, count(offsets))


def differences(offsets: ir.Value) -> ir.Value:
    """Lengths of offsets."""
    return generate(count(offsets), lambda i: build.sub(shapes.load(offsets, build.add(i, 1)), shapes.load(offsets, i)))


def gather(vector: ir.Value, at: ir.Value) -> ir.Value:
    """vector[at[i]]."""
    return generate(shapes.dim(at, 0), lambda i: shapes.load(vector, shapes.load(at, i)))


def scale(vector: ir.Value, factor: Mixed) -> ir.Value:
    """vector[i] * factor."""
    if isinstance(factor, int) and factor == 1:
        return vector
    return generate(shapes.dim(vector, 0), lambda i: build.mul(shapes.load(vector, i), factor))


def section(vector: ir.Value, low: Mixed, size: Mixed, base: ir.Value | None = None) -> ir.Value:
    """vector[low + i] - base for i below size."""
    return generate(size, lambda i: build.sub(shapes.load(vector, build.add(low, i)), 0 if base is None else base))


def reduce_vector(vector: ir.Value, combine: Callable[[ir.Value, ir.Value], ir.Value], fold: str) -> ir.Value:
    """Fold a vector into one index, from 0; `fold` names the combiner as `flow.FOLD` does."""

    def body(i: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        return [combine(state[0], shapes.load(vector, i))]

    return flow.for_loop(shapes.dim(vector, 0), [build.value(0)], body, fold)[0]


def total(vector: ir.Value) -> ir.Value:
    """Sum of a vector."""
    return reduce_vector(vector, build.add, "addi")


def largest(vector: ir.Value) -> ir.Value:
    """Maximum of a vector, 0 when it is empty."""
    return reduce_vector(vector, build.maximum, "maxsi")
