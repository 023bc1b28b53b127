"""`merge-ragged-checks`: neighbouring checks share a forall."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import flow
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_address, root
from ragged_dialect.lowering.gpu.kernel.status import is_good, status_of
from ragged_dialect.lowering.gpu.passes.host_code import host_functions
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.passes.base import RaggedPass


class MergeRaggedChecks(RaggedPass):
    """Make one forall of checks with nothing on the device between them: a launch takes longer than most checks.

    ```mlir
    scf.forall (%i) in (1) { … store to %status … }
    scf.forall (%i) in (1) { … store to %status … }
    // becomes
    scf.forall (%i) in (1) { … store to %status … scf.if %good { … store to %status … } }
    ```

    A check runs there when none before it has failed, as kernels do. Precondition: `wrap-ragged-device-code`.
    """

    def run(self, op: ir.Operation) -> None:
        """Merge the checks of every function of a module."""
        for function in host_functions(op):
            status = status_of(op, function)
            if status is not None:
                _merge_in(function.regions[0].blocks[0], status)


def _merge_in(block: ir.Block, status: ir.Value) -> None:
    """Move every forall of a block that only checks into the next one that does, where nothing on the device runs
    in between."""
    earlier: ir.Operation | None = None
    for op in [o.operation for o in block.operations]:
        if _only_checks(op, status):
            if earlier is not None:
                _merge(earlier, op, status)
            earlier = op
        elif not is_address(op):
            earlier = None


def _only_checks(op: ir.Operation, status: ir.Value) -> bool:
    """Whether an op is a forall of one iteration that writes the status and nothing else."""
    if op.name != "scf.forall" or counts_of(op) != [1] or find_ops(op, "linalg.generic", "memref.copy"):
        return False
    return {root(store.operands[1]) for store in find_ops(op, "memref.store")} == {status}


def _merge(earlier: ir.Operation, later: ir.Operation, status: ir.Value) -> None:
    """Run what an earlier forall does first in a later one."""
    before, after = (forall.regions[0].blocks[0] for forall in (earlier, later))
    own = [op.operation for op in after.operations][:-1]
    before.arguments[0].replace_all_uses_with(after.arguments[0])
    for op in [op.operation for op in before.operations][:-1]:
        op.move_before(own[0])
    with ir.InsertionPoint(own[0]), later.location:
        end = flow.branch(is_good(status))
    for op in own:
        op.move_before(end)
    if Mapping.of(earlier) != Mapping.of(later):
        Mapping().give(later)
    earlier.erase()
