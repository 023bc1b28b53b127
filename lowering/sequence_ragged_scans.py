"""`sequence-ragged-scans`: running folds in one pass over every component."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.generic import generic
from ragged_dialect.ir import build, shapes
from ragged_dialect.ir.clone import copy_attributes
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.attributes import BACKWARDS
from ragged_dialect.lowering.combiners import NEUTRAL, neutral_constant
from ragged_dialect.passes.base import RaggedPass
from ragged_dialect.passes.differentiate.values import empty_like, empty_without
from ragged_dialect.passes.running_folds import RunningFold, without


@dataclass(frozen=True)
class SequenceRaggedScans(RaggedPass):
    """Make one pass of the loops marked `ragged.running`, whose passes are as many as the logarithm of the longest
    component: a processor has each component on one thread, and goes over it once.

    ```mlir
    scf.for %k … iter_args(%x = %x0) { %y = linalg.generic … arith.addf of %x[…, %i - 2**%k, …] and %x[…, %i, …] … }
    // becomes
    %sums, %y = linalg.generic {…, "reduction", …} ins(%x0) outs(%zeros, %e) { %s = arith.addf %sum, %a … yield %s, %s }
    ```

    A fold of what is behind each element goes over the components backwards, which `ragged.backwards` says of its loop.
    A loop whose body is not what the mark says stays. Precondition: layouts are known; before convert-ragged-to-scf.
    """

    name: ClassVar[str] = "sequence-ragged-scans"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the marked loops of a module."""
        for loop in find_ops(op, "scf.for"):
            fold = RunningFold.of(loop)
            if fold is not None and fold.combiner.name in NEUTRAL:
                with ir.InsertionPoint(loop), loop.location:
                    loop.results[0].replace_all_uses_with(_sequence(fold))
                loop.erase()


def _sequence(fold: RunningFold) -> ir.Value:
    x, dim = fold.start, fold.dim
    rank, element = len(x.type.shape), x.type.element_type
    whole = ir.AffineMap.get_identity(rank)
    kinds = ["reduction" if k == dim else "parallel" for k in range(rank)]
    start = neutral_constant(element, NEUTRAL[fold.combiner.name])
    folded = shapes.fill(start, empty_without(x, frozenset({dim})))

    def body(given: list[ir.Value]) -> list[ir.Value]:
        attributes = copy_attributes(fold.combiner)
        made = ir.Operation.create(fold.combiner.name, [element], [given[1], given[0]], attributes).result
        return [made, made]

    made = generic([x], [folded, empty_like(x)], [whole, without(rank, dim), whole], kinds, body)
    if fold.backwards:
        made.attributes[BACKWARDS] = ir.IntegerAttr.get(build.i64(), dim)
    return made.results[1]
