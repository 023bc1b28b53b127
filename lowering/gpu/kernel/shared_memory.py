"""How much shared memory a kernel has, and what is kept of it for threads that combine their parts."""

from __future__ import annotations

from math import prod

from ragged_dialect._mlir import ir
from ragged_dialect.device_model import DEVICE
from ragged_dialect.ir.match import byte_size

VALUE_BYTES = 8
"""Bytes of the largest value, and of a place of a slot that holds any: i64 and f64."""

EXCHANGE_BYTES = DEVICE.block_threads * VALUE_BYTES
"""What temporaries leave: a slot of any value for every thread of the largest block."""


def shared_size(type_: ir.MemRefType) -> int:
    """Bytes that a buffer of static shape takes of shared memory."""
    return -(-prod(type_.shape) * byte_size(type_.element_type) // DEVICE.access_bytes) * DEVICE.access_bytes
