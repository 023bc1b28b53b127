"""`ragged-canonicalize`: nesting in normal form."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.generic import elementwise
from ragged_dialect.ir.clone import bytecode, copy_attributes
from ragged_dialect.ir.walk import replace
from ragged_dialect.iteration import MAPPING, is_elementwise, share_mapping, whole_value
from ragged_dialect.passes.analysis.scheduling import schedule
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.passes.patterns import patterns
from ragged_dialect.passes.patterns.rewriting import run_patterns, walk
from ragged_dialect.passes.pipeline.running import kept_manager
from ragged_dialect.types import is_ragged, is_tensor, shape_of

DISABLED = (
    "SwapTransposeWithBroadcast",
    "{anonymous}::InferStaticShapeOfOperands",
    "{anonymous}::InferConcatResultType",
    "{anonymous}::InferConcatOperandTypes",
    "FoldTensorCastProducerOp",
    "{anonymous}::EraseIdentityLinalgOp<mlir::linalg::GenericOp>",
    "{anonymous}::ForOpTensorCastFolder",
)
"""Upstream patterns that stay off. The first four rebuild a tensor type from its extents and lose or
break an encoding. The fifth makes one operand of a linalg op static and relies on the second to do
the same to the others, without which ops like `linalg.reduce` no longer verify. The sixth casts from
one layout to another (`patterns.copying` is ours). The last makes all values of a loop as long as a start of known
extent is, which others that it yields need not be."""

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
    a rewrite may drop an op that was the only witness of invalid data. They come right behind what they check,
    since one between two computations would keep those from sharing a loop.

    Options: `seed` shuffles the order in which patterns are tried; the result does not depend on it,
    but for such a chain it may.
    """

    anchor = "any"

    seed: int | None = None

    def run(self, op: ir.Operation) -> None:
        """Rewrite `op` to its normal form; PassFailure when that is not reached."""
        own = patterns()
        manager = kept_manager(op.context, upstream(op.name))
        generalize_static_tiles(op)
        settled = b""
        for _ in range(_ROUNDS):
            manager.run(op)
            if settled and bytecode(op) == settled:  # nothing new for a pattern to match
                return
            if run_patterns(op, own, self.seed):
                continue
            schedule(op)
            after = bytecode(op)
            if after == settled:
                return
            settled = after
        raise PassFailure(op, f"{self.name}: expected a normal form within {_ROUNDS} rounds, got none")


def generalize_static_tiles(module: ir.Operation) -> None:
    """Rewrite every elementwise op of a module whose result is ragged and of static shape."""
    for op in [op for op in walk(module, bodies=False) if _is_foldable(op)]:
        with ir.InsertionPoint(op), op.location:
            _generalize(op)


def _is_foldable(op: ir.Operation) -> bool:
    if not is_elementwise(op) or len(op.results) != 1:
        return False
    result = op.results[0].type
    if not is_ragged(result) or None in shape_of(result).shape:
        return False
    return any(is_ragged(v.type) for v in op.operands) and not whole_value(op)


def _generalize(op: ir.Operation) -> None:
    tensors = [v for v in op.operands if is_tensor(v.type)]
    result = op.results[0].type
    like = next(v for v in tensors if is_ragged(v.type))
    out = builders.empty([like], result)
    made = elementwise(tensors, [out], lambda elements: [_scalar(op, elements)])
    share_mapping(op, made)
    replace(op, made.result)


def _scalar(op: ir.Operation, elements: list[ir.Value]) -> ir.Value:
    """The op on one element of every tensor."""
    arguments = iter(elements)
    scalars = [next(arguments) if is_tensor(v.type) else v for v in op.operands]
    attributes = {name: value for name, value in copy_attributes(op).items() if name != MAPPING}
    element = op.results[0].type.element_type
    return ir.Operation.create(op.name, results=[element], operands=scalars, attributes=attributes).result
