"""`argmax` and `argmin`: where an element is, along a dim, or in the list of all elements of several."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of, insert_ones
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.index.levels import merge
from ragged_dialect.arrays.ops.reduce import finish, reduce, source
from ragged_dialect.arrays.ops.ufunc_bodies import Loop, element
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, select
from ragged_dialect.arrays.tracing.operation import Operation, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import AxisError, LayoutError
from ragged_dialect.generic import loop_index


def joined(x: Tensor, dims: frozenset[int]) -> tuple[Tensor, int]:
    """The tensor with adjacent dims merged to one, and that dim. LayoutError for others, and for dims that no
    merge makes one."""
    run = sorted(dims)
    if run != list(range(run[0], run[-1] + 1)):
        raise LayoutError(f"{x.trace.op}: expected adjacent dims, got {tuple(run)}")
    for number in reversed(range(len(x.axes))):
        inside = [d for d in x.layout.dims(number) if d in dims]
        for _ in inside[1:]:
            x, run = merge(x, axis=inside[0]), run[:-1]
    for _ in run[1:]:
        x, run = merge(x, axis=run[-2]), run[:-1]
    return x, run[0]


def _arg(name: str, ufunc: str, sign: int) -> Operation:
    def body(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
        whole = source(x)
        dims = dims_of(whole, axis)
        if axis == ():
            raise AxisError(f"{x.trace.op}: expected at least one axis, got ()")
        if not whole.ndim:  # a number is the largest of its elements, the first one
            whole, dims, keepdims = insert_ones(whole, [0]), frozenset({0}), False
        x, dim = joined(whole, dims) if dims else (whole, 0)
        found = grouped(x, frozenset({dim}), folds=True)
        beside = [found.indices(dim)] if found.moves else []
        at, loop = next(iter(found.dims)), Loop(x.dtype, x.dtype)

        def better(given: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
            return [element(ufunc, loop, given[0], best[0])]

        def first(given: list[ir.Value], lowest: list[ir.Value]) -> list[ir.Value]:
            here = given[2] if beside else arith.index_cast(element_type(INT64), loop_index(at))
            return [arith.minui(lowest[0], select(_is(x, *given[:2]), here, constant(INT64, -1)))]

        best = reduce(found.value, found.dims, [(x.dtype, elements.infinity(x.dtype, sign))], better)
        made = reduce(found.value, found.dims, [(INT64, constant(INT64, -1))], first, best, beside)[0]
        return finish(whole, made, dims, keepdims)

    body.__name__ = name
    body.__doc__ = f"`{name}` along dims; see the method of this name."
    return operation(name)(body)


def _is(x: Tensor, given: ir.Value, best: ir.Value) -> ir.Value:
    """Whether an element is the best one, which is nan where any is."""
    found = compare("eq", given, best)
    return arith.ori(found, compare("ne", given, given)) if elements.kind(x.dtype) == "f" else found


argmax = _arg("argmax", "maximum", -1)
argmin = _arg("argmin", "minimum", 1)
"""Two passes that fold, in any order, while the elements are in a cache: the best one, and the lowest index of one
that is it, unsigned, so that -1 stands for none. One pass that has both does not run on vectors."""
