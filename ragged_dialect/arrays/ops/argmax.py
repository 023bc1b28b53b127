"""`argmax` and `argmin`: where an element is, along a dim, or in the list of all elements of several."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.arrays.index.dims import AxisArgument, dims_of
from ragged_dialect.arrays.index.group import grouped
from ragged_dialect.arrays.index.levels import merge
from ragged_dialect.arrays.ops.reduce import finish, reduce, source
from ragged_dialect.arrays.tracing import elements
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, select
from ragged_dialect.arrays.tracing.operation import Operation, operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import LayoutError
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


def _arg(name: str, predicate: str, sign: int) -> Operation:
    def body(x: Tensor, *, axis: AxisArgument = None, keepdims: bool = False) -> Tensor:
        whole = source(x)
        dims = dims_of(whole, axis)
        x, dim = joined(whole, dims) if dims else (whole, 0)
        found = grouped(x, frozenset({dim}))
        beside = [found.indices(dim)] if found.moves else []
        at = next(iter(found.dims))
        inits = [(x.dtype, elements.infinity(x.dtype, sign)), (INT64, constant(INT64, -1))]

        def combine(given: list[ir.Value], accumulated: list[ir.Value]) -> list[ir.Value]:
            here = given[1] if beside else arith.index_cast(element_type(INT64), loop_index(at))
            return _better(x, predicate, given[0], here, accumulated)

        made = reduce(found.value, found.dims, inits, combine, beside=beside)[1]
        return finish(whole, made, dims, keepdims)

    body.__name__ = name
    body.__doc__ = f"`{name}` along dims; see the method of this name."
    return operation(name)(body)


def _better(x: Tensor, predicate: str, given: ir.Value, here: ir.Value, accumulated: list[ir.Value]) -> list[ir.Value]:
    best, at = accumulated
    none = compare("lt", at, constant(INT64, 0))
    better = arith.ori(compare(predicate, given, best), none)
    if elements.kind(x.dtype) == "f":  # the first nan wins
        better = arith.ori(better, arith.andi(compare("ne", given, given), compare("eq", best, best)))
        better = arith.andi(better, arith.ori(compare("eq", best, best), none))
    return [select(better, given, best), select(better, here, at)]


argmax = _arg("argmax", "gt", -1)
argmin = _arg("argmin", "lt", 1)
