"""`settle-ragged-roundings`: what LLVM could round in several ways is rounded in one."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.ir.fast_math import flags_of, give_flags
from ragged_dialect.ir.match import element_of, enclosing, made_by
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.lowering.loops.annotations import keep_rolled
from ragged_dialect.lowering.math.library import has_fused, require_isa
from ragged_dialect.lowering.nests.sum_nests import static_count
from ragged_dialect.lowering.vector.emit import SHORTEST
from ragged_dialect.passes.base import RaggedPass

_SUMS = frozenset({"arith.addf", "arith.subf"})
_FUSED = (ir.F32Type, ir.F64Type)
"""Types that have fused multiply-adds where there are any; shorter ones are computed in f32 by now."""


@dataclass(frozen=True)
class SettleRaggedRoundings(RaggedPass):
    """Make fused multiply-adds of products and sums that may be, and let sums of few terms keep their order.

    ```mlir
    %p = arith.mulf %a, %b fastmath<contract> : f32
    %s = arith.addf %p, %c fastmath<contract> : f32
    // becomes, where that is an instruction
    %s = math.fma %a, %b, %c : f32
    ```

    `contract` and `reassoc` are leave that LLVM takes or not, by what is next to an op: rows that it does four at a
    time had other bits than those that are left over, and a row depended on how many rows there are. Sums of up to 8
    terms, and products of as many factors, in loops that it unrolls, are in order. Longer ones of scalars may be
    regrouped, in a loop that it does not unroll, which has one code for all rows. `isa` is that of expand-ragged-math.
    After vectorize-ragged-loops.
    """

    isa: str = "auto"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the sums of every function."""
        require_isa(op, self.isa)
        fused = has_fused(self.isa)
        for found in find_ops(op, *_SUMS, "arith.mulf"):
            flags, type_ = flags_of(found), found.results[0].type
            count = _static_count(found) if "reassoc" in flags else None
            if count is not None and count <= SHORTEST:
                flags -= {"reassoc"}
                give_flags(found, flags)
            elif count is not None:
                keep_rolled(enclosing(found))
            # one that LLVM may still make a vector of has to be a sum for that
            is_settled = "reassoc" not in flags or isinstance(type_, ir.VectorType)
            fits = found.name in _SUMS and "contract" in flags and isinstance(element_of(type_), _FUSED)
            if fused and fits and is_settled:
                _fuse(found)


def _fuse(op: ir.Operation) -> None:
    """Replace a sum of a product, or a difference, that only it reads."""
    for number, operand in enumerate(op.operands):
        product = made_by(operand, "arith.mulf")
        if product is None or "contract" not in flags_of(product) or len(list(operand.uses)) != 1:
            continue
        left, right = product.operands
        other = op.operands[1 - number]
        with ir.InsertionPoint(op), op.location:
            if op.name == "arith.subf":
                left, other = (left, arith.negf(other)) if number == 0 else (arith.negf(left), other)
            made = math.fma(left, right, other)
        replace(op, made)
        product.erase()
        return


def _static_count(op: ir.Operation) -> int | None:
    """Iterations of the loop that an op is in, where they are static."""
    loop = enclosing(op)
    return static_count(loop) if loop.name == "scf.for" else None
