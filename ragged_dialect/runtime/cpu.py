"""Calling a compiled CPU function: arguments to a frame, results and status back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.checks import Check, raise_failed
from ragged_dialect.runtime.arguments import Flattener, by_position
from ragged_dialect.runtime.frames import Frame, FrameLayout
from ragged_dialect.runtime.memory import explained, no_memory
from ragged_dialect.runtime.prepared import PreparedCall
from ragged_dialect.runtime.signature import Signature


class CpuFunction:
    """A compiled function on NumPy arrays.

    A ragged argument or result is the tuple of its parts (values, index vectors, extents), a
    scalar a Python number. Results never share memory with arguments; arguments are not written.
    Calls from several threads may overlap.
    """

    target = "cpu"

    def __init__(
        self, signature: Signature, entry: int, checks: Sequence[Check], keep: Any, run: Callable[[int], int]
    ) -> None:
        """`run` calls `entry`, which a frame begins with, and gives the size of an allocation that failed."""
        self.signature = signature
        self._run = run
        self._checks = tuple(checks)
        self._keep = keep
        self._flatten = Flattener(signature)
        self._layout = FrameLayout(signature, entry)
        self._free_frames: list[Frame] = []

    def prepared(self, name: str) -> PreparedCall:
        """The same function for arguments that are packed already; `name` is what errors call it."""
        return PreparedCall(name, self._run, self._layout, self.signature, self._checks, self._keep)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run. ArgumentError for arguments that do not fit, RuntimeCheckError for invalid data,
        AllocationError where there is no memory.

        Returns None without results, the result alone when there is one, else a tuple."""
        if named:
            raise by_position(self.signature.name, named)
        try:
            flat = self._flatten(arguments)
            try:
                frame = self._free_frames.pop()
            except IndexError:
                frame = self._layout.make()
            self._layout.write(frame, flat)
            size = self._run(frame.address)
            if size:
                raise no_memory(self.signature.name, size)
            status, parts = self._layout.read(frame)
        except MemoryError as error:
            raise explained(self.signature.name, error) from None
        self._free_frames.append(frame)
        if status and status[0]:
            raise_failed(self._checks, status)
        return self.signature.grouped(parts)
