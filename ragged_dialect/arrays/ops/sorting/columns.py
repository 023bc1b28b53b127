"""Components of rows as lists of the elements of each column, which lie side by side so."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from ragged_dialect import generic
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.arrays.index.dims import restored
from ragged_dialect.arrays.tracing.axes import NestedAxis, PlainAxis
from ragged_dialect.arrays.tracing.tensor import Tensor
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.types import dense_type


def have_columns(x: Tensor, dim: int) -> bool:
    """Whether a dim is the ragged one of lists of rows, of as many columns as are known, on a CPU."""
    first, *below = x.axes
    if x.trace.device != "cpu" or dim != 1 or not isinstance(first, NestedAxis) or first.letters != "dr" or not below:
        return False
    return all(isinstance(axis, PlainAxis) and axis.extent for axis in below)


def by_columns(x: Tensor, made: Callable[[Tensor], Tensor]) -> Tensor:
    """What is `made` of the lists of all columns, each as those of the other ones, as rows again."""
    axis, below = x.nested_axis(), x.axes[1:]
    offsets = axis.vectors[0]
    columns = prod(extent for extent in x.static_shape[2:] if extent)
    rows = shapes.collapse(x.storage, [[0], [*range(1, len(x.axes))]])
    number, components = shapes.dim(rows, 0), build.value(vectors.count(offsets))

    def begin(i: ir.Value) -> ir.Value:
        """Where component i % components of column i / components begins."""
        column = build.value(build.divide(i, build.maximum(components, 1)))
        place = build.value(build.sub(i, build.mul(column, components)))
        return build.value(build.add(build.mul(column, number), shapes.load(offsets, place)))

    lists = NestedAxis("dr", [vectors.generate(build.add(build.mul(components, columns), 1), begin)], [None, None])
    vector = shapes.collapse(_turned(rows, (columns, None)), [[0, 1]])
    found = made(
        x.trace.assembled(shapes.cast(vector, dense_type((None,), vector.type.element_type)), [lists], x.dtype)
    )
    after = found.nested_axis()
    own = axis
    if after is not lists:
        own = NestedAxis("dr", [vectors.section(after.vectors[0], 0, shapes.dim(offsets, 0))], [None, None])
        number = shapes.load(after.vectors[0], components)
    wide = dense_type((columns, None), found.storage.type.element_type)
    sizes = build.split([columns, build.value(number)])
    back = _turned(tensor.expand_shape(wide, found.storage, [[0, 1]], *sizes), (None, columns))
    whole = x.trace.assembled(back, [own, PlainAxis(columns)], found.dtype)
    return restored(whole, [[0], [*range(1, len(x.axes))]], [own, *below], expand=True) if len(below) > 1 else whole


def _turned(rows: ir.Value, shape: tuple[int | None, int | None]) -> ir.Value:
    """A matrix with its rows as columns."""
    into = shapes.empty([shapes.dim(rows, 1), shapes.dim(rows, 0)], rows.type.element_type)
    into = shapes.cast(into, dense_type(shape, rows.type.element_type))
    first, second = (ir.AffineDimExpr.get(k) for k in range(2))
    maps = [ir.AffineMap.get(2, 0, [second, first]), ir.AffineMap.get_identity(2)]
    return generic.generic([rows], [into], maps, ["parallel"] * 2, lambda given: given[:1]).result
