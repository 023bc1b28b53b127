"""How the threads of a block are spread over the loops of one op; everything is known at compile time."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir.match import loop_of
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.kernel.vector_access import VectorAccess, vector_access

_UNBOUNDED = 1 << 60


@dataclass(frozen=True)
class ThreadShape:
    """Threads along every loop (`shape`) and the distance of neighbours in thread numbers (`stride`);
    loops in the order in which threads were handed out. With `vector` every thread has that many
    consecutive iterations of its loop at a time."""

    shape: dict[int, int]
    stride: dict[int, int]
    order: tuple[int, ...]
    vector: VectorAccess | None

    def width(self, loop: int) -> int:
        """Consecutive iterations of a loop that a thread has at a time."""
        return self.vector.width if self.vector is not None and self.vector.loop == loop else 1

    @property
    def used(self) -> int:
        """Threads that take part."""
        return prod(self.shape.values())


def fast_loop(generic: GenericOp) -> int | None:
    """The loop along which most operands of the highest rank lie contiguously."""
    rank = max((len(m.results) for m in generic.maps), default=0)
    score: dict[int, float] = {}
    for k, map_ in enumerate(generic.maps):
        if rank and len(map_.results) == rank and isinstance(map_.results[-1], ir.AffineDimExpr):
            loop = loop_of(map_.results[-1])
            score[loop] = score.get(loop, 0) + (DEVICE.store_weight if k >= generic.n_inputs else 1)
    return max(score, key=lambda d: score[d]) if score else None


def thread_shape(generic: GenericOp, threads: int, split: bool) -> ThreadShape:
    """Hand out threads: the contiguous loop first, then other parallel loops from the inside, then
    reductions, long ones first, when they may be split."""
    order = _order(generic, split)
    vector = vector_access(generic, fast_loop(generic)) if fast_loop(generic) in order and threads > 1 else None
    shape = dict.fromkeys(range(generic.rank), 1)
    stride = dict.fromkeys(range(generic.rank), 1)
    fast = fast_loop(generic)
    used, left = 1, threads
    for place, loop in enumerate(order):
        stride[loop] = used
        shape[loop] = _along(generic, loop, loop == fast, place == len(order) - 1, used, left, len(order), vector)
        used *= shape[loop]
        left //= shape[loop]
    return ThreadShape(shape, stride, tuple(order), vector)


def _order(generic: GenericOp, split: bool) -> list[int]:
    fast = fast_loop(generic)
    order = [fast] if fast is not None and (generic.parallel[fast] or split) else []
    order += [d for d in reversed(range(generic.rank)) if generic.parallel[d] and d not in order]
    if split:
        rest = [d for d in generic.reductions if d not in order]
        order += sorted(rest, key=lambda d: -_length(generic, d))
    return order


def _length(generic: GenericOp, loop: int) -> int:
    extent = generic.static_extent(loop)
    return _UNBOUNDED if extent is None else extent


def _along(
    generic: GenericOp,
    loop: int,
    fast: bool,
    last: bool,
    used: int,
    left: int,
    loops: int,
    vector: VectorAccess | None,
) -> int:
    """Threads along one loop."""
    extent = generic.static_extent(loop)
    if extent is not None and vector is not None and vector.loop == loop:
        extent //= vector.width
    limit = left
    if extent is None and fast and not last:
        limit = min(left, DEVICE.warp)  # a dynamic contiguous loop: one warp wide
    if fast and not generic.parallel[loop] and loops > 1:
        limit = min(limit, DEVICE.warp)  # it combines by shuffles
    if extent is not None and fast and generic.parallel[loop] and extent <= limit:
        return max(1, extent)  # exact lanes, none idle
    if used & (used - 1):
        return max(1, limit if extent is None else min(limit, extent))  # no shuffles after odd lanes: use all
    limit = 1 << (limit.bit_length() - 1)
    return limit if extent is None else min(limit, 1 << (extent - 1).bit_length())
