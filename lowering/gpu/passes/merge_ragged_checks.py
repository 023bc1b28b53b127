"""`merge-ragged-checks`: neighbouring checks share a forall."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.ir import flow
from ragged_dialect.ir.match import body_ops, terminator
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.attributes import Mapping
from ragged_dialect.lowering.buffers.subviews import is_address, stored_in
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
    runs: list[list[ir.Operation]] = [[]]
    for op in [o.operation for o in block.operations]:
        if _only_checks(op, status):
            runs[-1].append(op)
        elif not is_address(op):
            runs.append([])
    for run in runs:
        if len(run) > 1:
            _merge(run, status)


def _only_checks(op: ir.Operation, status: ir.Value) -> bool:
    """Whether an op is a forall of one iteration that writes the status and nothing else."""
    if op.name != "scf.forall" or counts_of(op) != [1] or find_ops(op, "linalg.generic", "memref.copy"):
        return False
    return stored_in(op) == {status}


def _merge(foralls: list[ir.Operation], status: ir.Value) -> None:
    """Run what foralls do, one after the other, in the last one."""
    *earlier, last = foralls
    blocks = [forall.regions[0].blocks[0] for forall in foralls]
    own = [body_ops(block) for block in blocks]
    place = end = terminator(blocks[-1])
    for forall, ops in zip(foralls, own, strict=True):
        if forall != foralls[0]:
            with ir.InsertionPoint(end), forall.location:
                place = flow.branch(is_good(status))
        for op in ops:
            op.move_before(place)
    if any(Mapping.of(forall) != Mapping.of(last) for forall in earlier):
        Mapping().give(last)
    for forall, block in zip(earlier, blocks, strict=False):
        block.arguments[0].replace_all_uses_with(blocks[-1].arguments[0])
        forall.erase()
