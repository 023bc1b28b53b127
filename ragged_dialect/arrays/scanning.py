"""Running sums along a dim."""

from __future__ import annotations

from typing import Any

from ragged_dialect import builders
from ragged_dialect._mlir import arith, tensor
from ragged_dialect.arrays import elements
from ragged_dialect.arrays.elements import compare, select
from ragged_dialect.arrays.function import operation
from ragged_dialect.arrays.loops import compute, empty, loops_of
from ragged_dialect.arrays.reducing import dim_of, source
from ragged_dialect.arrays.reductions import accumulator, wide
from ragged_dialect.arrays.tensor import Tensor
from ragged_dialect.arrays.ufuncs import astype
from ragged_dialect.generic import loop_index
from ragged_dialect.layout import RAGGED
from ragged_dialect.lowering import emit


@operation("cumsum")
def cumsum(x: Tensor, *, axis: int) -> Tensor:
    """Sums of the elements up to each one along a dim, in a number of passes that is the logarithm of the
    longest component: every pass adds what is twice as far away."""
    x = source(x)
    dim = dim_of(x, axis)
    out = accumulator(x.dtype)
    inner = wide(out)
    start = astype(x, dtype=inner) if x.dtype != inner else x
    extent = builders.max_length(x.value, dim) if x.layout.letter(dim) in RAGGED else emit.value(x.extent(dim))
    steps = arith.subi(emit.constant(emit.i64(), 64), elements.create("math.ctlz", emit.to_i64(extent)))

    def step(number: Any, state: list[Any]) -> list[Any]:
        distance = arith.shli(emit.value(1), number)
        return [_pass(start, state[0], dim, distance)]

    value = emit.for_loop(emit.to_index(steps), [start.value], step)[0]
    made = Tensor(x.trace, value, inner, x.axes)
    return made if inner == out else astype(made, dtype=out)


def _pass(like: Tensor, value: Any, dim: int, distance: Any) -> Any:
    """Every element plus the one `distance` before it."""
    rank = like.ndim
    current = Tensor(like.trace, value, like.dtype, like.axes)
    out = empty(like.trace, like.axes, loops_of(like).levels, like.dtype)

    def body(given: list[Any]) -> list[Any]:
        indices = [loop_index(k) for k in range(rank)]
        there = compare("ge", indices[dim], distance)
        indices[dim] = select(there, emit.sub(indices[dim], distance), indices[dim])
        before = select(there, tensor.extract(value, indices), elements.constant(like.dtype, 0))
        add = arith.addf if elements.kind(like.dtype) == "f" else arith.addi
        return [add(given[0], before)]

    outs = [(out, like.dtype, like.axes, tuple(range(rank)))]
    return compute(like.trace, [(current, range(rank))], outs, rank, frozenset(), body)[0].value
