"""Calling a compiled CPU function: arguments to a frame, results or the record of a failed check back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragged_dialect.checks import Check
from ragged_dialect.runtime.arguments import Flattener, by_position
from ragged_dialect.runtime.callbacks import CHECKED, SKEWED, STOPPED, stopped
from ragged_dialect.runtime.frames import Frame, FrameLayout
from ragged_dialect.runtime.memory import explained, no_memory
from ragged_dialect.runtime.recompiled import Recompiled
from ragged_dialect.runtime.signature import Signature
from ragged_dialect.runtime.status import raise_failed


class PackedFunction:
    """A compiled function that takes the bytes of its arguments and gives the fields of its results: the shortest way
    into a program.

    Arguments are packed in order: an array as its memref descriptor (`frames.descriptor`), a number in
    eight bytes. They are trusted. Arrays must stay alive until the call returns; arrays among the
    results are descriptors of memory that the caller then owns. Calls from several threads may overlap.
    """

    def __init__(
        self,
        name: str,
        layout: FrameLayout,
        checks: Sequence[Check],
        run: Callable[[int], int],
        keep: object,
        again: Callable[[], PackedFunction] | None = None,
    ) -> None:
        """`run` calls the function of a frame and gives why it ended (`ragged_run`), 0 where it did not; `name` is what
        errors call it, `keep` must live as long; `again` makes the function for data that this one refuses."""
        self._name = name
        self._again = again
        self._other: PackedFunction | None = None
        self._layout = layout
        self._checks = checks
        self._run = run
        self._keep = keep
        self._input, self._output = layout.input, layout.output
        self._read = layout.fields.unpack_from
        self._free: list[Frame] = []

    def named(self, name: str) -> PackedFunction:
        """The same function by another name."""
        return PackedFunction(name, self._layout, self._checks, self._run, self._keep, self._again)

    def __call__(self, packed: bytes) -> tuple[int, ...]:
        """The fields of the results. RuntimeCheckError for data that a check of the program refuses, which
        is an IndexError too for an index. AllocationError where there is no memory."""
        try:
            frame = self._free.pop()
        except IndexError:
            frame = self._layout.make()
        memory, address = frame
        memory[self._input] = packed
        size = self._run(address)
        if size:
            record = frame.record
            self._free.append(frame)
            if size == SKEWED and self._again is not None:
                self._other = self._other or self._again().named(self._name)
                return self._other(packed)
            if size == CHECKED:
                raise_failed(self._checks, record)
            raise stopped() if size == STOPPED else no_memory(self._name, size)
        fields = self._read(memory, self._output)
        self._free.append(frame)
        return fields


class CpuFunction(Recompiled):
    """A compiled function on NumPy arrays.

    A ragged argument or result is the tuple of its parts (values, index vectors, extents), a
    scalar a Python number. Results never share memory with arguments; arguments are not written.
    Calls from several threads may overlap. `packed` is the same for arguments that are packed already.
    """

    target = "cpu"

    def __init__(
        self,
        signature: Signature,
        entry: int,
        checks: Sequence[Check],
        keep: object,
        run: Callable[[int], int],
        again: Callable[[], PackedFunction] | None = None,
    ) -> None:
        """`run` calls `entry`, which a frame begins with, and gives why it ended; `again` is
        that of `PackedFunction`."""
        self.signature = signature
        self._flatten = Flattener(signature)
        self._layout = FrameLayout(signature, entry)
        self.packed = PackedFunction(signature.name, self._layout, checks, run, keep, again)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Run. ArgumentError for arguments that do not fit, RuntimeCheckError for invalid data,
        AllocationError where there is no memory.

        Returns None without results, the result alone when there is one, else a tuple."""
        if named:
            raise by_position(self.signature.name, named)
        try:
            flat = self._flatten(arguments)
            parts = self._layout.results(self.packed(self._layout.pack(flat)))
        except MemoryError as error:
            raise explained(self.signature.name, error) from None
        return self.signature.grouped(parts)
