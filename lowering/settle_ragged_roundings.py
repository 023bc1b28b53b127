"""`settle-ragged-roundings`: what LLVM could round in several ways is rounded in one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import arith, ir, math
from ragged_dialect.ir.match import enclosing, made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.math_library import has_fused, require_isa
from ragged_dialect.lowering.sum_nests import static_count
from ragged_dialect.lowering.vector.emit import SHORTEST
from ragged_dialect.passes.base import RaggedPass

_FLAGS = "fastmath"
_SUMS = frozenset({"arith.addf", "arith.subf"})


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
    time had other bits than those that are left over, and a row depended on how many rows there are. Sums in loops
    whose count is static and that it unrolls are in order; longer ones, where vectorize-ragged-loops left them, may be
    regrouped, as a loop has one code for all rows. `isa` is that of expand-ragged-math. After vectorize-ragged-loops.
    """

    name: ClassVar[str] = "settle-ragged-roundings"
    isa: str = "auto"

    def run(self, op: ir.Operation) -> None:
        """Rewrite the sums of every function."""
        require_isa(op, self.isa)
        fused = has_fused(self.isa)
        for found in find_ops(op, *_SUMS):
            flags = _flags_of(found)
            if "reassoc" in flags and _is_unrolled(found):
                flags.discard("reassoc")
                found.attributes[_FLAGS] = _spelled(flags)
            # one that LLVM may still make a vector of has to be a sum for that
            if fused and "contract" in flags and ("reassoc" not in flags or _is_vector(found)):
                _fuse(found)


def _fuse(op: ir.Operation) -> None:
    """Replace a sum of a product, or a difference, that only it reads."""
    for number, operand in enumerate(op.operands):
        product = made_by(operand, "arith.mulf")
        if product is None or "contract" not in _flags_of(product) or len(list(operand.uses)) != 1:
            continue
        left, right = product.operands
        other = op.operands[1 - number]
        with ir.InsertionPoint(op), op.location:
            if op.name == "arith.subf":
                left, other = (left, arith.negf(other)) if number == 0 else (arith.negf(left), other)
            made = math.fma(left, right, other)
        op.results[0].replace_all_uses_with(made)
        op.erase()
        product.erase()
        return


def _is_unrolled(op: ir.Operation) -> bool:
    loop = enclosing(op)
    count = static_count(loop) if loop.name == "scf.for" else None
    return count is not None and count < SHORTEST


def _is_vector(op: ir.Operation) -> bool:
    return isinstance(op.results[0].type, ir.VectorType)


def _flags_of(op: ir.Operation) -> set[str]:
    if _FLAGS not in op.attributes:
        return set()
    text = str(op.attributes[_FLAGS])
    return set(text[text.index("<") + 1 : -1].split(","))


def _spelled(flags: set[str]) -> ir.Attribute:
    return ir.Attribute.parse(f"#arith.fastmath<{','.join(sorted(flags)) or 'none'}>")
