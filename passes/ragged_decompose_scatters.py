"""`ragged-decompose-scatters`: what is added at positions, as a sum for each position."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect import builders
from ragged_dialect._mlir import DYNAMIC, ir, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.kinds import combine
from ragged_dialect.ir.match import view_of
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.ops.attention import wide
from ragged_dialect.ops.grouping import ScatterAddOp
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.nests import Access, mapped
from ragged_dialect.passes.differentiate.values import converted, empty_without


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

    All positions are independent of each other. An op whose rows have fewer elements than `features` stays as it is:
    one thread adds these faster than it sorts them.
    """

    features: int = 0

    name: ClassVar[str] = "ragged-decompose-scatters"
    anchor: ClassVar[str] = "any"

    def run(self, op: ir.Operation) -> None:
        """Replace the ops of a module."""
        for found in find_ops(op, ScatterAddOp.OPERATION_NAME):
            scatter = view_of(found, ScatterAddOp)
            row = list(scatter.terms.type.shape)[1:]
            if DYNAMIC in row or math.prod(row) >= self.features:
                with ir.InsertionPoint(found), found.location:
                    found.results[0].replace_all_uses_with(_decomposed(scatter))
                found.erase()


def _decomposed(op: ScatterAddOp) -> ir.Value:
    terms, element = op.terms, op.terms.type.element_type
    features = range(2, len(terms.type.shape) + 1)
    rank = len(features) + 2
    sizes = [shapes.dim(terms, loop - 1) for loop in features]
    places = builders.group_by(op.positions, op.count)
    loops = [ir.AffineDimExpr.get(k) for k in range(rank)]
    whole, parallel = ir.AffineMap.get_identity(rank), ["parallel"] * rank

    def term(given: list[ir.Value]) -> ir.Value:
        at = [build.to_index(given[0]), *(loop_index(loop) for loop in features)]
        return converted(tensor.extract(terms, at), wide(element))

    of_places = Access(places, ir.AffineMap.get(rank, 0, loops[:2]))
    taken = mapped([of_places], Access(empty_without(places, frozenset(), wide(element), sizes), whole), parallel, term)
    count = build.to_index(op.count) if op.res.type.is_dynamic_dim(0) else op.res.type.shape[0]
    zeros = shapes.fill(build.constant(wide(element), 0), shapes.empty([count, *sizes], wide(element)))
    kept = ir.AffineMap.get(rank, 0, [loops[0], *loops[2:]])
    kinds = ["parallel", "reduction", *parallel[2:]]
    sums = generic([taken], [zeros], [whole, kept], kinds, lambda e: [combine("sum", e[1], e[0])]).result
    return shapes.cast(converted(sums, element), op.res.type)
