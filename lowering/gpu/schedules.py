"""The schedules by name: what each fits, and how it makes a kernel.

| name | for | grid |
| --- | --- | --- |
| `serial` | scans that store step by step | one thread |
| `flat` | elementwise work over values | a block per tile, 16-byte accesses, no component index |
| `row` | reductions over dense inner dims, with what follows them | a block per tile of rows |
| `gather` | elementwise work that reads at computed places | a block per tile |
| `balanced` | reductions over the rows of components, elementwise work on them | a block per tile of rows |
| `segment` | straight-line work on one component | a block per component |
| `general` | anything else | a block per iteration |
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.gpu.attributes import SCHEDULE
from ragged_dialect.lowering.gpu.kernel import builder, segment
from ragged_dialect.lowering.gpu.kernel.generic_op import generics_in
from ragged_dialect.lowering.gpu.segmented import reduction_kernels
from ragged_dialect.passes.base import PassFailure

AUTO, GENERAL, SERIALLY, BALANCED, SEGMENT = "auto", "general", "serial", "balanced", "segment"


@dataclass(frozen=True)
class Schedule:
    """`fits` says whether a forall is of the kind; `build` replaces it by a kernel and its launch."""

    fits: Callable[[ir.Operation], bool]
    build: Callable[..., None]


def _has(forall: ir.Operation, *names: str) -> bool:
    """Whether one of some ops stands in a body, outside of payloads."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name in names
        return ir.WalkResult.SKIP if op.name == "linalg.generic" else ir.WalkResult.ADVANCE

    forall.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_tile(forall: ir.Operation) -> bool:
    """Whether a body works on a tile of flat ops: nothing is loaded to find out where."""
    return bool(generics_in(forall)) and not _has(forall, "memref.load", "memref.store", "scf.for", "scf.while")


def _is_flat(forall: ir.Operation) -> bool:
    return _is_tile(forall) and not any(g.reductions or g.loads for g in generics_in(forall))


def _is_row(forall: ir.Operation) -> bool:
    return _is_tile(forall) and any(g.reductions for g in generics_in(forall))


def _is_gather(forall: ir.Operation) -> bool:
    return _is_tile(forall) and not _is_row(forall) and any(g.loads for g in generics_in(forall))


def _is_segment(forall: ir.Operation) -> bool:
    return bool(generics_in(forall)) and _has(forall, "memref.load") and not _has(forall, "scf.for", "scf.while")


SCHEDULES: dict[str, Schedule] = {
    GENERAL: Schedule(lambda forall: True, builder.schedule),
    SERIALLY: Schedule(lambda forall: False, builder.serial),
    "flat": Schedule(_is_flat, builder.schedule),
    "row": Schedule(_is_row, builder.schedule),
    "gather": Schedule(_is_gather, builder.schedule),
    BALANCED: Schedule(reduction_kernels.fits, reduction_kernels.schedule),
    SEGMENT: Schedule(_is_segment, segment.schedule),
}
_PREFERRED = ("flat", "row", "gather", BALANCED, SEGMENT)


def fits(forall: ir.Operation, name: str) -> bool:
    """Whether a schedule can take a forall."""
    return SCHEDULES[name].fits(forall)


def pick(forall: ir.Operation) -> str:
    """The schedule of choice for a forall."""
    return next((name for name in _PREFERRED if fits(forall, name)), GENERAL)


def require_schedule(op: ir.Operation, name: str, *others: str) -> None:
    """PassFailure at an op when a name is none of a schedule, nor one of some others."""
    names = [*others, *SCHEDULES]
    if name not in names:
        raise PassFailure(op, f"expected a schedule among {', '.join(names)}, got '{name}'")


def schedule_of(forall: ir.Operation) -> str:
    """The schedule that a forall was given. PassFailure at one with an unknown name."""
    name = forall.attributes[SCHEDULE].value if SCHEDULE in forall.attributes else GENERAL
    require_schedule(forall, name)
    return name
