"""Schedules: how the iterations of a forall are spread over blocks and threads.

There are three kernel builders, which the attribute `ragged.mapping` of a forall names (`balanced` is merge-path):

| name | for | grid |
| --- | --- | --- |
| `general` | anything | a block per iteration, of at most as many threads as the mapping says, of one: a thread |
| `balanced` | reductions over the rows of components, elementwise work on them | a block per tile of rows |
| `contract` | products of matrices of f16, bf16 or f32, sums in f32 | a block per tile of a component's result |

The option `schedule` of passes also knows `segment`: a block per component, `general` with as many threads as a
component of usual length keeps busy, and `auto`, which takes what fits best. Plug-ins add schedules by
`passes.registry.register_schedule`; these are taken where they are asked for by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from typing import Protocol, cast

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.erasing import is_erased
from ragged_dialect.errors import kind_of, require_nothing
from ragged_dialect.ir import flow
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.lowering.attributes import BALANCED, CONTRACT, GENERAL, SEGMENT, THREADS, Mapping, schedule_names
from ragged_dialect.lowering.gpu.contract import kernels as contract
from ragged_dialect.lowering.gpu.kernel import builder
from ragged_dialect.lowering.gpu.kernel.block_body import needs_block
from ragged_dialect.lowering.gpu.kernel.combiner import is_split
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp, generics_in
from ragged_dialect.lowering.gpu.kernel.status import Guards
from ragged_dialect.lowering.gpu.kernel.thread_shape import fast_loop
from ragged_dialect.lowering.gpu.kernel.vector_access import vector_access
from ragged_dialect.lowering.gpu.segmented import reduction_kernels
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import PassFailure, at_its_op


class Build(Protocol):
    """Replaces a forall on the host by kernels, which it adds to a module under names that start with `name`, and their
    launches. Kernels have at most so many threads in a block, and do nothing where a guard says so."""

    def __call__(
        self, forall: ir.Operation, module: ir.Operation, name: str, guards: Guards, threads: int, unroll: int
    ) -> None: ...


@dataclass(frozen=True)
class Schedule:
    """How the iterations of a forall become kernels: which it can take, the most threads that a block has for one of
    these, the least, what builds the kernels, whether a block has a tile of elements, whose size may be asked for,
    and not an iteration, and which foralls have something that it is for, maybe among other things."""

    fits: Callable[[ir.Operation], bool]
    build: Build
    most_threads: Callable[[ir.Operation], int] = lambda _: DEVICE.block_threads
    least_threads: int = 1
    has_tiles: bool = False
    concerns: Callable[[ir.Operation], bool] = lambda _: True

    def __post_init__(self) -> None:
        """TypeError for a schedule of a plug-in that is wrong in itself."""
        for field in ("fits", "build", "most_threads"):
            if not callable(getattr(self, field)):
                raise TypeError(f"expected a function as {field} of a schedule, got {getattr(self, field)!r}")
        if self.least_threads not in THREADS:
            raise TypeError(f"expected least_threads among {THREADS}, got {self.least_threads!r}")
        if type(self.has_tiles) is not bool:
            raise TypeError(f"expected a bool as has_tiles, got {self.has_tiles!r}")


def schedule(name: str) -> Schedule:
    """The schedule of a name that there is."""
    own = OWN.get(name)
    if own is not None:
        return own
    found = cast(Schedule, registry.schedule(name, lambda found: isinstance(found, Schedule)))

    def fits(forall: ir.Operation) -> bool:
        answer = cast(object, found.fits(forall))
        if not isinstance(answer, bool):
            raise TypeError(f"expected a bool from fits of '{name}', got {kind_of(answer)}")
        return answer

    def most_threads(forall: ir.Operation) -> int:
        answer = cast(object, found.most_threads(forall))
        if type(answer) is not int or answer not in THREADS or answer < found.least_threads:
            least = f" of at least {found.least_threads}" if found.least_threads > 1 else ""
            raise TypeError(f"expected threads among {THREADS}{least} from most_threads of '{name}', got {answer!r}")
        return answer

    def build(
        forall: ir.Operation, module: ir.Operation, kernel: str, guards: Guards, threads: int, unroll: int
    ) -> None:
        kernels = module.regions[0].blocks[0].operations
        before = len(kernels)
        answer = cast(object, found.build(forall, module, kernel, guards, threads, unroll))
        require_nothing(answer, f"build of '{name}'", found.build)
        if not is_erased(forall) or len(kernels) == before:
            left = "none" if is_erased(forall) else "it as it was"
            raise TypeError(f"expected '{name}' to replace the forall by kernels, got {left}")

    return replace(
        found,
        fits=at_its_op(fits, found.fits),
        build=at_its_op(build, found.build, erases=True),
        most_threads=at_its_op(most_threads, found.most_threads),
    )


def _has(forall: ir.Operation, *names: str) -> bool:
    """Whether one of some ops stands in a body, outside of payloads."""
    return any(op.name in names for op in ops_in(forall, lambda op: op.name == "linalg.generic"))


def _is_segment(forall: ir.Operation) -> bool:
    """Whether a body is straight-line work on one component."""
    return bool(generics_in(forall)) and _has(forall, "memref.load") and not _has(forall, "scf.for", "scf.while")


def pick(forall: ir.Operation) -> str:
    """The schedule of choice for a forall."""
    return next(name for name, own in OWN.items() if own.fits(forall))


def require_schedule(op: ir.Operation, name: str, *others: str) -> None:
    """PassFailure at an op when an option names no schedule, nor one of some others."""
    names = [*others, *schedule_names(name if name not in others else None)]
    if name not in names:
        raise PassFailure(op, f"expected a schedule among {', '.join(names)}, got '{name}'")


def mapped(forall: ir.Operation, name: str, asked: Mapping) -> Mapping:
    """How a schedule maps a forall that was asked to have some of that. PassFailure where it has no tiles, or needs
    more threads."""
    found = schedule(name)
    if asked.threads is not None and asked.threads < found.least_threads:
        raise PassFailure(forall, f"expected at least {found.least_threads} threads for '{name}', got {asked.threads}")
    if asked.tile is not None and not found.has_tiles:
        raise PassFailure(forall, f"expected no tile where a block has an iteration of the loop nest, got {asked.tile}")
    most = found.most_threads(forall)
    if asked.threads is None and most < DEVICE.block_threads:
        asked = replace(asked, threads=most)
    return replace(asked, schedule=GENERAL if name == SEGMENT else name)


def _general_threads(forall: ir.Operation) -> int:
    """No more threads than find something to do in a body that is step by step, where all would wait for each other:
    one, or as many as the ops of a step have elements."""
    if not needs_block(forall) or _is_for_one(forall):
        return 1
    loops = find_ops(forall, "scf.for")
    if not loops or any(flow.FOLD in loop.attributes for loop in loops):
        return DEVICE.block_threads
    return _block_size(max(DEVICE.warp, *map(_elements, generics_in(forall))))


def _is_for_one(forall: ir.Operation) -> bool:
    """Whether no op of a body has anything for a second thread: what walks along a component, say."""
    folds = any(flow.FOLD in loop.attributes for loop in find_ops(forall, "scf.for"))
    return not folds and all(_elements(generic) == 1 for generic in generics_in(forall))


def _elements(generic: GenericOp) -> int:
    """What of an op threads can do apart; many where that is not known."""
    extents = [generic.static_extent(d) for d in range(generic.rank) if generic.parallel[d]]
    if None in extents or is_split(generic):
        return DEVICE.block_threads
    loop = fast_loop(generic)
    vector = None if loop is None else vector_access(generic, loop)
    return prod(e for e in extents if e is not None) // (1 if vector is None else vector.width)


def _balanced_threads(forall: ir.Operation) -> int:
    """Threads that have room for what they accumulate."""
    found = reduction_kernels.matched(forall)
    return DEVICE.block_threads if found is None else reduction_kernels.most_threads(found)


def _segment_threads(forall: ir.Operation) -> int:
    """Threads that a component of usual length keeps busy; where a reduction is step by step, those for its results."""
    if _is_for_one(forall):
        return 1
    generics = generics_in(forall)
    lanes = max((_lanes(generic) for generic in generics), default=1)
    if any(generic.reductions and not is_split(generic) for generic in generics):
        return _block_size(max(DEVICE.warp, lanes))
    return _block_size(max(DEVICE.fewest_threads, DEVICE.component_rows * lanes))


def _block_size(wanted: int) -> int:
    return min(DEVICE.block_threads, 1 << (wanted - 1).bit_length())


def _lanes(generic: GenericOp) -> int:
    """Threads along the contiguous loop of an op; 1 where the loop runs over rows."""
    loop = fast_loop(generic)
    extent = None if loop is None else generic.static_extent(loop)
    if extent is None:
        return 1
    vector = vector_access(generic, loop)
    return max(1, extent // (vector.width if vector is not None else 1))


OWN = {
    CONTRACT: Schedule(contract.fits, contract.schedule, least_threads=DEVICE.warp, concerns=contract.concerns),
    BALANCED: Schedule(
        reduction_kernels.fits, reduction_kernels.schedule, _balanced_threads, least_threads=DEVICE.warp, has_tiles=True
    ),
    SEGMENT: Schedule(_is_segment, builder.schedule, _segment_threads),
    GENERAL: Schedule(lambda _: True, builder.schedule, _general_threads),
}
"""Those of this package; `auto` takes the first one that fits."""
