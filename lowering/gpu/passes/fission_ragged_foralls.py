"""`fission-ragged-foralls`: a forall as several, for schedules that take only some kinds of bodies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.ir.match import body_ops, is_read
from ragged_dialect.lowering.attributes import BALANCED, Mapping
from ragged_dialect.lowering.buffers.subviews import root
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp
from ragged_dialect.lowering.gpu.passes.host_code import host_foralls
from ragged_dialect.lowering.gpu.schedules import require_schedule, schedule
from ragged_dialect.lowering.gpu.segmented.component_rows import is_plain
from ragged_dialect.passes.base import RaggedPass


@dataclass(frozen=True)
class FissionRaggedForalls(RaggedPass):
    """Split every forall that a schedule does not fit into several that it fits (loop fission).

    ```mlir
    scf.forall (%b) in (%n) { … reduction of the rows of a component … … map of its rows … }
    // becomes
    scf.forall (%b) in (%n) { … reduction of the rows of a component … }
    scf.forall (%b) in (%n) { … map of its rows … }
    ```

    Every part has as many of the body's `linalg.generic` ops, in their order, as fit, or as have nothing that the
    schedule is for: `contract` gets products by themselves. A forall that cannot be split so, as its body stores, loads
    what it writes, or has buffers or other loops, stays whole. `schedule` is one of `ragged-map-parallel`.
    Precondition: `tile-flat-ops`.
    """

    schedule: str = BALANCED

    def run(self, op: ir.Operation) -> None:
        """Split the foralls of every function of a module."""
        require_schedule(op, self.schedule)
        chosen = schedule(self.schedule)

        def fits(forall: ir.Operation) -> bool:
            return chosen.fits(forall) or not chosen.concerns(forall)

        for forall in host_foralls(op):
            if not Mapping.of(forall).is_serial and not fits(forall):
                fission(forall, fits)


def fission(forall: ir.Operation, fits: Callable[[ir.Operation], bool]) -> list[ir.Operation] | None:
    """Replace a forall by several in its place, each with some of its `linalg.generic` ops, in their order:
    every one as many as `fits` allows. None, and nothing changes, when there are none that all fit."""
    body = body_ops(forall.regions[0].blocks[0])
    generics = [k for k, op in enumerate(body) if op.name == "linalg.generic"]
    written = {root(out) for k in generics for out in GenericOp(body[k]).outs}
    if not all(is_plain(op, written) for op in body):
        return None
    parts: list[ir.Operation] = []
    while generics:
        part, taken = _longest(forall, generics, fits)
        if part is None:
            for made in parts:
                made.erase()
            return None
        parts.append(part)
        generics = generics[taken:]
    forall.erase()
    return parts


def _longest(
    forall: ir.Operation, generics: list[int], fits: Callable[[ir.Operation], bool]
) -> tuple[ir.Operation | None, int]:
    """A forall before this one with the first of some generics, as many as fit, and how many; None when
    even the first one does not."""
    with ir.InsertionPoint(forall):
        part = forall.clone().operation
    body = list(enumerate(body_ops(part.regions[0].blocks[0])))
    for taken in range(len(generics), 0, -1):
        body = _kept(body, set(generics[:taken]))
        if fits(part):
            return part, taken
    part.erase()
    return None, 0


def _kept(body: list[tuple[int, ir.Operation]], kept: set[int]) -> list[tuple[int, ir.Operation]]:
    """Some ops of a body, by their numbers, and what those use; the others are erased."""
    left: list[tuple[int, ir.Operation]] = []
    for k, op in reversed(body):
        if k in kept or is_read(*op.results):
            left.append((k, op))
        else:
            op.erase()
    return left[::-1]
