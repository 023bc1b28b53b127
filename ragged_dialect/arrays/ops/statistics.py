"""Reductions over ragged and dense dims."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of, insert_ones
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import UFUNCS, astype, root
from ragged_dialect.arrays.ops.reduce import finish, is_across, reduce, reduce_across, source
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.axes import NestedAxis, batch_axis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, SINGLE, constant, convert
from ragged_dialect.arrays.tracing.operation import Operation, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.errors import ArgumentError


def accumulator(dtype: DType) -> DType:
    """The dtype that NumPy sums a dtype in: integers and booleans as int64."""
    return INT64 if dtype.kind in "bi" else dtype


def wide(dtype: DType) -> DType:
    """The dtype that partial results of short floats are kept in."""
    return SINGLE if elements.kind(dtype) == "f" and dtype.itemsize == 2 else dtype


def _reduction(name: str, ufunc: str, result: Callable[[DType], DType], init: Callable[[DType], ir.Value]) -> Operation:
    def body(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
        x = source(x)
        dims, out = dims_of(x, axis), result(x.dtype)
        if name in _OF_BITS and elements.kind(x.dtype) == "f":
            raise ArgumentError(f"{x.trace.op}: expected integers or booleans, got {x.dtype}")
        if is_across(x, dims) and name not in _OF_BITS:
            return finish(x, reduce_across(x, name, out), dims, keepdims)
        found, inner = grouped(x, dims, folds=True), wide(out)
        loop = Loop(inner, inner)

        def combine(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
            return [element(ufunc, loop, accumulated[0], convert(given[0], x.dtype, inner))]

        (made,) = reduce(found.value, found.dims, [(inner, init(inner))], combine)
        return finish(x, made if inner == out else astype(made, dtype=out), dims, keepdims)

    body.__name__ = name
    body.__doc__ = f"`{name}` over dims; see the method of this name."
    return operation(name)(body)


_OF_BITS = ("reduce_and", "reduce_or", "reduce_xor")
"""Those that no op combines across components."""


REDUCTIONS = {
    "sum": _reduction("sum", "add", accumulator, lambda dtype: constant(dtype, 0)),
    "prod": _reduction("prod", "multiply", accumulator, lambda dtype: constant(dtype, 1)),
    "max": _reduction("max", "maximum", lambda dtype: dtype, lambda dtype: elements.infinity(dtype, -1)),
    "min": _reduction("min", "minimum", lambda dtype: dtype, lambda dtype: elements.infinity(dtype, 1)),
    "any": _reduction("any", "logical_or", lambda _: BOOL, lambda dtype: constant(dtype, 0)),
    "all": _reduction("all", "logical_and", lambda _: BOOL, lambda dtype: constant(dtype, 1)),
    "reduce_and": _reduction("reduce_and", "bitwise_and", lambda dtype: dtype, lambda dtype: constant(dtype, -1)),
    "reduce_or": _reduction("reduce_or", "bitwise_or", lambda dtype: dtype, lambda dtype: constant(dtype, 0)),
    "reduce_xor": _reduction("reduce_xor", "bitwise_xor", lambda dtype: dtype, lambda dtype: constant(dtype, 0)),
}
"""Reductions by a ufunc, by name."""


_BESIDE = 128
"""Numbers of a row that are counted beside what is added up, in registers of AVX-512: of more, counts would be read and
written for each row."""


def float_dtype(dtype: DType) -> DType:
    """The dtype of a mean: float64 for integers and booleans."""
    return dtype if elements.kind(dtype) == "f" else np.dtype(np.float64)


def count(x: Tensor, dims: frozenset[int], dtype: DType) -> Tensor | float:
    """How many elements are reduced for each result, as a float: a number where every extent is known."""
    extents = [x.static_shape[dim] for dim in dims]
    if None not in extents:
        return float(prod(extent for extent in extents if extent is not None))
    axis, features = x.axes[0], prod(extent or 0 for extent in x.static_shape[2:])
    is_wide = features > _BESIDE and x.trace.device == "cpu" and dims == frozenset({1})
    if is_wide and isinstance(axis, NestedAxis) and axis.letters in ("dr", "dw"):
        lengths = x.trace.assembled(builders.lengths(x.value, 1), [batch_axis(axis, 0)], INT64)
        return astype(insert_ones(lengths, range(1, x.ndim - 1)), dtype=dtype)

    def combine(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
        return [arith.addi(accumulated[0], constant(INT64, 1))]

    (made,) = reduce(x, dims, [(INT64, constant(INT64, 0))], combine)
    return astype(made, dtype=dtype)


def summed(
    x: Tensor,
    dims: frozenset[int],
    dtype: DType,
    term: Callable[[list[ir.Value]], ir.Value],
    other: Sequence[Tensor] = (),
) -> Tensor:
    """Sums of what `term` makes of each element, as one of a dtype of floats, and of those of tensors over the kept
    dims."""

    def combine(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
        return [arith.addf(accumulated[0], term([convert(given[0], x.dtype, dtype), *given[1:]]))]

    return reduce(x, dims, [(dtype, constant(dtype, 0))], combine, other)[0]


def mean_of(x: Tensor, dims: frozenset[int]) -> tuple[Tensor, Tensor | float]:
    """Mean, kept in a wide dtype, and count."""
    inner = wide(float_dtype(x.dtype))
    total, number = summed(x, dims, inner, lambda e: e[0]), count(x, dims, inner)
    return UFUNCS["divide"](total, number), number


@operation("mean")
def mean(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
    """Mean over dims; nan for an empty component."""
    x = source(x)
    dims, out = dims_of(x, axis), float_dtype(x.dtype)
    if is_across(x, dims):
        ones = UFUNCS["equal"](x, x)
        total = reduce_across(astype(x, dtype=wide(out)), "sum", wide(out))
        made = UFUNCS["divide"](total, reduce_across(UFUNCS["logical_or"](ones, True), "sum", INT64))
        return finish(x, astype(made, dtype=out), dims, keepdims)
    found = grouped(x, dims, folds=True)
    made, _ = mean_of(found.value, found.dims)
    return finish(x, astype(made, dtype=out), dims, keepdims)


def squares_about(x: Tensor, dims: frozenset[int], centre: Tensor) -> Tensor:
    """Sums of the squared distances from a centre over the kept dims."""

    def square(given: list[ir.Value]) -> ir.Value:
        distance = arith.subf(*given)
        return arith.mulf(distance, distance)

    return summed(x, dims, centre.dtype, square, [centre])


@operation("var")
def var(
    x: Tensor, *, axis: AxisArgument = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None
) -> Tensor:
    """Variance over dims: squares about the mean over the count less `ddof`, which the array API standard calls
    `correction`; nan where that is not above 0, as NumPy gives for one element less than asked."""
    x = source(x)
    if correction is not None and ddof:
        raise ArgumentError(f"{x.trace.op}: expected ddof or correction, got both")
    ddof = ddof if correction is None else correction
    dims, out = dims_of(x, axis), float_dtype(x.dtype)
    found = grouped(x, dims, folds=True)
    middle, number = mean_of(found.value, found.dims)
    left = number - float(ddof) if isinstance(number, float) else UFUNCS["subtract"](number, float(ddof))
    divisor = max(left, 0.0) if isinstance(left, float) else UFUNCS["maximum"](left, 0.0)
    made = UFUNCS["divide"](squares_about(found.value, found.dims, middle), divisor)
    return finish(x, astype(made, dtype=out), dims, keepdims)


@operation("std")
def std(
    x: Tensor, *, axis: AxisArgument = None, ddof: int = 0, keepdims: bool = False, correction: int | None = None
) -> Tensor:
    """Root of the variance."""
    return root(var(x, axis=axis, ddof=ddof, keepdims=keepdims, correction=correction))
