"""Buffers between tensors: for what is done by pointers, before bufferization gives tensors their memory."""

from __future__ import annotations

from collections.abc import Sequence

from ragged_dialect._mlir import DYNAMIC, ir, memref
from ragged_dialect.ir.build import Mixed, made, split


def room(sizes: Sequence[Mixed], element: ir.Type) -> ir.Value:
    """A new buffer."""
    dynamic, static = split(sizes)
    return memref.alloc(ir.MemRefType.get(static, element), dynamic, [])


def tensor_of(buffer: ir.Value) -> ir.Value:
    """What is in a buffer of `room` once it is written."""
    type_ = ir.RankedTensorType.get(buffer.type.shape, buffer.type.element_type)
    return made("bufferization.to_tensor", type_, buffer, restrict="unit", writable="unit")


def buffer_of(x: ir.Value, gaps: bool = False) -> ir.Value:
    """The memory of a tensor, to read: without gaps, or however it lies, which never is a copy."""
    layout = ir.StridedLayoutAttr.get(DYNAMIC, [DYNAMIC] * x.type.rank) if gaps else None
    type_ = ir.MemRefType.get(x.type.shape, x.type.element_type, layout)
    return made("bufferization.to_buffer", type_, x, read_only="unit")
