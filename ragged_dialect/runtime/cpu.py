"""Calling a compiled CPU function: arguments to a frame, results and status back."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.checks import Check, raise_failed
from ragged_dialect.runtime.arguments import Flattener
from ragged_dialect.runtime.frames import Frame, FrameLayout
from ragged_dialect.runtime.prepared import PreparedCall
from ragged_dialect.runtime.signature import Signature


class CpuFunction:
    """A compiled function on NumPy arrays.

    A ragged argument or result is the tuple of its parts (values, index vectors, extents), a
    scalar a Python number. Results never share memory with arguments; arguments are not written.
    Calls from several threads may overlap.
    """

    target = "cpu"

    def __init__(self, signature: Signature, entry: int, checks: Sequence[Check], keep: Any) -> None:
        self.signature = signature
        self._call: Callable[[int], None] = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)
        self._checks = tuple(checks)
        self._keep = keep
        self._flatten = Flattener(signature)
        self._layout = FrameLayout(signature)
        self._free_frames: list[Frame] = []

    def prepared(self) -> PreparedCall:
        """The same function for arguments that are packed already."""
        return PreparedCall(self._call, self._layout, self.signature, self._checks, self._keep)

    def __call__(self, *arguments: Any) -> Any:
        """Run. ArgumentError for arguments that do not fit, RuntimeCheckError for invalid data.

        Returns None without results, the result alone when there is one, else a tuple."""
        flat = self._flatten(arguments)
        try:
            frame = self._free_frames.pop()
        except IndexError:
            frame = self._layout.make()
        self._layout.write(frame, flat)
        self._call(frame.address)
        status, parts = self._layout.read(frame)
        self._free_frames.append(frame)
        if status and status[0]:
            raise_failed(self._checks, status)
        return self.signature.grouped(parts)
