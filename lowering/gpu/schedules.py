"""Schedules: how the iterations of a forall are spread over blocks and threads.

There are three kernel builders, which the attribute `ragged.mapping` of a forall names (`balanced` is merge-path):

| name | for | grid |
| --- | --- | --- |
| `general` | anything | a block per iteration, of at most as many threads as the mapping says |
| `balanced` | reductions over the rows of components, elementwise work on them | a block per tile of rows |
| `contract` | products of matrices of f16 or bf16, sums in f32 | a block per tile of a component's result |

The option `schedule` of passes also knows `segment`: a block per component, `general` with as many threads as a
component of usual length keeps busy, and `auto`, which takes what fits best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.lowering.attributes import BALANCED, CONTRACT, GENERAL, SCHEDULES, SEGMENT, Mapping
from ragged_dialect.lowering.gpu.contract import kernels as contract
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp, generics_in
from ragged_dialect.lowering.gpu.kernel.thread_shape import fast_loop
from ragged_dialect.lowering.gpu.kernel.vector_access import vector_access
from ragged_dialect.lowering.gpu.segmented import reduction_kernels
from ragged_dialect.passes.base import PassFailure

AUTO = "auto"

BUILDERS: dict[str, Callable[..., None]] = {
    GENERAL: builder.schedule,
    SEGMENT: builder.schedule,
    BALANCED: reduction_kernels.schedule,
    CONTRACT: contract.schedule,
}
"""What replaces a forall by kernels and their launches, by the forall's schedule."""


def _has(forall: ir.Operation, *names: str) -> bool:
    """Whether one of some ops stands in a body, outside of payloads."""
    found = False

    def visit(op: ir.Operation) -> ir.WalkResult:
        nonlocal found
        found = found or op.name in names
        return ir.WalkResult.SKIP if op.name == "linalg.generic" else ir.WalkResult.ADVANCE

    forall.walk(visit, ir.WalkOrder.PRE_ORDER)
    return found


def _is_segment(forall: ir.Operation) -> bool:
    """Whether a body is straight-line work on one component."""
    return bool(generics_in(forall)) and _has(forall, "memref.load") and not _has(forall, "scf.for", "scf.while")


_FITS: dict[str, Callable[[ir.Operation], bool]] = {
    GENERAL: lambda forall: True,
    BALANCED: reduction_kernels.fits,
    SEGMENT: _is_segment,
    CONTRACT: contract.fits,
}


def fits(forall: ir.Operation, name: str) -> bool:
    """Whether a schedule can take a forall."""
    return _FITS[name](forall)


def pick(forall: ir.Operation) -> str:
    """The schedule of choice for a forall."""
    return next(name for name in (CONTRACT, BALANCED, SEGMENT, GENERAL) if fits(forall, name))


def require_schedule(op: ir.Operation, name: str, *others: str) -> None:
    """PassFailure at an op when an option names no schedule, nor one of some others."""
    names = [*others, *SCHEDULES]
    if name not in names:
        raise PassFailure(op, f"expected a schedule among {', '.join(names)}, got '{name}'")


def mapped(forall: ir.Operation, name: str, asked: Mapping) -> Mapping:
    """How a schedule maps a forall that was asked to have some of that."""
    most = {SEGMENT: _segment_threads, BALANCED: _balanced_threads}.get(name)
    if most is not None and asked.threads is None and most(forall) < DEVICE.block_threads:
        asked = replace(asked, threads=most(forall))
    return replace(asked, schedule=GENERAL if name == SEGMENT else name)


def _balanced_threads(forall: ir.Operation) -> int:
    """Threads that have room for what they accumulate."""
    found = reduction_kernels.matched(forall)
    return DEVICE.block_threads if found is None else reduction_kernels.most_threads(found)


def _segment_threads(forall: ir.Operation) -> int:
    """Threads that a component of usual length keeps busy."""
    lanes = max((_lanes(generic) for generic in generics_in(forall)), default=1)
    wanted = max(DEVICE.fewest_threads, DEVICE.component_rows * lanes)
    return min(DEVICE.block_threads, 1 << (wanted - 1).bit_length())


def _lanes(generic: GenericOp) -> int:
    """Threads along the contiguous loop of an op; 1 where the loop runs over rows."""
    loop = fast_loop(generic)
    extent = None if loop is None else generic.static_extent(loop)
    if extent is None:
        return 1
    vector = vector_access(generic, loop)
    return max(1, extent // (vector.width if vector is not None else 1))
