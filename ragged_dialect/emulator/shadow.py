"""Ranges of memory that a launch may touch, and the shadow memory behind those it may race on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from ragged_dialect.emulator.arguments import Buffer
from ragged_dialect.emulator.machine import Machine
from ragged_dialect.emulator.program import Kernel, Program
from ragged_dialect.emulator.state import Granule, Range
from ragged_dialect.emulator.words import WORD
from ragged_dialect.emulator.written import written_map
from ragged_dialect.errors import EmulatorError

_KEPT_BYTES = 1 << 28
_LAST_EPOCH = 1 << 31


class Shadow:
    """Shadow memory, kept from launch to launch: tags from earlier launches mean nothing."""

    def __init__(self) -> None:
        self._memory: np.ndarray = np.zeros(0, np.uint64)

    def memory(self, granules: int) -> int:
        """The address of so many granules."""
        words = granules * Granule.stride // WORD
        if words > len(self._memory):
            self._memory = np.zeros(words, np.uint64)
        return self._memory.ctypes.data

    def shrink(self) -> None:
        """Give back what is too large to keep."""
        if self._memory.nbytes > _KEPT_BYTES:
            self._memory = np.zeros(0, np.uint64)

    def restart(self, machine: Machine) -> None:
        """Start a launch: a new epoch; clear everything before epochs repeat."""
        state = machine.state
        if state.epoch >= _LAST_EPOCH:
            state.epoch = 0
            self._memory = np.zeros(0, np.uint64)
        state.epoch += 1
        state.launch_epoch = state.epoch


class _Span(NamedTuple):
    """Memory that is tracked as one: ranges by number, each with where it starts in the span."""

    ranges: tuple[tuple[int, int], ...]
    size: int
    granule: int


def set_ranges(
    machine: Machine, shadow: Shadow, program: Program, kernel: Kernel, found: Sequence[Buffer], status: int | None
) -> None:
    """Write the ranges of a launch: shared buffers, then one for every parameter. `status` is the
    number of the argument that threads may access in any order.

    Raises EmulatorError where arguments overlap that must not.
    """
    first = len(program.shared) + 1
    for number in range(first, first + len(kernel.parameters)):
        _set_range(machine, number, 0, 0)
    for buffer in found:
        record = _set_range(machine, first + buffer.number, buffer.address, buffer.size)
        record.read_only = buffer.read_only
        record.written = written_map(buffer.address)
    machine.state.range_count = first + len(kernel.parameters) - 1
    spans = _shared_spans(machine, program, kernel)
    for group in _groups([buffer for buffer in found if buffer.number != status and buffer.size]):
        _check_overlap(kernel, group)
        if any(kernel.parameters[buffer.number].written for buffer in group):
            spans.append(_span(kernel, group, first))
    _assign(machine, shadow, spans)


def _set_range(machine: Machine, number: int, base: int, size: int) -> Range:
    record = machine.range(number)
    record.base, record.size, record.shadow = base, size, 0
    record.shared = record.read_only = record.stored = record.invariant = record.written = 0
    return record


def _shared_spans(machine: Machine, program: Program, kernel: Kernel) -> list[_Span]:
    spans = list[_Span]()
    low, size = kernel.shared
    for number, buffer in enumerate(program.shared, 1):
        _set_range(machine, number, buffer.address, buffer.size).shared = 1
        if low <= buffer.address < low + size:
            spans.append(_Span(((number, 0),), buffer.size, buffer.granule))
    return spans


def _groups(found: Sequence[Buffer]) -> list[list[Buffer]]:
    """Buffers that overlap, together, by ascending address."""
    groups, end = list[list[Buffer]](), 0
    for buffer in sorted(found, key=lambda buffer: buffer.address):
        if groups and buffer.address < end:
            groups[-1].append(buffer)
        else:
            groups.append([buffer])
        end = max(end, buffer.address + buffer.size)
    return groups


def _check_overlap(kernel: Kernel, group: Sequence[Buffer]) -> None:
    """What is declared noalias and stored to must be reached through one argument only."""
    for one, other in combinations(group, 2):
        both = kernel.parameters[one.number], kernel.parameters[other.number]
        apart = one.address + one.size <= other.address
        if apart or not any(p.written for p in both) or not any(p.noalias for p in both):
            continue
        low, high = sorted((one.number, other.number))
        raise EmulatorError(
            f"kernel {kernel.name}: expected separate memory for arguments {low} and {high}, which are declared noalias"
            " and stored to, got arrays that overlap"
        )


def _span(kernel: Kernel, group: Sequence[Buffer], first: int) -> _Span:
    base = group[0].address
    starts = [buffer.address - base for buffer in group]
    granules = [kernel.parameters[buffer.number].granule for buffer in group]
    granules += [start & -start for start in starts if start]
    ranges = tuple((first + buffer.number, start) for buffer, start in zip(group, starts, strict=True))
    size = max(start + buffer.size for buffer, start in zip(group, starts, strict=True))
    return _Span(ranges, size, min(granules))


def _assign(machine: Machine, shadow: Shadow, spans: Sequence[_Span]) -> None:
    counts = [-(-span.size // span.granule) for span in spans]
    at = shadow.memory(sum(counts))
    for span, count in zip(spans, counts, strict=True):
        for number, start in span.ranges:
            record = machine.range(number)
            record.shift = span.granule.bit_length() - 1
            record.shadow = at + start // span.granule * Granule.stride
        at += count * Granule.stride
