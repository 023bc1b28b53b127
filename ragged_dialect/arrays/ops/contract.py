"""Sums of products over named loops: what einsum, matmul and attention are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from itertools import groupby
from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import transpose, with_joined
from ragged_dialect.arrays.ops.elementwise import astype, resolve
from ragged_dialect.arrays.ops.named_loops import NamedLoops
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import wide
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import equal_extents
from ragged_dialect.arrays.tracing.axes import PlainAxis
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
    operands, names = _in_one_order(operands, names, result)
    if not all(x.is_dense for x in operands):
        for x, own in zip(operands, names, strict=True):
            _note_columns(x, [c in result[1:] and "".join(names).count(c) == 1 for c in own])
    loops = NamedLoops.of(trace, operands, names, result)
    dtype = _dtype(operands)
    inner = wide(dtype)
    loop = Loop(inner, inner)
    init = shapes.fill(loop.number(0), empty(loops.axes, loops.levels, inner))
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


def _note_columns(x: Tensor, free: Sequence[bool]) -> None:
    """That the first extent of a dense argument is one of columns, where a factor's dims are columns of a product."""
    for axis, is_column in zip(x.axes if x.is_dense else (), free, strict=False):
        origin = axis.origin if is_column and isinstance(axis, PlainAxis) and axis.extent is None else None
        if origin is not None and origin.dim == 0:
            x.trace.columns.add(origin.leaf)


def _in_one_order(
    operands: Sequence[Tensor], names: Sequence[str], result: str
) -> tuple[Sequence[Tensor], Sequence[str]]:
    """Of two operands, one of them dense, the dims that are summed as one dim where both have them in different orders:
    a product of matrices, once the dense one is transposed, takes a twentieth of the time (Zen 4)."""
    dense = [k for k, x in enumerate(operands) if x.is_dense]
    if len(operands) != 2 or len(dense) != 1:
        return operands, names
    w, x = operands[dense[0]], operands[1 - dense[0]]
    of_w, of_x = names[dense[0]], names[1 - dense[0]]

    def is_joined(letter: str) -> bool:
        """Whether a letter is a dim that is summed, whose extent one operand knows and the other may have."""
        if letter in result or letter not in of_w or not isinstance(x.axes[x.place(of_x.index(letter))[0]], PlainAxis):
            return False
        wanted, given = x.static_shape[of_x.index(letter)], w.static_shape[of_w.index(letter)]
        return wanted is not None and given in (wanted, None)

    runs = ["".join(run) for summed, run in groupby(of_x, is_joined) if summed]
    run = max(runs, key=len, default="")
    if len(run) < 2 or run in of_w:
        return operands, names
    rest = [c for c in of_w if c not in run]  # those that both have are of matrices one by one
    order = "".join([*(c for c in rest if c in of_x), run, *(c for c in rest if c not in of_x)])
    for c in run:
        equal_extents((x, of_x.index(c)), (w, of_w.index(c)), of_w.index(c))
    turned = transpose(w, axes=tuple(of_w.index(c) for c in order))
    joined = PlainAxis(prod(x.static_shape[of_x.index(c)] or 0 for c in run))
    starts = [(turned, turned.place(order.index(run))[0]), (x, x.place(of_x.index(run))[0])]
    both = [with_joined(one, first, first + len(run), joined) for one, first in starts]
    own = [letters.replace(run, run[0]) for letters in (order, of_x)]
    return (both, own) if dense[0] == 0 else (both[::-1], own[::-1])


def _dtype(operands: Sequence[Tensor]) -> DType:
    """The dtype of NumPy's products of all operands, from the first to the last."""
    made, *rest = operands
    for x in rest:
        made = Tensor(x.trace, x.value, resolve("multiply", [made, x])[1][0], x.axes)
    return made.dtype
