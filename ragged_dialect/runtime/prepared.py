"""Calls with arguments that were packed beforehand: the shortest way into a program on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.checks import Check
from ragged_dialect.runtime.frames import Frame, FrameLayout
from ragged_dialect.runtime.memory import no_memory
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.runtime.status import STATUS_ENTRIES, raise_failed


class PreparedCall:
    """A compiled function that takes the bytes of its arguments and gives the fields of its results.

    Arguments are packed in order: an array as its memref descriptor (`frames.descriptor`), a number in
    eight bytes. They are trusted. Arrays must stay alive until the call returns; arrays among the
    results are descriptors of memory that the caller then owns. Calls from several threads may overlap.
    """

    def __init__(
        self,
        name: str,
        run: Callable[[int], int],
        layout: FrameLayout,
        signature: Signature,
        checks: Sequence[Check],
        keep: Any,
    ) -> None:
        self._run = run
        self._name = name
        self._layout = layout
        self._checks = checks
        self._keep = keep
        self._input = layout.input
        self._at, fields = layout.output
        self._read = fields.unpack_from
        self._status = STATUS_ENTRIES if signature.status else 0
        self._free: list[tuple[memoryview, Frame]] = []

    def __call__(self, packed: bytes) -> tuple[Any, ...]:
        """The fields of the results. RuntimeCheckError for data that a check of the program refuses, which
        is an IndexError too for an index. AllocationError where there is no memory."""
        try:
            taken = self._free.pop()
        except IndexError:
            taken = self._make()
        view, frame = taken
        view[self._input] = packed
        size = self._run(frame.address)
        if size:
            raise no_memory(self._name, size)
        fields = self._read(view, self._at)
        if self._status:
            if fields[0]:
                self._layout.read(frame)  # takes the arrays that came along, and frees them
                self._free.append(taken)
                raise_failed(self._checks, fields[:STATUS_ENTRIES])
            fields = fields[STATUS_ENTRIES:]
        self._free.append(taken)
        return fields

    def _make(self) -> tuple[memoryview, Frame]:
        frame = self._layout.make()
        return memoryview(frame.words).cast("B"), frame
