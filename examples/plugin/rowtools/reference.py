"""What the ops of rowtools mean on lists: everything else is compared with it."""

from __future__ import annotations

import numpy as np

from ragged_dialect._mlir import ir
from ragged_dialect.reference.program import Program, Run, handler, pure
from ragged_dialect.reference.value import RaggedValue
from ragged_dialect.traits import int_attr


@handler("rowtools.reverse")
def _reverse(program: Program, op: ir.Operation) -> Run:
    dim = int_attr(op, "dim")
    return pure(lambda x: reverse(x, dim))


def reverse(x: RaggedValue, dim: int) -> RaggedValue:
    """Every list at the depth of `dim` backwards."""
    made = x.compact()
    axis, place = made.locate(dim)
    order = [row for group in made.axes[axis].groups(place) for row in reversed(group)]
    return x.fresh(np.take(made.values, np.array(order, np.int64), axis))
