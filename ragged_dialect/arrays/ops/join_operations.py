"""The operations that join arrays, and cut each component in pieces."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.arguments import checked_axis
from ragged_dialect.arrays.index.dims import dim_of, insert_ones
from ragged_dialect.arrays.index.rows import (
    as_index,
    component_lengths,
    component_starts,
    narrowed,
    ragged_level,
    window,
    with_axis,
)
from ragged_dialect.arrays.ops.elementwise import astype, resolve
from ragged_dialect.arrays.tracing.agreement import equal_beside
from ragged_dialect.arrays.tracing.axes import Axis
from ragged_dialect.arrays.tracing.elements import BOOL
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous, in_components, of_value
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.build import Mixed
from ragged_dialect.segments import GROUPS


@operation("concat")
def _concat(*arrays: Tensor, axis: int) -> Tensor:
    """Arrays joined along a dim; see `concat`."""
    if not arrays:
        raise ArgumentError("concat: expected at least one array, got none")
    given = _beside_ragged([contiguous(x) for x in _one_dtype(arrays)])
    first = given[0]
    dim = dim_of(first, axis)
    for other in given[1:]:
        if other.layout != first.layout:
            raise LayoutError(
                f'{first.trace.op}: expected arrays of one layout, got "{first.layout}" and "{other.layout}"'
            )
        equal_beside(first, other, dim)
    if first.is_dense and len(given) == 1:
        return first
    value = _joined([x.value for x in given], dim)
    known: dict[int, Axis] = {n: a for n, a in enumerate(first.axes) if n != first.place(dim)[0]}
    return of_value(first.trace, value, first.dtype, known)


def _joined(values: list[ir.Value], dim: int) -> ir.Value:
    """One after the other; those of more runs of a type than an op takes in parts."""
    while sum(1 for _ in groupby(value.type for value in values)) > GROUPS:
        values = [builders.concat(values[k : k + GROUPS], dim) for k in range(0, len(values), GROUPS)]
    return builders.concat(values, dim)


def _one_dtype(arrays: Sequence[Tensor]) -> list[Tensor]:
    wide = next((x for x in arrays if x.dtype != BOOL), arrays[0])
    for x in arrays:
        if x.dtype not in (wide.dtype, BOOL):
            wide = astype(wide, dtype=resolve("add", [wide, x])[1][0])
    return [x if x.dtype == wide.dtype else astype(x, dtype=wide.dtype) for x in arrays]


def _beside_ragged(arrays: list[Tensor]) -> list[Tensor]:
    """Dense dims among ragged ones as components of one length."""
    letters = max((x.axes[0].letters for x in arrays if x.axes), key=len, default="")
    rank = max(x.ndim for x in arrays)

    def beside(x: Tensor) -> Tensor:
        own = x.axes[0].letters if x.axes else letters
        if x.ndim < rank or own == letters or letters != own.ljust(len(letters), "r"):
            return x
        return beside(in_components(x))

    return [beside(x) for x in arrays]


@operation("stack")
def _stack(*arrays: Tensor, axis: int) -> Tensor:
    """Arrays of one structure along a new dim; see `stack`."""
    if not arrays:
        raise ArgumentError("stack: expected at least one array, got none")
    dim = checked_axis("stack", axis, arrays[0].ndim + 1)
    for x in arrays[1:]:
        if x.ndim != arrays[0].ndim:
            raise LayoutError(f"stack: expected arrays of one rank, got {arrays[0].ndim} and {x.ndim}")
    return _concat(*(insert_ones(contiguous(x), [dim]) for x in arrays), axis=dim)


@operation("chunk")
def _piece(x: Tensor, number: Tensor, chunks: Tensor, *, axis: int, even: bool) -> Tensor:
    """Piece `number` of every component of a ragged dim; see `pieces`."""
    at, parts = as_index(number), as_index(chunks)
    bound = _even_bound if even else _bound

    def part(length: ir.Value) -> tuple[Mixed, Mixed]:
        low = bound(length, at, parts)
        return low, build.sub(bound(length, build.add(at, 1), parts), low)

    return narrowed(x, axis, part)


@operation("roll")
def rolled(x: Tensor, shift: Tensor, *, axis: int) -> Tensor:
    """A ragged dim `shift` places on, in each component; what is beyond its end is at its start."""
    x = contiguous(x)
    lengths, starts, places = component_lengths(x, axis), component_starts(x, axis), as_index(shift)
    count = shapes.dim(lengths, 0)

    def moved(q: ir.Value) -> ir.Value:
        length = build.maximum(shapes.load(lengths, q), 1)
        return arith.remsi(arith.addi(arith.remsi(places, length), length), length)

    last = vectors.generate(count, moved)
    rest = vectors.generate(count, lambda q: build.sub(shapes.load(lengths, q), shapes.load(last, q)))
    first = vectors.generate(count, lambda q: build.add(shapes.load(starts, q), shapes.load(rest, q)))
    made = _concat(window(x, axis, first, last), window(x, axis, starts, rest), axis=axis)
    number, level, nested = ragged_level(x, axis)
    return with_axis(made, number, nested) if level == len(nested.letters) - 1 else made  # lengths are those of x


def _bound(length: Mixed, number: Mixed, chunks: Mixed) -> Mixed:
    """Where piece `number` begins when all are ceil(length / chunks) long but the last ones."""
    return build.minimum(build.mul(build.ceildiv(length, chunks), number), length)


def _even_bound(length: Mixed, number: Mixed, chunks: Mixed) -> Mixed:
    """Where it begins when sizes differ by 1 at most, longer ones first."""
    size, rest = arith.divui(length, build.value(chunks)), arith.remui(length, build.value(chunks))
    return build.add(build.mul(size, number), build.minimum(rest, number))
