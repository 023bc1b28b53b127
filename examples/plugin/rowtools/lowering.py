"""What the ops of rowtools mean in ops that have a lowering, on every target."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect import builders
from ragged_dialect._mlir import ir, tensor
from ragged_dialect.generic import generic, loop_index
from ragged_dialect.ir import build
from ragged_dialect.lowering.scf.prepare import Expansion
from ragged_dialect.traits import int_attr


def expand_reverse(op: ir.Operation) -> Sequence[ir.Value]:
    """Row i of the result is row `length - 1 - i` of its component."""
    (x,), (result,), dim = op.operands, op.results, int_attr(op, "dim")
    rank = len(result.type.shape)
    lengths = builders.lengths(x, dim)

    def row(_: list[ir.Value]) -> list[ir.Value]:
        index = [loop_index(loop) for loop in range(rank)]
        length = build.to_index(tensor.extract(lengths, [index[dim - 1]]))
        index[dim] = build.value(build.sub(build.sub(length, 1), index[dim]))
        return [tensor.extract(x, index)]

    out = builders.empty([x], result.type)
    return generic([], [out], [ir.AffineMap.get_identity(rank)], ["parallel"] * rank, row).results


EXPANSIONS: dict[str, Expansion] = {"rowtools.reverse": expand_reverse}
