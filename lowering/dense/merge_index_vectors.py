"""`merge-index-vectors`: index vectors of one size are computed in one loop."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.generic import elementwise
from ragged_dialect.ir.clone import inlined
from ragged_dialect.ir.match import in_block, made_by
from ragged_dialect.ir.walk import find_ops, touches_memory
from ragged_dialect.lowering.dense.inline_index_vectors import is_index_vector
from ragged_dialect.passes.base import RaggedPass


class MergeIndexVectors(RaggedPass):
    """Compute index vectors of one size together, each element of all in one iteration.

    ```mlir
    %starts = linalg.generic … outs(%e : tensor<?xi64>) { … linalg.yield %start : i64 }
    %lengths = linalg.generic … outs(%f : tensor<?xi64>) { … linalg.yield %length : i64 }
    // becomes
    %both:2 = linalg.generic … outs(%e, %f : tensor<?xi64>, tensor<?xi64>) { … linalg.yield %start, %length : i64, i64 }
    ```

    They are those of a structure, mostly, and computed of the same indices, which are read once. Only vectors in one
    block are merged of which none is computed of another. Precondition: after inline-index-vectors, which takes vectors
    of one result.
    """

    def run(self, op: ir.Operation) -> None:
        """Merge the vectors of a module, each into the next one that fits."""
        found = [x for x in find_ops(op, "linalg.generic") if is_index_vector(x) and not touches_memory(x)]
        for number, first in enumerate(found):
            later = next((k for k in range(number + 1, len(found)) if _fit(first, found[k])), None)
            if later is not None:
                found[later] = _merged(first, found[later])


def _fit(first: ir.Operation, later: ir.Operation) -> bool:
    """Whether two ops compute as many elements, and the first may do so where the later one does."""
    size, other = _size(first), _size(later)
    if first.block != later.block or size is None or other is None or size != other:
        return False
    users = [in_block(use.owner.operation, first.block) for result in first.results for use in result.uses]
    return all(user is None or (user != later and later.is_before_in_block(user)) for user in users)


def _size(op: ir.Operation) -> ir.Value | int | None:
    """How many elements are computed; None where they are put where others are."""
    empty = made_by(op.operands[0], "tensor.empty")
    return None if empty is None else next(iter(empty.operands), op.operands[0].type.shape[0])


def _merged(first: ir.Operation, later: ir.Operation) -> ir.Operation:
    """One op at the place of the later one of two, which it takes the place of."""
    outs = [*first.operands, *later.operands]

    def body(elements: list[ir.Value]) -> list[ir.Value]:
        own = len(first.operands)
        parts = [(first, elements[:own]), (later, elements[own:])]
        return [x for op, its in parts for x in inlined(op.regions[0].blocks[0], its)]

    with ir.InsertionPoint(later), later.location:
        made = elementwise([], outs, body)
    for old, new in zip([*first.results, *later.results], made.results, strict=True):
        old.replace_all_uses_with(new)
    first.erase()
    later.erase()
    return made
