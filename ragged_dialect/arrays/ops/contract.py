"""Sums of products over named loops: what einsum, matmul and attention are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.ops.elementwise import astype, resolve
from ragged_dialect.arrays.ops.named_loops import NamedLoops
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import wide
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ir import shapes


def contract(trace: Trace, operands: Sequence[Tensor], names: Sequence[str], result: str) -> Tensor:
    """The sum of products over loops, one letter each: `names` has the letters of every operand's dims.

    A loop that is ragged in one operand is so for all; other operands conform there, or are dense and
    reach the longest component. LayoutError for a result whose ragged levels have lost their batch, or which no layout
    has."""
    operands = [source(x) for x in operands]
    for x, own in zip(operands, names, strict=True):
        if x.ndim != len(own):
            raise ArgumentError(f"{trace.op}: expected an array of rank {len(own)}, got rank {x.ndim}")
    loops = NamedLoops.of(trace, operands, names, result)
    dtype = _dtype(operands)
    inner = wide(dtype)
    loop = Loop(inner, inner)
    init = shapes.fill(loop.number(0), empty(trace, loops.axes, loops.levels, inner))
    pairs = [(x, loops.numbers(own)) for x, own in zip(operands, names, strict=True)]
    reduced = frozenset(k for k, c in enumerate(loops.loops) if c not in result)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        *factors, total = given
        factors = [elements.convert(f, x.dtype, inner) for f, x in zip(factors, operands, strict=True)]
        return [element("add", loop, total, reduce(partial(element, "multiply", loop), factors))]

    out = (init, inner, loops.axes, loops.numbers(result))
    made = loops.settled(compute(trace, pairs, [out], len(loops.loops), reduced, body)[0])
    turned = loops.turned
    if turned is not None:
        made.turned = lambda: contract(trace, operands, names, turned)
    return made if inner == dtype else astype(made, dtype=dtype)


def _dtype(operands: Sequence[Tensor]) -> DType:
    """The dtype of NumPy's products of all operands, from the first to the last."""
    made, *rest = operands
    for x in rest:
        made = Tensor(x.trace, x.value, resolve("multiply", [made, x])[1][0], x.axes)
    return made.dtype
