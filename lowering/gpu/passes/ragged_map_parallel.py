"""`ragged-map-parallel`: which schedule every forall on the host gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ragged_dialect._mlir import ir
from ragged_dialect.ir.walk import outermost
from ragged_dialect.lowering.gpu.attributes import SCHEDULE, SERIAL
from ragged_dialect.lowering.gpu.passes.host_code import host_functions
from ragged_dialect.lowering.gpu.schedules import (
    AUTO,
    GENERAL,
    fits,
    give_schedule,
    give_threads,
    pick,
    require_schedule,
)
from ragged_dialect.passes.base import PassFailure, RaggedPass


@dataclass(frozen=True)
class RaggedMapParallel(RaggedPass):
    """Name the schedule of every forall on the host.

    ```mlir
    scf.forall (%t) in (%tiles) { … one tile … }
    scf.forall (%b) in (%n) { … one component … }
    // becomes
    scf.forall (%t) in (%tiles) { … one tile … } {ragged.schedule = "general"}
    scf.forall (%b) in (%n) { … one component … } {ragged.schedule = "general", ragged.threads = 64}
    ```

    `schedule` is `auto`, which picks by what the body does, or a name, which is given to every forall that it fits;
    the others are `general`. A forall that has a schedule keeps it. One marked `ragged.serial` gets one thread.
    Precondition: `tile-flat-ops`.
    """

    name: ClassVar[str] = "ragged-map-parallel"
    schedule: str = AUTO

    def run(self, op: ir.Operation) -> None:
        """Name the schedules of every function of a module."""
        require_schedule(op, self.schedule, AUTO)
        for function in host_functions(op):
            for forall in outermost(function, "scf.forall"):
                give_schedule(forall, self._name(forall))
                if SERIAL in forall.attributes:
                    del forall.attributes[SERIAL]
                    give_threads(forall, 1)

    def _name(self, forall: ir.Operation) -> str:
        if SERIAL in forall.attributes:
            return GENERAL
        if SCHEDULE in forall.attributes:
            return _asked(forall)
        if self.schedule == AUTO:
            return pick(forall)
        return self.schedule if fits(forall, self.schedule) else GENERAL


def _asked(forall: ir.Operation) -> str:
    """The schedule that a forall was asked to have. PassFailure where it does not fit."""
    name: str = forall.attributes[SCHEDULE].value
    require_schedule(forall, name)
    if not fits(forall, name):
        raise PassFailure(forall, f"expected a schedule that fits the loop nest, got '{name}'")
    return name
