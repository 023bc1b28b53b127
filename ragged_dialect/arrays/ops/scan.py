"""Running sums, products and others along a dim."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect import builders
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.ops.elementwise import astype
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import accumulator, wide
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.elements import BOOL, compare, select
from ragged_dialect.arrays.tracing.loops import compute, empty, loops_of
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import known
from ragged_dialect.errors import ArgumentError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow
from ragged_dialect.ir.match import definer
from ragged_dialect.layout import RAGGED

SCANS: dict[str, Callable[[DType], DType]] = {
    "add": accumulator, "multiply": accumulator, "maximum": lambda dtype: dtype, "minimum": lambda dtype: dtype,
    "logical_or": lambda dtype: BOOL, "logical_and": lambda dtype: BOOL,
}  # fmt: skip
"""Ufuncs that can be scanned, with the dtype of the results."""


@operation("accumulate")
def accumulate(x: Tensor, *, ufunc: str, axis: int) -> Tensor:
    """A ufunc of the elements up to each one along a dim, in a number of passes that is the logarithm of the
    longest component: every pass combines with what is twice as far away. On a CPU there is one pass. ArgumentError
    for a ufunc that has no order of its own."""
    if ufunc not in SCANS:
        raise ArgumentError(f"np.{ufunc}.accumulate: expected one of {', '.join(SCANS)}, got {ufunc}")
    x = source(x)
    grouping = grouped(x, frozenset({dim_of(x, axis)}))
    return grouping.back(_scanned(grouping.value, next(iter(grouping.dims)), ufunc))


@operation("cumsum")
def cumsum(x: Tensor, *, axis: int) -> Tensor:
    """Sums of the elements up to each one along a dim."""
    return accumulate(x, ufunc="add", axis=axis)


@operation("cumprod")
def cumprod(x: Tensor, *, axis: int) -> Tensor:
    """Products of the elements up to each one along a dim."""
    return accumulate(x, ufunc="multiply", axis=axis)


def _scanned(x: Tensor, dim: int, ufunc: str) -> Tensor:
    out = SCANS[ufunc](x.dtype)
    inner = wide(out)
    start = astype(x, dtype=inner) if x.dtype != inner else x
    extent = builders.max_length(x.value, dim) if x.layout.letter(dim) in RAGGED else build.value(x.extent(dim))
    steps = arith.subi(build.constant(build.i64(), 64), elements.create("math.ctlz", build.to_i64(extent)))

    def step(number: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        distance = arith.shli(build.value(1), number)
        return [_pass(start, state[0], dim, distance, ufunc)]

    value = flow.for_loop(build.to_index(steps), [start.value], step)[0]
    definer(value).attributes[flow.RUNNING] = ir.UnitAttr.get()
    made = Tensor(x.trace, value, inner, x.axes)
    return made if inner == out else astype(made, dtype=out)


def _pass(like: Tensor, value: ir.Value, dim: int, distance: ir.Value, ufunc: str) -> ir.Value:
    """Every element with the one `distance` before it."""
    rank = like.ndim
    current = Tensor(like.trace, value, like.dtype, like.axes)
    out = empty(like.trace, like.axes, loops_of(like).levels, like.dtype)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        indices = [loop_index(k) for k in range(rank)]
        there = compare("ge", indices[dim], distance)
        indices[dim] = select(there, arith.subi(indices[dim], distance), indices[dim])
        both = element(ufunc, Loop(like.dtype, like.dtype), tensor.extract(value, indices), given[0])
        return [select(there, both, given[0])]

    outs = [(out, like.dtype, like.axes, tuple(range(rank)))]
    made = compute(like.trace, [(current, range(rank))], outs, rank, frozenset(), body)[0].value
    return known(made)  # a loop carries values of one structure, which no pass sees
