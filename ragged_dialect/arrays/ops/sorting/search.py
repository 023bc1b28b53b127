"""`searchsorted`: where elements belong in a vector that is in order."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.ops.elementwise import map_elements, resolve
from ragged_dialect.arrays.tracing.elements import INT64, compare, convert, kind, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.python_numbers import exact
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.wrap import contiguous
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.ir import build, flow, shapes

_SIDES = ("left", "right")


@operation("searchsorted")
def searchsorted(a: Tensor, v: Tensor, *, side: str = "left") -> Tensor:
    """How many elements of a dense vector `a`, which is in order, are less than each element of `v`, or with `side`
    `right` no more than it: the index where it belongs, int64, as `np.searchsorted` and `torch.bucketize` have it. nan
    belongs behind all numbers. Nobody asks whether `a` is in order. LayoutError for what is no dense vector.

    >>> rg.searchsorted(np.array([10, 20, 30]), rg.ragged([[5, 20], [], [99, 21, 10]])).tolist()
    [[0, 1], [], [3, 2, 0]]
    """
    if side not in _SIDES:
        raise ArgumentError(f"{v.trace.op}: expected 'left' or 'right' for side, got {side!r}")
    if a.layout.rank != 1 or not a.layout.is_dense:
        raise LayoutError(f"{v.trace.op}: expected a dense vector to search, got {a.described}")
    table = contiguous(a).value
    (dtype, _), _ = resolve("less", [a, v])
    if v.weak:
        v = Tensor(v.trace, tensor.from_elements(ir.RankedTensorType.get([], v.value.type), [v.value]), v.dtype, ())

    def before(x: ir.Value, y: ir.Value) -> ir.Value:
        less = compare("lt", x, y)
        if kind(dtype) != "f":
            return less
        return arith.ori(less, arith.andi(compare("eq", x, x), compare("ne", y, y)))

    def found(given: list[ir.Value]) -> list[ir.Value]:
        (x,) = given

        def halved(state: list[ir.Value]) -> list[ir.Value]:
            low, size = state
            half = build.divide(size, 2)
            middle = build.add(low, half)
            here = convert(tensor.extract(table, [build.value(middle)]), a.dtype, dtype)
            is_later = before(here, x) if side == "left" else build.equal(before(x, here), 0)
            later = build.value(build.sub(build.sub(size, half), 1))
            return [
                select(is_later, build.value(build.add(middle, 1)), low),
                select(is_later, later, build.value(half)),
            ]

        whole = [build.value(0), build.value(shapes.dim(table, 0))]
        low, _ = flow.repeat(whole, lambda state: build.more(state[1], 0), halved)
        return [build.to_i64(low)]

    return map_elements(v.trace, [v], [dtype], [INT64], found, exact("positive"))[0]
