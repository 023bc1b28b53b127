"""Buffers that a device body allocates: which shared memory has room for, and others in place of them."""

from __future__ import annotations

from ragged_dialect._mlir import DYNAMIC, Op, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir.walk import find_ops, ops_in
from ragged_dialect.lowering.buffers.subviews import VIEWS
from ragged_dialect.lowering.gpu.kernel.shared_memory import EXCHANGE_BYTES, shared_size


def temporaries_of(body: ir.Block) -> tuple[list[ir.Operation], list[ir.Operation]]:
    """The allocations of a body: those of static size while shared memory has room, and the others. Not those that
    threads have of their own."""
    left = DEVICE.shared_bytes - EXCHANGE_BYTES
    shared: list[ir.Operation] = []
    others: list[ir.Operation] = []
    own = set(own_of(body))
    for alloc in (found for op in body.operations for found in _allocations(op) if found not in own):
        type_ = alloc.results[0].type
        if DYNAMIC not in type_.shape and shared_size(type_) <= left:
            left -= shared_size(type_)
            shared.append(alloc)
        else:
            others.append(alloc)
    return shared, others


def own_of(body: ir.Block) -> list[ir.Operation]:
    """The allocations in bodies of linalg ops: a thread runs those for an element, and nobody else sees them."""
    nests = [op for top in body.operations for op in ops_in(top) if op.name.startswith("linalg.")]
    return [alloc for op in nests for alloc in _allocations(op)]


def _allocations(op: Op) -> list[ir.Operation]:
    return find_ops(op, "memref.alloc", "memref.alloca")


def replace_allocation(alloc: ir.Operation, buffer: ir.Value) -> None:
    """Put a buffer in place of one that is allocated; views of it get its memory space and layout."""
    old = alloc.results[0]
    old.replace_all_uses_with(buffer)
    if buffer.type != old.type:
        _retype(buffer)
    alloc.erase()


def _retype(buffer: ir.Value) -> None:
    """Give the views of a buffer its memory space and layout."""
    for use in list(buffer.uses):
        op = use.owner.operation
        if op.name not in VIEWS:
            continue
        old = op.results[0].type
        op.results[0].set_type(_viewed(op, buffer.type, old))
        _retype(op.results[0])


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
