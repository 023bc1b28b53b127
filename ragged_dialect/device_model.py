"""What code for GPUs takes for granted of every device, each number with its source."""

from __future__ import annotations

WARP = 32
"""Threads of a warp: `WARP_SZ` of the PTX ISA, on every architecture so far."""

ACCESS_BYTES = 16
"""Bytes of the widest access of one thread: vectors of the PTX ISA have at most 128 bits. Such an access must be
aligned to its size, so kernels take the first element of every buffer to be; launchers check it. In shared memory
LLVM takes it for granted, and PTX declares it only where it is written."""
