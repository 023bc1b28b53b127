"""`place-ragged-temporaries`: where buffers live that the body of a forall allocates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import ir
from ragged_dialect.generic import input_count
from ragged_dialect.ir import build, memory
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import made_by
from ragged_dialect.ir.walk import find_ops, is_outside
from ragged_dialect.lowering.buffers.subviews import VIEWS, extent, starts_and_sizes, subview
from ragged_dialect.lowering.gpu.kernel.temporaries import replace_allocation, temporaries_of
from ragged_dialect.lowering.gpu.passes.host_code import host_foralls
from ragged_dialect.lowering.nests.forall_bounds import counts_of
from ragged_dialect.passes.analysis.structure.classes import defined_before
from ragged_dialect.passes.base import PassFailure, RaggedPass


class PlaceRaggedTemporaries(RaggedPass):
    """Move the allocations of foralls for which shared memory has no room to the host.

    ```mlir
    scf.forall (%b) in (%n) { %t = memref.alloc(%m) : memref<?xf32> … }
    // becomes
    %scratch = memref.alloc(%n, %m) : memref<?x?xf32>
    scf.forall (%b) in (%n) { %t = memref.subview %scratch[%b, 0] [1, %m] [1, 1] … }
    ```

    One of static size stays, while shared memory has room. Every iteration has a part of the scratch where the size is
    known at launch. Where it is that of a slice of a result (a component), scratch has the size of the result, and the
    iteration uses the same slice of it: iterations write disjoint slices of results; what they read may overlap. Other
    sizes are refused. Precondition: `privatize-ragged-scratch`.
    """

    def run(self, op: ir.Operation) -> None:
        """Place the temporaries of the foralls of every function of a module."""
        for forall in host_foralls(op):
            for alloc in temporaries_of(forall.regions[0].blocks[0])[1]:
                _place(alloc, forall)


@dataclass(frozen=True)
class _Axis:
    """An axis of a temporary: how long it is here, how long in the scratch, and where it starts."""

    size: Mixed
    storage: Mixed
    start: Mixed


def _place(alloc: ir.Operation, forall: ir.Operation) -> None:
    counts = counts_of(forall)
    shape = build.joined(alloc.results[0].type.shape, alloc.operands)
    axes = [_axis(alloc, size, forall) for size in shape]
    if counts != [1] and not any(isinstance(axis.start, ir.Value) for axis in axes):
        ivs = list(forall.regions[0].blocks[0].arguments)
        axes = [*(_Axis(1, count, iv) for count, iv in zip(counts, ivs, strict=True)), *axes]
    with ir.InsertionPoint(forall), alloc.location:
        scratch = memory.room([axis.storage for axis in axes], alloc.results[0].type.element_type)
    with ir.InsertionPoint(alloc), alloc.location:
        kept = range(len(axes) - len(shape), len(axes))
        replace_allocation(alloc, subview(scratch, [a.start for a in axes], [a.size for a in axes], kept))


def _axis(alloc: ir.Operation, size: Mixed, forall: ir.Operation) -> _Axis:
    if isinstance(size, int) or is_outside(size, forall):
        return _Axis(size, size, 0)
    for starts, whole, dim in _written_slices_of(forall.regions[0].blocks[0], size):
        ready = all(isinstance(start, int) or defined_before(start, alloc) for start in starts)
        if ready and is_outside(whole, forall):
            with ir.InsertionPoint(forall), alloc.location:
                storage = extent(whole, dim)
            with ir.InsertionPoint(alloc), alloc.location:
                return _Axis(size, storage, reduce(build.add, starts))
    message = "expected a temporary of a size that is known at launch or that a slice of a result has, got neither"
    raise PassFailure(alloc, message)


def _written_slices_of(body: ir.Block, size: ir.Value) -> Iterator[tuple[list[Mixed], ir.Value, int]]:
    """Slices of results with an axis of a size: what its start is the sum of, sliced buffer, axis."""
    for op in (inner for op in body.operations for inner in find_ops(op, "memref.subview")):
        if not _is_written(op.results[0]):
            continue
        for axis, (start, length) in enumerate(zip(*starts_and_sizes(op), strict=True)):
            if not isinstance(length, int) and length == size:
                starts, whole = _outer(op.operands[0], axis)
                yield [start, *starts], whole, axis


def _outer(view: ir.Value, axis: int) -> tuple[list[Mixed], ir.Value]:
    """Where slices start that a view is of, and the buffer that they are slices of."""
    starts: list[Mixed] = []
    while (op := made_by(view, "memref.subview")) is not None and op.operands[0].type.rank == view.type.rank:
        starts.append(starts_and_sizes(op)[0][axis])
        view = op.operands[0]
    return starts, view


def _is_written(view: ir.Value) -> bool:
    for use in view.uses:
        user = use.owner.operation
        if user.name == "linalg.generic":
            if use.operand_number >= input_count(user):
                return True
        elif user.name in VIEWS and _is_written(user.results[0]):
            return True
    return False
