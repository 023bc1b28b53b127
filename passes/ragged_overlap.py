"""`ragged-overlap`: exchanges with other ranks go on while the program computes."""

from __future__ import annotations

from ragged_dialect import builders
from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import definer
from ragged_dialect.ir.walk import find_ops, replace
from ragged_dialect.passes.analysis.scheduling import schedule
from ragged_dialect.passes.base import RaggedPass

_SETTLED = ("arith.", "tensor.", "ragged.")


class RaggedOverlap(RaggedPass):
    """Begins exchanges where their operands are known, and waits for them where their results are needed.

    ```mlir
    %1 = ragged.all_to_all %x0
    %2 = ragged.all_to_all %x1
    %y1 = linalg.generic … ins(%1) …
    %y2 = linalg.generic … ins(%2) …
    // becomes
    %t0 = ragged.all_to_all_start %x0
    %t1 = ragged.all_to_all_start %x1
    %1 = ragged.all_to_all_wait %x0, %t0
    %y1 = linalg.generic … ins(%1) …
    %2 = ragged.all_to_all_wait %x1, %t1
    %y2 = linalg.generic … ins(%2) …
    ```

    So the second exchange goes on while the first result is computed with. Starts keep their order, which is that of
    all ranks, and come before no check that was before them. An exchange whose result is needed at once stays as it is.
    """

    anchor = "any"

    def run(self, op: ir.Operation) -> None:
        """Rewrite in every block below `op`."""
        found = find_ops(op, "ragged.all_to_all")
        if not found:
            return
        waits = [_begun(exchange) for exchange in found]
        schedule(op)
        for wait in waits:
            start = definer(wait.operands[1])
            if not _computes_between(start, wait):
                _waited_for(start, wait)


def _begun(op: ir.Operation) -> ir.Operation:
    """The wait for an exchange that is begun in its place."""
    with ir.InsertionPoint(op), op.location:
        turn = builders.all_to_all_start(op.operands[0])
        wait = builders.all_to_all_wait(op.operands[0], turn)
    replace(op, wait)
    return definer(wait)


def _computes_between(start: ir.Operation, wait: ir.Operation) -> bool:
    """Whether something is done between two ops of a block but for views and numbers."""
    ops = [op.operation for op in start.block.operations]
    between = ops[ops.index(start) + 1 : ops.index(wait)]
    return any(op.name.startswith("ragged.all_to_all") or not op.name.startswith(_SETTLED) for op in between)


def _waited_for(start: ir.Operation, wait: ir.Operation) -> None:
    """Make one op of an exchange that is begun and waited for at once."""
    with ir.InsertionPoint(start), start.location:
        made = builders.all_to_all(start.operands[0])
    replace(wait, made)
    start.erase()
