"""How much shared memory a kernel has, and what is kept of it for threads that combine their parts."""

from __future__ import annotations

from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import ACCESS_BYTES
from ragged_dialect.ir.match import bit_width

SHARED_BYTES = 48 * 1024
"""Static shared memory of a kernel, on every device."""

EXCHANGE_BYTES = 8 * 1024
"""What temporaries leave: a slot of 8 bytes for every thread of the largest block."""


def byte_size(type_: ir.Type) -> int:
    """Bytes of an element; indices have 8."""
    if isinstance(type_, ir.IndexType):
        return 8
    return max(1, bit_width(type_) // 8)


def shared_size(type_: ir.MemRefType) -> int:
    """Bytes that a buffer of static shape takes of shared memory."""
    return -(-prod(type_.shape) * byte_size(type_.element_type) // ACCESS_BYTES) * ACCESS_BYTES
