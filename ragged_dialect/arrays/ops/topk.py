"""`top_k`: the largest elements along a dense dim, and where they are."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders, generic
from ragged_dialect._mlir import DYNAMIC, arith, ir, tensor
from ragged_dialect.arrays.core.arguments import integer
from ragged_dialect.arrays.core.spec import DType
from ragged_dialect.arrays.index.dims import dim_of
from ragged_dialect.arrays.ops.join import stack_tensors
from ragged_dialect.arrays.ops.reduce import kept, reduce, source
from ragged_dialect.arrays.tracing.axes import Axis, PlainAxis, shape_of
from ragged_dialect.arrays.tracing.elements import INT64, compare, constant, infinity, kind, select
from ragged_dialect.arrays.tracing.operation import operation
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.arrays.tracing.trace import element_type
from ragged_dialect.errors import ArgumentError, LayoutError, RuntimeCheckError
from ragged_dialect.generic import loop_index
from ragged_dialect.ir import build, flow, shapes
from ragged_dialect.ir.build import Mixed


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
    axis_ = x.axes[number]
    if not isinstance(axis_, PlainAxis):
        raise LayoutError(f'{x.trace.op}: expected a dense dim of its own, got dim {dim} of layout "{x.layout}"')
    if count < 1:
        raise ArgumentError(f"{x.trace.op}: expected k of at least 1, got {count}")
    extent = axis_.extent
    if extent is not None and extent < count:
        raise RuntimeCheckError(f"{x.trace.op}: level {dim}: expected at least {count}, got {extent}")
    builders.assert_valid([build.value(x.extent(dim))], "at_least", x.trace.op, dim, factor=count)

    if count > _SORTED:
        indices = _one_after_another(x, number, dim, count)
        return _taken(x, number, indices), indices

    def better(given: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
        value, at = given[0], arith.index_cast(element_type(INT64), loop_index(dim))
        values, places = list(best[:count]), list(best[count:])
        for j in range(count):
            first = _is_before(x, value, at, values[j], places[j])
            values[j], value = select(first, value, values[j]), select(first, values[j], value)
            places[j], at = select(first, at, places[j]), select(first, places[j], at)
        return [*values, *places]

    made = reduce(x, frozenset({dim}), [one for one in _none(x) for _ in range(count)], better)
    indices = stack_tensors(made[count:], dim)
    return _taken(x, number, indices), indices


_SORTED = 16
"""The most elements that are kept in order while a row is read once: as many steps of the loop's body are compiled,
which took 2.5 s for 32 and 10 s for 128 on a Zen 5 core."""


def _none(x: Tensor) -> list[tuple[DType, ir.Value]]:
    """No element, and the place that none has: everything comes before it."""
    return [(x.dtype, infinity(x.dtype, -1)), (INT64, constant(INT64, -1))]


def _one_after_another(x: Tensor, number: int, dim: int, count: int) -> Tensor:
    """The indices of the largest elements: each is the first of those that come after the one before it, for which the
    rows are read again."""
    axes = [*x.axes[:number], PlainAxis(count), *x.axes[number + 1 :]]
    left = kept(x, frozenset({dim})).axes
    sizes = x.storage_sizes()
    rows = [*sizes[:number], *sizes[number + 1 :]]
    start = [constant(INT64, -2), infinity(x.dtype, 1)]
    places, *last = (
        shapes.fill(value, _fitting(shapes.empty(given, element_type(dtype)), of, dtype))
        for value, given, of, dtype in (
            (start[0], [*sizes[:number], count, *sizes[number + 1 :]], axes, INT64),
            (start[1], rows, left, x.dtype),
            (start[0], rows, left, INT64),
        )
    )

    def after(given: list[ir.Value], best: list[ir.Value]) -> list[ir.Value]:
        value, at = given[0], arith.index_cast(element_type(INT64), loop_index(dim))
        is_first = compare("eq", given[2], constant(INT64, -2))
        follows = arith.ori(is_first, _is_before(x, given[1], given[2], value, at))
        first = arith.andi(follows, _is_before(x, value, at, *best))
        return [select(first, value, best[0]), select(first, at, best[1])]

    def step(j: ir.Value, state: list[ir.Value]) -> list[ir.Value]:
        before = [x.trace.assembled(s, left, dtype) for s, dtype in zip(state[1:], (x.dtype, INT64), strict=True)]
        found = [one.storage for one in reduce(x, frozenset({dim}), _none(x), after, before)]
        offsets: list[Mixed] = [0] * len(sizes)
        offsets[number] = j
        into = shapes.insert_slice(found[1], state[0], offsets, [*sizes[:number], 1, *sizes[number + 1 :]])
        return [into, *(shapes.cast(a, b.type) for a, b in zip(found, state[1:], strict=True))]

    return x.trace.assembled(flow.for_loop(count, [places, *last], step)[0], axes, INT64)


def _fitting(storage: ir.Value, axes: Sequence[Axis], dtype: DType) -> ir.Value:
    """Storage with the static extents of its axes."""
    return shapes.cast(storage, ir.RankedTensorType.get(_static(axes), element_type(dtype)))


def _static(axes: Sequence[Axis]) -> list[int]:
    return [DYNAMIC if extent is None else extent for extent in shape_of(axes).storage_shape()]


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
