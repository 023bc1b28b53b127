"""`add-negated-terms`: reductions that subtract are sums."""

from __future__ import annotations

from ragged_dialect._mlir import arith, ir
from ragged_dialect.generic import iterator_kinds
from ragged_dialect.ir import build
from ragged_dialect.ir.match import combiner_of, terminator
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.base import RaggedPass


class AddNegatedTerms(RaggedPass):
    """Let a reduction that subtracts floats add their negatives, which is the same.

    ```mlir
    %s = arith.subf %acc, %x : f32
    // becomes
    %n = arith.mulf %x, %c-1 : f32
    %s = arith.addf %acc, %n : f32
    ```

    Derivatives subtract, and upstream makes a difference of what adds a negation. What comes after this pass knows a
    sum by its addition: vectors, pairs of threads, the precision of long sums.
    """

    def run(self, op: ir.Operation) -> None:
        """Rewrite the reductions of a module."""
        for generic in find_ops(op, "linalg.generic"):
            if "reduction" not in iterator_kinds(generic):
                continue
            block = generic.regions[0].blocks[0]
            results = list(terminator(block).operands)
            for accumulator, result in zip(list(block.arguments)[-len(results) :], results, strict=True):
                minus = combiner_of(accumulator, result, {"arith.subf"})
                if minus is not None and minus.operands[0] == accumulator:
                    with ir.InsertionPoint(minus), minus.location:
                        _add(minus)


def _add(minus: ir.Operation) -> None:
    """Not by `arith.negf`: upstream would make a difference of it again."""
    accumulator, x = minus.operands
    made = arith.addf(accumulator, arith.mulf(x, build.constant(x.type, -1.0)))
    replace(minus, made)
