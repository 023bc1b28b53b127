"""`top_k`: the largest elements along a dense dim, and where they are."""

from __future__ import annotations

from ragged_dialect import builders, generic
from ragged_dialect._mlir import arith, ir, tensor
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.ops.join import stack_tensors
from ragged_dialect.arrays.ops.reduce import reduce, source
from ragged_dialect.arrays.tracing.axes import PlainAxis
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, infinity, kind, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import ArgumentError, LayoutError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, shapes


@operation("top_k")
def top_k(x: Tensor, *, k: int, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The `k` largest elements along a dense dim, in descending order, and their indices, int64: that dim has extent k
    in both. Of equal elements the first comes first; nan is larger than all, as in `np.sort`. `k` is at most the
    extent: RuntimeCheckError. The values have a gradient, which goes where they are from.

    >>> rg.top_k(np.array([[1.0, 3.0, 2.0]]), 2)
    (array([[3., 2.]]), array([[1, 2]]))
    """
    x, dim, count = source(x), dim_of(x, axis), integer(x.trace.op, "k", k)
    number = x.place(dim)[0]
    if not isinstance(x.axes[number], PlainAxis):
        raise LayoutError(f'{x.trace.op}: expected a dense dim of its own, got dim {dim} of layout "{x.layout}"')
    if count < 1:
        raise ArgumentError(f"{x.trace.op}: expected k of at least 1, got {count}")
    builders.assert_valid([build.value(x.extent(dim))], "at_least", x.trace.op, dim, factor=count)

    def better(given: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
        value, at = given[0], arith.index_cast(element_type(INT64), loop_index(dim))
        values, places = list(best[:count]), list(best[count:])
        for j in range(count):
            first = _is_before(x, value, at, values[j], places[j])
            values[j], value = select(first, value, values[j]), select(first, values[j], value)
            places[j], at = select(first, at, places[j]), select(first, places[j], at)
        return [*values, *places]

    none = [(x.dtype, infinity(x.dtype, -1)), (INT64, constant(INT64, -1))]
    made = reduce(x, frozenset({dim}), [one for one in none for _ in range(count)], better)
    indices = stack_tensors(made[count:], dim)
    return _taken(x, number, indices), indices


def _is_before(x: Tensor, value: ir.Value, at: ir.Value, other: ir.Value, place: ir.Value) -> ir.Value:
    """Whether an element comes before another one, which may be none: places are in any order."""
    larger = compare("gt", value, other)
    same = compare("eq", value, other)
    if kind(x.dtype) == "f":
        nan, nan_other = compare("ne", value, value), compare("ne", other, other)
        larger = arith.ori(larger, arith.andi(nan, compare("eq", other, other)))
        same = arith.ori(same, arith.andi(nan, nan_other))
    earlier = arith.andi(same, compare("lt", at, place))
    is_none = compare("eq", place, constant(INT64, -1))
    return arith.andi(compare("ne", at, constant(INT64, -1)), arith.ori(is_none, arith.ori(larger, earlier)))


def _taken(x: Tensor, number: int, indices: Tensor) -> Tensor:
    """The elements of a plain axis at indices that are in range."""
    out = shapes.empty(indices.storage_sizes(), element_type(x.dtype))
    out = shapes.cast(out, ir.RankedTensorType.get(indices.storage.type.shape, element_type(x.dtype)))
    rank = len(out.type.shape)

    def body(given: list[ir.Value]) -> list[ir.Value]:
        at = [loop_index(k) for k in range(rank)]
        at[number] = build.to_index(given[0])
        return [tensor.extract(x.storage, at)]

    identity = ir.AffineMap.get_identity(rank)
    made = generic.generic([indices.storage], [out], [identity, identity], ["parallel"] * rank, body).result
    return x.trace.assembled(made, indices.axes, x.dtype)
