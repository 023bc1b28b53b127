"""When the threads of a block must wait for each other."""

from __future__ import annotations

from dataclasses import dataclass

from ragged_dialect._mlir import ir
from ragged_dialect.lowering.buffers.subviews import root

Signature = tuple[tuple[int, int, int], ...] | None


@dataclass(frozen=True)
class Access:
    """An access to a buffer. `signature` says which thread touches which element: per dim the stride
    and count of the threads along it, and how many consecutive elements each has at a time; None when
    unknown. Equal signatures on the same view mean that every element stays with its thread."""

    buffer: ir.Value
    write: bool
    signature: Signature
    view: ir.Value

    @staticmethod
    def of(view: ir.Value, write: bool, signature: Signature = None) -> Access:
        """Access through a view."""
        return Access(root(view), write, signature, view)

    def conflicts(self, other: Access, overlap: bool = False) -> bool:
        """Whether the two must not happen without a barrier between them; with `overlap` buffers may share memory."""
        if not (self.write or other.write) or (self.buffer != other.buffer and not overlap):
            return False
        return self.signature is None or self.signature != other.signature or self.view != other.view


class Barriers:
    """Accesses since the last barrier; emits barriers where they are needed. A block of one thread
    needs none. With `overlap` different buffers may share memory."""

    def __init__(self, threads: int, overlap: bool = False) -> None:
        self.threads = threads
        self.overlap = overlap
        self.pending: list[Access] = []

    def wait(self) -> None:
        """Emit a barrier."""
        if self.threads > 1:
            ir.Operation.create("gpu.barrier")
        self.pending = []

    def before(self, accesses: list[Access]) -> None:
        """Emit a barrier when one of the accesses conflicts with a pending one, and note them."""
        if any(new.conflicts(old, self.overlap) for new in accesses for old in self.pending):
            self.wait()
        self.pending += accesses

    def settle(self, written: set[ir.Value]) -> None:
        """A barrier when a write is pending, or any access to buffers that are written next."""
        if any(access.write or access.buffer in written or (self.overlap and written) for access in self.pending):
            self.wait()
