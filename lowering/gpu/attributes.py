"""Attributes that passes over foralls and kernels leave for later ones: each is set and read by these names."""

from __future__ import annotations

SERIAL = "ragged.serial"
"""Of a forall of one iteration whose body one thread runs."""

GATE = "ragged.gate"
"""Of a forall and of the buffer that is the gate of its kernels: their number."""

SCHEDULE = "ragged.schedule"
"""Of a forall on the host: the name of its schedule."""

THREADS = "ragged.threads"
"""Of a forall on the host: the most threads that its blocks have."""

UNROLL = "ragged.unroll"
"""Of a forall on the host: how many accesses a thread has in flight."""

SETTINGS = (SCHEDULE, THREADS, UNROLL)
"""What an op on ragged tensors may say of the forall that its nest becomes."""

WIDE = "ragged.wide"
"""Of a kernel, and of a forall that becomes one, that needs 64-bit indices whatever the extents: it checks index
vectors, which may hold anything, or computes addresses."""
