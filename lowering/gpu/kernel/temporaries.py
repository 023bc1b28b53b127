"""Where buffers that a device body allocates live.

In this order: shared memory, when the size is static and fits; global scratch with one slot per
block, when the size is known at launch; global scratch of storage size, when the size is that of a
slice of a result (a component): the block uses the same slice of the scratch. Blocks write disjoint
slices of their results; what they read may overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir import build
from ragged_dialect.ir.build import Mixed
from ragged_dialect.ir.match import made_by
from ragged_dialect.ir.walk import find_ops
from ragged_dialect.lowering.buffers import VIEWS, is_buffer, starts_and_sizes, subview
from ragged_dialect.lowering.gpu.kernel.kernel import Kernel
from ragged_dialect.lowering.gpu.kernel.shared_memory import EXCHANGE_BYTES, shared_size
from ragged_dialect.passes.base import PassFailure


@dataclass
class Slice:
    """An axis of a temporary: how long it is here, how long in the scratch, and where it starts."""

    size: Mixed
    storage: Mixed
    start: Mixed


class Temporaries:
    """Places the allocations of a body. `host_value(value)` is the host's value of a scalar that the
    body captures, or None."""

    def __init__(
        self, kernel: Kernel, launch: ir.Operation, grid: Mixed, host_value: Callable[[ir.Value], Mixed | None]
    ) -> None:
        self.kernel = kernel
        self.launch = launch
        self.grid = grid
        self.host_value = host_value
        self.left = kernel.shared_left - EXCHANGE_BYTES
        self.shared: list[ir.Operation] = []

    def place(self, allocs: list[ir.Operation], block_id: ir.Value) -> None:
        """Give every allocation its place; shared ones last, after all parameters exist."""
        for alloc in allocs:
            type_ = alloc.results[0].type
            if DYNAMIC not in type_.shape and shared_size(type_) <= self.left:
                self.left -= shared_size(type_)
                self.shared.append(alloc)
            else:
                self._place_global(alloc, block_id)
        for alloc in self.shared:
            self._replace(alloc, self.kernel.workgroup(alloc.results[0].type))

    def _place_global(self, alloc: ir.Operation, block_id: ir.Value) -> None:
        axes = [self._axis(alloc, size) for size in mixed_sizes(alloc)]
        element = alloc.results[0].type.element_type
        slot = not any(isinstance(a.start, ir.Value) for a in axes) and self.grid != 1
        storage = [self.grid, *(a.storage for a in axes)] if slot else [a.storage for a in axes]
        with ir.InsertionPoint(self.launch):
            type_ = ir.MemRefType.get([s if isinstance(s, int) else DYNAMIC for s in storage], element)
            scratch = memref.alloc(type_, [s for s in storage if not isinstance(s, int)], [])
        with ir.InsertionPoint(alloc):
            whole = self.kernel.value(scratch, self.launch)
            starts, sizes = [a.start for a in axes], [a.size for a in axes]
            view = (
                subview(whole, [block_id, *starts], [1, *sizes], range(1, len(sizes) + 1))
                if slot
                else subview(whole, starts, sizes)
            )
        self._replace(alloc, view)

    def _axis(self, alloc: ir.Operation, size: Mixed) -> Slice:
        if isinstance(size, int):
            return Slice(size, size, 0)
        known = self.host_value(size)
        if known is not None:
            return Slice(size, known, 0)
        for starts, buffer in _written_slices_of(self.kernel.body, size):
            storage = self._storage(*buffer)
            if storage is not None:
                with ir.InsertionPoint(alloc):
                    return Slice(size, storage, reduce(build.add, starts))
        message = "expected a temporary of a size that is known at launch or that a slice of a result has, got neither"
        raise PassFailure(alloc, message)

    def _storage(self, whole: ir.Value, dim: int) -> Mixed | None:
        """Host value of an extent of a buffer inside, None when it is not a whole buffer of the host."""
        host = next(
            (h for h, inside in self.kernel.inside.items() if inside == whole and isinstance(h, ir.Value)), None
        )
        if host is None or not is_buffer(host):
            return None
        size = host.type.shape[dim]
        if size != DYNAMIC:
            return size
        with ir.InsertionPoint(self.launch):
            return memref.dim(host, build.value(dim))

    def _replace(self, alloc: ir.Operation, buffer: ir.Value) -> None:
        old = alloc.results[0]
        old.replace_all_uses_with(buffer)
        if buffer.type != old.type:
            retype(buffer)
        alloc.erase()


def mixed_sizes(alloc: ir.Operation) -> list[Mixed]:
    """Sizes of an allocation."""
    dynamic = iter(alloc.operands)
    return [next(dynamic) if s == DYNAMIC else s for s in alloc.results[0].type.shape]


def _written_slices_of(body: ir.Block, size: ir.Value) -> Iterator[tuple[list[Mixed], tuple[ir.Value, int]]]:
    """Slices of results with an axis of a size: what its start is the sum of, (sliced buffer, axis)."""
    for op in (inner for op in body.operations for inner in find_ops(op, "memref.subview")):
        if not _is_written(op.results[0]):
            continue
        for axis, (start, length) in enumerate(zip(*starts_and_sizes(op), strict=True)):
            if not isinstance(length, int) and length == size:
                starts, whole = _outer(op.operands[0], axis)
                yield [start, *starts], (whole, axis)


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
            if use.operand_number >= next(iter(user.attributes["operandSegmentSizes"])):
                return True
        elif user.name in VIEWS and _is_written(user.results[0]):
            return True
    return False


def retype(buffer: ir.Value) -> None:
    """Give the views of a buffer its memory space and layout."""
    for use in list(buffer.uses):
        op = use.owner.operation
        if op.name not in VIEWS:
            continue
        old = op.results[0].type
        op.results[0].set_type(_viewed(op, buffer.type, old))
        retype(op.results[0])


def _viewed(op: ir.Operation, source: ir.MemRefType, old: ir.MemRefType) -> ir.MemRefType:
    """Type of a view when its source has another layout or memory space."""
    if not isinstance(source.layout, ir.StridedLayoutAttr):
        return ir.MemRefType.get(old.shape, old.element_type, old.layout, source.memory_space)
    steps, _ = old.get_strides_and_offset()
    if op.name in ("memref.subview", "memref.cast"):
        strides, _ = source.get_strides_and_offset()
        steps = [strides[k] for k in _kept_axes(op, len(source.shape), len(old.shape))]
    layout = ir.StridedLayoutAttr.get(DYNAMIC, list(steps))
    return ir.MemRefType.get(old.shape, old.element_type, layout, source.memory_space)


def _kept_axes(op: ir.Operation, rank: int, kept: int) -> list[int]:
    """Axes of a subview's source that its result has: those of size 1 go first to last."""
    if op.name != "memref.subview" or rank == kept:
        return list(range(rank))
    drop = rank - kept
    axes: list[int] = []
    for k, size in enumerate(op.attributes["static_sizes"]):
        if size == 1 and drop:
            drop -= 1
        else:
            axes.append(k)
    return axes
