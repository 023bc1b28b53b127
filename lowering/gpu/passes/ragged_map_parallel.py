"""`ragged-map-parallel`: which schedule every forall on the host gets."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.attributes import AUTO, GENERAL, Mapping
from ragged_dialect.lowering.gpu.kernel.numbers import require_numbers
from ragged_dialect.lowering.gpu.passes.host_code import host_foralls
from ragged_dialect.lowering.gpu.schedules import mapped, pick, require_schedule, schedule
from ragged_dialect.passes.base import PassFailure, RaggedPass


@dataclass(frozen=True)
class RaggedMapParallel(RaggedPass):
    """Name the schedule of every forall on the host.

    ```mlir
    scf.forall (%t) in (%tiles) { … one tile … }
    scf.forall (%b) in (%n) { … one component … }
    // becomes
    scf.forall (%t) in (%tiles) { … one tile … } {ragged.mapping = {schedule = "general"}}
    scf.forall (%b) in (%n) { … one component … } {ragged.mapping = {schedule = "general", threads = 64}}
    ```

    `schedule` is `auto`, which picks by what the body does, or a name, which is given to every forall that it fits;
    the others are `general`. A forall that was given a schedule keeps it, and one that was given one thread is
    `general`.
    Precondition: `tile-flat-ops`.
    """

    schedule: str = AUTO

    def run(self, op: ir.Operation) -> None:
        """Name the schedules of every function of a module."""
        require_schedule(op, self.schedule, AUTO)
        for forall in host_foralls(op):
            require_numbers(forall)
            asked = Mapping.of(forall)
            mapped(forall, self._name(forall, asked), asked).give(forall)

    def _name(self, forall: ir.Operation, asked: Mapping) -> str:
        if asked.schedule is not None:
            if not schedule(asked.schedule).fits(forall):
                raise PassFailure(forall, f"expected a schedule that fits the loop nest, got '{asked.schedule}'")
            return asked.schedule
        if asked.is_serial:
            return GENERAL
        if self.schedule == AUTO:
            return pick(forall)
        return self.schedule if schedule(self.schedule).fits(forall) else GENERAL
