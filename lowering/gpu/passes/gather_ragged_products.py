"""`gather-ragged-products`: products of matrices on the host, with what is done to each element, in foralls."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import filled_with
from ragged_dialect.lowering.buffers import root
from ragged_dialect.lowering.forall_bounds import forall_over
from ragged_dialect.lowering.gpu.contract.match import follows, roles_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.passes.host_code import host_blocks, host_functions
from ragged_dialect.lowering.gpu.passes.tile_flat_ops import CROSSED
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class GatherRaggedProducts(RaggedPass):
    """Put a product of matrices of f16, bf16 or f32, the fill before it and the elementwise ops after it into a forall.

    ```mlir
    linalg.generic … outs(%y)                  // a fill
    linalg.generic … ins(%x, %w) outs(%y)      // y += x * w, sums in f32
    linalg.generic … ins(%y, %b) outs(%z)      // z = f(y, b)
    // becomes
    scf.forall (%i) in (1) { linalg.generic … linalg.generic … linalg.generic … } {mapping = [#gpu.block<x>]}
    ```

    The schedule `contract` takes it as a whole. Precondition: a bufferized module, before `collapse-ragged-loops`.
    """

    name: ClassVar[str] = "gather-ragged-products"

    def run(self, op: ir.Operation) -> None:
        """Gather the products of every function of a module."""
        for function in host_functions(op):
            for block in host_blocks(function):
                for run in _runs(block):
                    _gather(run)


def _runs(block: ir.Block) -> list[list[GenericOp]]:
    """The ops of a block that go into a forall together."""
    runs: list[list[GenericOp]] = []
    last: GenericOp | None = None
    open_ = False
    for op in [o.operation for o in block.operations]:
        if op.name == "linalg.generic":
            generic = GenericOp(op)
            if roles_of(generic) is not None:
                fills = last is not None and filled_with(last.op) is not None and last.outs == generic.outs
                runs.append([last, generic] if fills and last is not None else [generic])
                open_ = True
            elif open_ := open_ and _joins(runs[-1], generic):
                runs[-1].append(generic)
            last = generic
        elif op.name not in CROSSED and not op.name.startswith("arith."):
            last, open_ = None, False
    return runs


def _joins(run: list[GenericOp], generic: GenericOp) -> bool:
    """Whether an op computes, of each element of a product, and of nothing else that the run writes."""
    earlier = [op for op in run if filled_with(op.op) is None]
    return follows(generic, earlier, {root(out) for op in [*earlier, generic] for out in op.outs})


def _gather(run: list[GenericOp]) -> None:
    last = run[-1].op
    with ir.InsertionPoint(last), last.location:
        forall = forall_over(1)
    # Without it the canonicalizer takes what is in a forall of one iteration out again.
    forall.attributes["mapping"] = ir.ArrayAttr.get([ir.Attribute.parse("#gpu.block<x>")])
    end = list(forall.regions[0].blocks[0].operations)[-1].operation
    for generic in run:
        generic.op.move_before(end)
