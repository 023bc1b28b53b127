"""`ragged-decompose-scatters`: what is combined at positions, as a reduction for each position."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, ir, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, shapes, vectors
from ragged_dialect.ir.floats import converted
from ragged_dialect.ir.kinds import combine, neutral
from ragged_dialect.ir.match import defining_op, made_by, view_of
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.grouping import ScatterAddOp
from ragged_dialect.ops.making import ReduceAcrossOp
from ragged_dialect.passes.analysis.loop_nest import FusedNest
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.differentiate.nests import Access, mapped
from ragged_dialect.passes.differentiate.values import empty_without
from ragged_dialect.passes.differentiate.views import storage_of, without_gaps
from ragged_dialect.types import dense_type, is_ragged, shape_of


@dataclass(frozen=True)
class RaggedDecomposeScatters(RaggedPass):
    """Replace `ragged.scatter_add` by a sum over the terms of each position: `ragged.group_by` has them in order.

    ```mlir
    %y = ragged.scatter_add %terms, %positions, %count : (tensor<?x8xf32>, tensor<?xi64>, index) -> tensor<?x8xf32>
    // becomes
    %places = ragged.group_by %positions, %count : … -> tensor<?x?xi64, #ragged.layout<"dr">>
    %taken = linalg.generic ins(%places) outs(%e) { … tensor.extract %terms[%place, %d] … }
    %y = linalg.generic {iterator_types = ["parallel", "reduction", "parallel"]} ins(%taken) outs(%zeros) { … }
    ```

    All positions are independent of each other. A `unique` op stays as it is, and so does one whose rows have fewer
    elements than `features`: one thread adds these faster than it sorts them. So, with `computed`, does one of terms
    that are there already, or need their places in components: others are computed where they are added (`ragged-
    fuse`), which saves to store them and to read them in another order. With `across`, `ragged.reduce_across` is
    replaced alike where its axis is the first one and the others are dense: elements are at the position that they have
    in their component.
    """

    features: int = 0
    computed: bool = False
    across: bool = False

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        if self.features < 0:
            raise PassFailure(op, f"expected features of at least 0, got {self.features}")
        for found in find_ops(op, ScatterAddOp.OPERATION_NAME, ReduceAcrossOp.OPERATION_NAME):
            with ir.InsertionPoint(found), found.location:
                made = self._decomposed(found)
            if made is not None:
                replace(found, made)

    def _decomposed(self, op: ir.Operation) -> ir.Value | None:
        if op.name == ReduceAcrossOp.OPERATION_NAME:
            return _across(view_of(op, ReduceAcrossOp)) if self.across else None
        add = view_of(op, ScatterAddOp)
        row = list(add.terms.type.shape)[add.positions.type.rank :]
        few = DYNAMIC not in row and math.prod(row) < self.features
        if add.unique or few or (self.computed and not _is_computed(add.terms)):
            return None
        if is_ragged(add.terms.type):
            return _of_lists(add)
        return _scattered(add.terms, add.positions, add.count, "sum", add.res.type)


def _is_computed(terms: ir.Value) -> bool:
    """Whether terms are of loops that need no index, and nobody else reads them."""
    stored = made_by(terms, "ragged.values")
    nest = _nest(terms if stored is None else stored.operands[0])
    left, seen = [nest], set[ir.Operation]()
    while left:
        found = left.pop()
        if found is None or found.roots[0] in seen:
            continue
        seen.add(found.roots[0])
        if any(step.name == "linalg.index" for step in found.steps):
            return False
        left += [_nest(operand.value) for operand in found.inputs]
    return nest is not None and sum(1 for _ in nest.results[0].uses) == 1


def _nest(x: ir.Value) -> FusedNest | None:
    """The parallel loops that make a value."""
    op = defining_op(x)
    nest = None if op is None else FusedNest.of(op)
    return nest if nest is not None and nest.is_parallel and len(nest.results) == 1 else None


def _across(op: ReduceAcrossOp) -> ir.Value | None:
    """Elements at the position that they have in their component."""
    dim = op.dim.value
    layout = shape_of(op.x.type).layout
    if layout.locate(dim)[0] or not all(layout.is_plain(d) for d in range(dim + 1, layout.rank)):
        return None
    x = without_gaps(op.x)
    like = empty_without(x, frozenset(range(dim + 1, layout.rank)), build.i64())
    whole = ir.AffineMap.get_identity(dim + 1)
    positions = mapped([], Access(like, whole), ["parallel"] * (dim + 1), lambda _: build.to_i64(loop_index(dim)))
    return _scattered(storage_of(x), storage_of(positions), op.max, op.kind.value, op.res.type)


def _of_lists(op: ScatterAddOp) -> ir.Value:
    """Rows of components, each at a position behind those of the components before it."""
    rows, own, count = builders.row_ids(op.positions, 1), builders.values(op.positions), build.to_index(op.count)
    places = vectors.generate(
        shapes.dim(own, 0), lambda i: build.add(build.mul(shapes.load(rows, i), count), shapes.load(own, i))
    )
    components, type_ = build.value(shapes.dim(op.terms, 0)), op.res.type
    row = shape_of(type_).shape[2:]
    flat = dense_type((None, *row), type_.element_type)
    made = _scattered(builders.values(op.terms), places, build.mul(components, count), "sum", flat)
    groups = shapes.grouped(type_.rank, 0, 2)
    sizes = build.split([components, count, *shapes.dims(made)[1:]])
    whole = tensor.expand_shape(dense_type((None, None, *row), type_.element_type), made, groups, *sizes)
    return shapes.cast(whole, type_)


def _scattered(
    terms: ir.Value, positions: ir.Value, count: ir.Value, kind: str, type_: ir.RankedTensorType
) -> ir.Value:
    """Rows combined at positions of a dense tensor of `count` rows: a reduction for each position."""
    element = terms.type.element_type
    features = range(2, len(terms.type.shape) + 1)
    rank = len(features) + 2
    sizes = [shapes.dim(terms, loop - 1) for loop in features]
    places = builders.group_by(positions, count)
    loops = [ir.AffineDimExpr.get(k) for k in range(rank)]
    whole, parallel = ir.AffineMap.get_identity(rank), ["parallel"] * rank

    def term(given: list[ir.Value]) -> ir.Value:
        at = [build.to_index(given[0]), *(loop_index(loop) for loop in features)]
        return converted(tensor.extract(terms, at), wide(element))

    of_places = Access(places, ir.AffineMap.get(rank, 0, loops[:2]))
    out = Access(empty_without(places, frozenset(), wide(element), sizes), whole)
    taken = mapped([of_places], out, parallel, term)
    static = shape_of(type_).shape[0]
    rows = build.to_index(count) if static is None else static
    start = shapes.fill(neutral(kind, wide(element)), shapes.empty([rows, *sizes], wide(element)))
    kept = ir.AffineMap.get(rank, 0, [loops[0], *loops[2:]])
    kinds = ["parallel", "reduction", *parallel[2:]]
    made = generic([taken], [start], [whole, kept], kinds, lambda e: [combine(kind, e[1], e[0])]).result
    return shapes.cast(converted(made, element), type_)
