"""`ragged-canonicalize`: nesting in normal form."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from typing import ClassVar

from ragged_dialect._mlir import ir, passmanager
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.patterns import patterns
from ragged_dialect.passes.rewriting import run_patterns
from ragged_dialect.passes.scheduling import schedule
from ragged_dialect.passes.static_tiles import generalize_static_tiles

DISABLED = (
    "SwapTransposeWithBroadcast",
    "{anonymous}::InferStaticShapeOfOperands",
    "{anonymous}::InferConcatResultType",
    "{anonymous}::InferConcatOperandTypes",
    "FoldTensorCastProducerOp",
)
"""Upstream patterns that stay off. The first four rebuild a tensor type from its extents and lose or
break an encoding. The last makes one operand of a linalg op static and relies on the second to do
the same to the others, without which ops like `linalg.reduce` no longer verify."""

_ROUNDS = 100


def upstream(anchor: str) -> str:
    """Pipeline text of upstream's part of a round."""
    return f"{anchor}(canonicalize{{disable-patterns={','.join(DISABLED)}}},cse)"


@dataclass(frozen=True)
class RaggedCanonicalize(RaggedPass):
    """Brings nesting into normal form: what undoes each other cancels, chains compose.

    ```mlir
    // before
    %0 = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<3x?xf32, #ragged.layout<"dr">>
    %1 = ragged.merge %0 {dim = 0} : (tensor<3x?xf32, #ragged.layout<"dr">>) -> tensor<?xf32>
    return %1 : tensor<?xf32>
    // after
    return %x : tensor<?xf32>
    ```

    A chain of partitions, merges and splits becomes the chain for its iteration domains: partitions
    first, then merges, then splits, where the layouts allow that order. A chain of more than 64 ops
    keeps the order that it has, and so does a rare shorter one, for which no stable order is found.

    Elementwise ops on tiled tensors of static shape become `linalg.generic`, which upstream does not
    fold to a constant. Our patterns and upstream's canonicalization and cse alternate to a fixpoint; the upstream
    patterns in `DISABLED` stay off. Checks are assumed inserted before (`ragged-insert-checks`):
    a rewrite may drop an op that was the only witness of invalid data.

    Options: `seed` shuffles the order in which patterns are tried; the result does not depend on it,
    but for such a chain it may.
    """

    name: ClassVar[str] = "ragged-canonicalize"
    anchor: ClassVar[str] = "any"

    seed: int | None = None

    def run(self, op: ir.Operation) -> None:
        """Rewrite `op` to its normal form; PassFailure when that is not reached."""
        own = patterns()
        manager = passmanager.PassManager.parse(upstream(op.name))
        manager.enable_verifier(False)
        generalize_static_tiles(op)
        settled = b""
        for _ in range(_ROUNDS):
            manager.run(op)
            if settled and _bytes(op) == settled:  # nothing new for a pattern to match
                return
            if run_patterns(op, own, self.seed):
                continue
            schedule(op)
            after = _bytes(op)
            if after == settled:
                return
            settled = after
        raise PassFailure(op, f"{self.name}: expected a normal form within {_ROUNDS} rounds, got none")


def _bytes(op: ir.Operation) -> bytes:
    """The op as bytecode, which costs a fraction of its text: printing verifies first."""
    buffer = BytesIO()
    op.write_bytecode(buffer)
    return buffer.getvalue()
