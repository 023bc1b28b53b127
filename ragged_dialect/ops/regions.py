"""What ops with a region share: what ends it."""

from collections.abc import Sequence

from ragged_dialect._mlir import ir
from ragged_dialect.errors import LayoutError
from ragged_dialect.ops.base import MixedOp, Pure, unchecked
from ragged_dialect.segments import REGION_OPS


class YieldOp(MixedOp, name="yield", traits=[Pure, ir.IsTerminatorTrait]):
    """What a region of the dialect's ops gives: the score of `ragged.attention`, of its derivatives also what it grows
    by with the product that it is made of, or the next states and the rows of `ragged.steps`.

    ```mlir
    ragged.yield %x : (f32) -> ()
    ```
    """

    is_mapped = False
    checks = unchecked

    def verify_invariants(self) -> None:
        """The op around it knows its operands."""
        around = self.operation.parent
        if around is None or around.name not in REGION_OPS:
            raise LayoutError(f"expected to be in an op with a region, got '{around.name if around else 'nothing'}'")


def ended(block: ir.Block, what: str) -> list[ir.Operation]:
    """The ops of a region's block, `ragged.yield` the last of them. LayoutError where there is none; `what` names what
    the region is."""
    ops = [op.operation for op in block.operations]
    if not ops or ops[-1].name != YieldOp.OPERATION_NAME:
        name = f"'{ops[-1].name}'" if ops else "nothing"
        raise LayoutError(f"expected {what} that ends in '{YieldOp.OPERATION_NAME}', got {name}")
    return ops


def listed(types: Sequence[ir.Type]) -> str:
    """Types for errors."""
    return ", ".join(map(str, types))
