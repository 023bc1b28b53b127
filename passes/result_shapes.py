"""The shape a structure op gives to its result, by the name of the op."""

from __future__ import annotations

from collections.abc import Callable

from ragged_dialect._mlir import ir
from ragged_dialect.layout import Layout
from ragged_dialect.ops.structure import partition_count
from ragged_dialect.passes.matching import dim_of, shape
from ragged_dialect.shape import RaggedShape
from ragged_dialect.traits import int_attr

Rule = Callable[[ir.Operation, list[ir.Value]], RaggedShape]
"""From an op and operands in the place of its own to the shape of the result; LayoutError where
the op refuses them."""


def _partition(op: ir.Operation, xs: list[ir.Value]) -> RaggedShape:
    vector = shape(xs[1])
    count = partition_count(vector, "lengths" in op.attributes)
    return shape(xs[0]).partition(dim_of(op), vector.rank, count, vector.shape[0])


def _values(op: ir.Operation, xs: list[ir.Value]) -> RaggedShape:
    x = shape(xs[0])
    return RaggedShape(Layout.dense(x.layout.storage_rank), x.storage_shape())


RESULT_SHAPES: dict[str, Rule] = {
    "ragged.partition": _partition,
    "ragged.merge": lambda op, xs: shape(xs[0]).merge(dim_of(op)),
    "ragged.split": lambda op, xs: shape(xs[0]).split(dim_of(op), int_attr(op, "factor")),
    "ragged.select": lambda op, xs: shape(xs[0]).select(dim_of(op)),
    "ragged.slice": lambda op, xs: shape(xs[0]).slice(dim_of(op)),
    "ragged.concat": lambda op, xs: shape(xs[0]).concat([shape(x) for x in xs[1:]], dim_of(op)),
    "ragged.compact": lambda op, xs: shape(xs[0]).compact(),
    "ragged.assume": lambda op, xs: shape(xs[0]),
    "ragged.guard": lambda op, xs: shape(xs[0]),
    "ragged.values": _values,
}
