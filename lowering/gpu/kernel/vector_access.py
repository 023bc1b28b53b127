"""Which operands of an op can be loaded and stored 16 bytes at a time along its contiguous loop."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from ragged_dialect._mlir import DYNAMIC, ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir.match import bit_width
from ragged_dialect.lowering.buffers.subviews import defining_op, is_buffer, plain_dim, starts_and_sizes
from ragged_dialect.lowering.gpu.kernel.generic_op import GenericOp

_FAR = 1 << 30


@dataclass(frozen=True)
class VectorAccess:
    """`width` consecutive iterations of `loop` belong to one thread; `operands` are accessed at once,
    others element by element."""

    loop: int
    width: int
    operands: frozenset[int]


def vector_access(generic: GenericOp, loop: int | None) -> VectorAccess | None:
    """The widest access along a loop of static extent of which a whole number covers the loop, None when
    no buffer in global memory allows any."""
    extent = None if loop is None else generic.static_extent(loop)
    if loop is None or extent is None:
        return None
    return _used(generic, access_of(generic, loop, gcd(extent, _width(generic, loop))))


def wide_access(generic: GenericOp, loop: int) -> VectorAccess | None:
    """`vector_access` for the iterations of a loop from a multiple of the width on, whatever its extent."""
    return _used(generic, access_of(generic, loop, _width(generic, loop)))


def _used(generic: GenericOp, found: VectorAccess) -> VectorAccess | None:
    """An access of several elements to what is read or written; None for others."""
    used = any(k >= generic.n_inputs or generic.is_read(k) for k in found.operands)
    return found if used and found.width > 1 else None


def _width(generic: GenericOp, loop: int) -> int:
    """Elements along a loop that a thread had better have at a time; 1 where none can be."""
    lined_up = [k for k, x in enumerate(generic.operands) if is_buffer(x) and _is_last(generic, k, loop)]
    sizes = [_bytes(generic.scalar_type(k)) for k in lined_up if _in_global(generic.operands[k])]
    if not sizes or 0 in sizes:
        return 1
    accumulates = generic.parallel[loop] and bool(generic.reductions)
    alike = min(sizes) == max(sizes) and not accumulates
    return DEVICE.access_bytes // min(sizes) if alike else min(DEVICE.access_bytes // min(sizes), DEVICE.accumulators)


def access_of(generic: GenericOp, loop: int, width: int) -> VectorAccess:
    """Access to `width` iterations of a loop at a time, from a multiple of the width on."""
    lined_up = [k for k, x in enumerate(generic.operands) if is_buffer(x) and _is_last(generic, k, loop)]
    return VectorAccess(loop, width, frozenset(k for k in lined_up if _fits(generic, k, width)))


def _is_last(generic: GenericOp, k: int, loop: int) -> bool:
    """Whether a loop indexes the last dim of an operand and nothing else of it."""
    results = generic.maps[k].results
    return len(results) > 0 and plain_dim(generic.maps[k], loop) == len(results) - 1


def _in_global(x: ir.Value) -> bool:
    return x.type.memory_space is None


def _bytes(type_: ir.Type) -> int:
    """Bytes of a scalar that vectors can hold; 0 for others."""
    if isinstance(type_, ir.IndexType):
        return 0
    return bit_width(type_) // 8


def _fits(generic: GenericOp, k: int, width: int) -> bool:
    """Whether every access of `width` elements of an operand is aligned to its size, up to 16 bytes."""
    x = generic.operands[k]
    if not _in_global(x) or _bytes(generic.scalar_type(k)) == 0:
        return False
    strides, _ = x.type.get_strides_and_offset()
    if not strides or strides[-1] != 1 or any(s == DYNAMIC or s % width for s in strides[:-1]):
        return False
    return offset_multiple(x) % width == 0


def offset_multiple(view: ir.Value) -> int:
    """A number that the element offset of a view from its pointer is a multiple of; the pointer itself
    is aligned to 16 bytes."""
    op = defining_op(view)
    if op is None or op.name == "memref.alloc":
        return _FAR
    if op.name == "memref.reinterpret_cast":
        return _FAR if _is_pointer(op.operands[0]) and list(op.attributes["static_offsets"]) == [0] else 1
    if op.name in ("memref.collapse_shape", "memref.expand_shape", "memref.cast"):
        return offset_multiple(op.operands[0])
    if op.name != "memref.subview":
        return 1
    source = op.operands[0]
    strides, _ = source.type.get_strides_and_offset()
    found = offset_multiple(source)
    for start, stride in zip(starts_and_sizes(op)[0], strides, strict=True):
        times = start if isinstance(start, int) else multiple_of(start)
        found = gcd(found, times * stride if stride != DYNAMIC else (0 if times == 0 else times))
    return found


def _is_pointer(x: ir.Value) -> bool:
    return is_buffer(x) and not x.type.shape


def multiple_of(value: ir.Value) -> int:
    """A number that an index is a multiple of, 0 for the constant 0."""
    op = defining_op(value)
    if op is None:
        return 1
    if op.name == "arith.constant":
        return abs(op.attributes["value"].value)
    if op.name == "arith.muli":
        return multiple_of(op.operands[0]) * multiple_of(op.operands[1])
    if op.name in ("arith.addi", "arith.subi", "arith.maxsi", "arith.minsi"):
        return gcd(multiple_of(op.operands[0]), multiple_of(op.operands[1]))
    return 1
