"""Sums of products over named loops: what einsum, matmul and attention are made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce

from ragged_dialect._mlir import ir
from ragged_dialect.arrays.ops.elementwise import astype, resolve
from ragged_dialect.arrays.ops.reduce import source
from ragged_dialect.arrays.ops.statistics import wide
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.agreement import batch_extent, covers, equal_batches, equal_extents
from ragged_dialect.arrays.tracing.axes import Axis, NestedAxis, PlainAxis, batch_axis
from ragged_dialect.arrays.tracing.loops import compute, empty
from ragged_dialect.arrays.tracing.tensor import Tensor, TensorLevel
from ragged_dialect.arrays.tracing.trace import Trace
from ragged_dialect.arrays.tracing.wrap import of_value
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import shapes
from ragged_dialect.layout import RAGGED


def contract(trace: Trace, operands: Sequence[Tensor], names: Sequence[str], result: str) -> Tensor:
    """The sum of products over loops, one letter each: `names` has the letters of every operand's dims.

    A loop that is ragged in one operand is so for all; other operands conform there, or are dense and
    reach the longest component. LayoutError for a result whose ragged levels have lost their batch."""
    operands = [source(x) for x in operands]
    for x, own in zip(operands, names, strict=True):
        if x.ndim != len(own):
            raise ArgumentError(f"{trace.op}: expected an array of rank {len(own)}, got rank {x.ndim}")
    loops = "".join(dict.fromkeys(result + "".join(names)))
    levels = {letter: _level(trace, operands, names, letter) for letter in loops}
    _check_conforming(trace, operands, names)
    axes = _result_axes(operands, names, result, levels)
    dtype = operands[0].dtype if len(operands) == 1 else resolve("multiply", operands)[1][0]
    inner = wide(dtype)
    loop = Loop(inner, inner)
    init = shapes.fill(loop.number(0), empty(trace, axes, [levels[c] for c in result], inner))
    pairs = [(x, [loops.index(c) for c in own]) for x, own in zip(operands, names, strict=True)]
    reduced = frozenset(k for k, c in enumerate(loops) if c not in result)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        *factors, total = given
        factors = [elements.convert(f, x.dtype, inner) for f, x in zip(factors, operands, strict=True)]
        return [element("add", loop, total, reduce(partial(element, "multiply", loop), factors))]

    out = (init, inner, axes, [loops.index(c) for c in result])
    (made,) = compute(trace, pairs, [out], len(loops), reduced, body)
    known = {k: a for k, a in enumerate(axes) if isinstance(a, PlainAxis) or a.vectors}
    made = of_value(trace, made.value, inner, known)
    return made if inner == dtype else astype(made, dtype=dtype)


def _level(trace: Trace, operands: Sequence[Tensor], names: Sequence[str], letter: str) -> TensorLevel:
    """The level that gives a loop's extent: a ragged one if there is one, then a batch of a nested axis, then a
    plain one, whose extent may be static."""
    uses = [(x, own.index(letter)) for x, own in zip(operands, names, strict=True) if letter in own]
    uses.sort(key=lambda use: _rank(*use))
    x, dim = uses[0]
    for other, at in uses[1:]:
        if not other.layout.is_plain(at):
            if x.layout.is_plain(dim):
                batch_extent((x, dim), (other, at), dim)
            continue
        if x.layout.is_plain(dim):
            x, dim = equal_extents((x, dim), (other, at), at)
        elif x.layout.letter(dim) == "d":
            batch_extent((other, at), (x, dim), at)
        else:
            covers((other, at), (x, dim))
    return x, dim


def _rank(x: Tensor, dim: int) -> int:
    if x.layout.letter(dim) in RAGGED:
        return 0
    if x.layout.is_plain(dim):
        return 2
    return 1 if x.place(dim)[1] == 0 else 3


def _check_conforming(trace: Trace, operands: Sequence[Tensor], names: Sequence[str]) -> None:
    """Nested axes over the same loops conform."""
    known: dict[str, NestedAxis] = {}
    for x, own in zip(operands, names, strict=True):
        for number, axis in enumerate(x.axes):
            if isinstance(axis, NestedAxis):
                loops = "".join(own[d] for d in x.layout.dims(number))
                known[loops] = trace.conform(known[loops], axis) if loops in known else axis
    first: dict[str, Tensor] = {}
    for x, own in zip(operands, names, strict=True):
        if own and isinstance(x.axes[0], NestedAxis):
            other = first.setdefault(own[0], x)
            if other.nested(0) is not x.axes[0]:
                equal_batches(other, x)


def _result_axes(
    operands: Sequence[Tensor], names: Sequence[str], result: str, levels: dict[str, TensorLevel]
) -> list[Axis]:
    """The axes of the result: a ragged loop goes into the axis of the batch loops it hangs from, which begins with one
    of these, and has the dense ones between them."""
    axes: list[Axis] = []
    at = 0
    while at < len(result):
        run = result[at]
        for stop in range(at + 2, len(result) + 1):
            if _hangs(levels[result[stop - 1]], operands, names, result[at : stop - 1]):
                run = result[at:stop]
        axes.append(_axis(operands, names, run, levels))
        at += len(run)
    return axes


def _hangs(level: TensorLevel, operands: Sequence[Tensor], names: Sequence[str], run: str) -> bool:
    """Whether a ragged level has all its parents in a run of loops, the first of which is one."""
    x, dim = level
    if x.layout.letter(dim) not in RAGGED:
        return False
    own = names[[o is x for o in operands].index(True)]
    number, at = x.place(dim)
    first = x.layout.dims(number)[0]
    parents = set(own[first : first + at])
    return run[0] in parents and parents <= set(run)


def _axis(operands: Sequence[Tensor], names: Sequence[str], run: str, levels: dict[str, TensorLevel]) -> Axis:
    letters = "".join(levels[c][0].layout.letter(levels[c][1]) for c in run)
    if len(run) == 1:
        x, dim = levels[run]
        number, level = x.place(dim)
        axis = x.axes[number]
        if isinstance(axis, PlainAxis):
            return axis
        if letters in RAGGED:
            raise LayoutError(f"expected the batch of ragged dim '{run}' before it in the result, got none")
        return batch_axis(axis, level)
    for x, own in zip(operands, names, strict=True):
        for number, axis in enumerate(x.axes):
            if isinstance(axis, NestedAxis) and "".join(own[d] for d in x.layout.dims(number)) == run:
                return axis.root
    return NestedAxis(letters, [], [None] * len(run))
