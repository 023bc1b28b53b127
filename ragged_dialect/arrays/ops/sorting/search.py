"""`searchsorted`: where elements belong in a vector that is in order."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index import parts
from ragged_dialect.arrays.index.dims import insert_ones
from ragged_dialect.arrays.ops.elementwise import map_elements, resolve
from ragged_dialect.arrays.tracing.agreement import equal_levels
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.elements import BOOL, INT64, compare, convert, kind, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.python_numbers import exact
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError, brief
from ragged_dialect.ir import build, flow, shapes

_SIDES = ("left", "right")


@operation("searchsorted")
def searchsorted(a: Tensor, v: Tensor, *, side: str = "left") -> Tensor:
    """How many elements of a dense vector `a`, which is in order, are less than each element of `v`, or with `side`
    `right` no more than it: the index where it belongs, int64, as `np.searchsorted` and `torch.bucketize` have it. Of
    lists `a` each component is in order, and searched for what `v` has in it: a number for each component, [B], or any
    [B, ...]; of lists of lists each innermost one, for the number or the list that `v` has for it. nan belongs behind
    all numbers. Whether `a` is in order is not checked. LayoutError for another `a`.

    >>> rg.searchsorted(np.array([10, 20, 30]), rg.ragged([[5, 20], [], [99, 21, 10]])).tolist()
    [[0, 1], [], [3, 2, 0]]
    >>> rg.searchsorted(rg.ragged([[10, 20], [], [5]]), np.array([15, 15, 15]))
    array([1, 0, 1])
    """
    if side not in _SIDES:
        raise ArgumentError(f"{v.trace.op}: expected 'left' or 'right' for side, got {brief(side)}")
    return _searched(a, v, side, INT64)


@operation("isin")
def isin(v: Tensor, a: Tensor) -> Tensor:
    """Which elements of `v` are in a dense vector `a`, which is in order; nan is no other nan."""
    return _searched(a, v, "left", BOOL)


@operation("is_listed")
def is_listed(v: Tensor, table: Tensor, low: Tensor) -> Tensor:
    """Of integers `v` the element of `table` that is so far behind its first one as `v` is above `low`, and of all
    others its last one."""
    first, last = build.value(convert(low.scalar, low.dtype, INT64)), build.sub(shapes.dim(table.storage, 0), 1)

    def listed(given: list[ir.Value]) -> list[ir.Value]:
        place = arith.minui(arith.subi(given[0], first), build.to_i64(build.value(last)))
        return [tensor.extract(table.storage, [build.to_index(place)])]

    return map_elements(v.trace, [v], [INT64], [BOOL], listed, exact("positive"))[0]


def _searched(a: Tensor, v: Tensor, side: str, result: DType) -> Tensor:
    """The place of each element of `v` in a vector that is in order, or in that of its component, or as a boolean
    whether it is there: then it is among the elements that it is compared with."""
    a, bounds = contiguous(a), list[Tensor]()
    if len(a.axes) == 1 and str(a.layout).startswith("drr"):
        v = contiguous(v)
        if str(a.layout) not in (str(v.layout), f"{v.layout}r"):
            raise LayoutError(f"{v.trace.op}: expected a number or a list for each innermost list, got {v.described}")
        equal_levels(a, v, 0, a.ndim - 1)
        wanted = _innermost(v) if v.ndim == a.ndim else v.trace.assembled(v.storage, [PlainAxis(None)], v.dtype)
        return v.trace.assembled(_searched(_innermost(a), wanted, side, result).storage, v.axes, result)
    if str(a.layout) == "dr":
        if not v.axes:
            raise LayoutError(f"{v.trace.op}: expected a number for each component to search for, got {v.described}")
        bounds = [insert_ones(parts.vector(a, name, None), range(1, v.ndim)) for name in ("starts", "lengths")]
    elif a.layout.rank != 1:
        raise LayoutError(f"{v.trace.op}: expected a dense vector or lists of numbers to search, got {a.described}")
    vector = a.storage
    (dtype, _), _ = resolve("less", [a, v])
    v = v.strong

    def belongs_later(here: ir.Value, x: ir.Value) -> ir.Value:
        """Whether x belongs behind an element."""
        if kind(dtype) != "f":
            return compare("lt" if side == "left" else "le", here, x)
        one, other = (here, x) if side == "left" else (x, here)
        less = arith.ori(compare("lt", one, other), arith.andi(compare("eq", one, one), compare("ne", other, other)))
        return less if side == "left" else build.equal(less, 0)

    def found(given: list[ir.Value]) -> list[ir.Value]:
        def halved(state: list[ir.Value]) -> list[ir.Value]:
            low, size, *is_there = state  # sizes are the same for all elements, which vectors are searched for together
            half = build.ceildiv(size, 2)
            here = tensor.extract(vector, [build.value(build.sub(build.add(low, half), 1))])
            here = convert(here, a.dtype, dtype)
            low = select(belongs_later(here, given[0]), build.value(build.add(low, half)), low)
            is_there = [arith.ori(x, compare("eq", here, given[0])) for x in is_there]
            return [low, build.value(build.sub(size, half)), *is_there]

        first, size = map(build.to_index, given[1:]) if bounds else (build.value(0), shapes.dim(vector, 0))
        inits = [first, build.value(size)]
        inits += [build.constant(ir.IntegerType.get_signless(1), 0)] if result == BOOL else []
        low, _, *is_there = flow.repeat(inits, lambda state: build.more(state[1], 0), halved)
        return is_there or [build.to_i64(arith.subi(low, first) if bounds else low)]

    return map_elements(v.trace, [v, *bounds], [dtype, *(INT64 for _ in bounds)], [result], found, exact("positive"))[0]


def _innermost(x: Tensor) -> Tensor:
    """The innermost lists of lists of lists, as those of one level."""
    axis = x.nested_axis()
    return x.trace.assembled(x.storage, [NestedAxis("dr", [axis.vectors[-1]], [None, None])], x.dtype)
