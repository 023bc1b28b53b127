"""What the emulator found, in words."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from ragged_dialect.device_model import DEVICE
from ragged_dialect.emulator import state as codes
from ragged_dialect.emulator.checking import OTHER_BLOCK, THREAD_BITS
from ragged_dialect.emulator.machine import Machine
from ragged_dialect.emulator.program import Kernel, Program
from ragged_dialect.emulator.state import Thread

_ACCESSES = {
    codes.LOAD: "a load",
    codes.STORE: "a store",
    codes.ATOMIC: "an atomic access",
    codes.ATOMIC_LOAD: "an atomic load",
    codes.INVARIANT_LOAD: "a load",
}
_SPACES = {
    0: "an argument or to shared memory",
    codes.GLOBAL_RANGES: "an argument",
    codes.SHARED_RANGES: "shared memory",
}


class Report:
    """The error that a launch stopped at. `order` are the numbers of the blocks in the order they ran,
    `epochs` the epoch each began with (empty where nothing is checked)."""

    def __init__(self, machine: Machine, program: Program, kernel: Kernel, order: Any, epochs: Any) -> None:
        self._machine = machine
        self._state = machine.state
        self._program = program
        self._kernel = kernel
        self._order = order
        self._epochs = epochs

    def text(self) -> str:
        """The whole message."""
        makers = {
            codes.OUT_OF_BOUNDS: self._out_of_bounds,
            codes.MISALIGNED: self._misaligned,
            codes.READ_ONLY: self._read_only,
            codes.RACE: self._race,
            codes.UNINITIALISED: self._uninitialised,
            codes.INACTIVE_LANE: self._inactive_lane,
            codes.NOT_IN_MASK: self._not_in_mask,
            codes.EXITED_AT_BARRIER: self._exited,
            codes.DEADLOCK: self._deadlock,
            codes.MANY_COPIES: lambda: (
                f"expected at most {codes.MAX_COPIES} asynchronous copies of a thread in flight, got one more"
            ),
            codes.LARGE_COPY: self._large_copy,
            codes.CHANGED_SOURCE: lambda: (
                "expected what an asynchronous copy reads to stay as it is until its thread waits for it,"
                f" got another number before {self._access()}"
            ),
            codes.SOME_LANES: self._some_lanes,
            codes.ZERO_DIVISOR: lambda: "expected a divisor other than 0, got 0",
        }
        reason = makers[self._state.error]()
        block = (self._state.block_x, self._state.block_y, self._state.block_z)
        return f"kernel {self._kernel.name}, block {block}, thread {_position(self._current())}: {reason}"

    def _current(self) -> Thread:
        return Thread(self._state.current)

    def _buffer(self, number: int) -> str:
        shared = len(self._program.shared)
        if number == codes.LOCAL_RANGE:
            return f"a local array or constant of {self._state.error_total} bytes"
        size = self._machine.range(number).size
        if number <= shared:
            return f"shared buffer {self._program.shared[number - 1].name} of {size} bytes"
        return f"argument {number - shared - 1} of {size} bytes"

    def _access(self) -> str:
        """`a load of 4 bytes at byte 16`, from the start of the buffer."""
        number = self._state.error_range
        kind = _ACCESSES[self._state.error_access & 127]
        size = f"{kind} of {self._state.error_size} bytes"
        if number in _SPACES:
            return f"{size} at address {self._state.error_address:#x}"
        base = self._state.error_base if number == codes.LOCAL_RANGE else self._machine.range(number).base
        offset = self._state.error_address - base
        return f"{size} at byte {offset}"

    def _out_of_bounds(self) -> str:
        number = self._state.error_range
        if number in _SPACES:
            return f"expected an access to {_SPACES[number]}, got {self._access()}"
        return f"expected an access within {self._buffer(number)}, got {self._access()}"

    def _misaligned(self) -> str:
        alignment = (self._state.error_access >> 8) + 1
        found = self._state.error_address % alignment
        whose = "" if self._state.error_range in _SPACES else f" of {self._buffer(self._state.error_range)}"
        return f"expected an address aligned to {alignment} bytes, got {self._access()}{whose}, {found} bytes off"

    def _read_only(self) -> str:
        return f"expected no store to {self._buffer(self._state.error_range)}, a read-only array, got {self._access()}"

    def _uninitialised(self) -> str:
        buffer = self._buffer(self._state.error_range)
        shared = self._machine.range(self._state.error_range).shared
        what = "shared memory that the block has written" if shared else "memory that was written"
        return f"expected {what}, got {self._access()} of {buffer}"

    def _large_copy(self) -> str:
        size, given = self._state.error_access, self._state.error_size
        return f"expected an asynchronous copy of {size} bytes to read at most as many, got {given}"

    def _some_lanes(self) -> str:
        thread = self._current()
        return f"expected {self._site(thread)} of all lanes of the warp, got mask {thread.mask:#x}"

    def _race(self) -> str:
        other = ("a store", "a load", "an atomic access")[self._state.error_other]
        return (
            f"expected accesses in a certain order, got {self._access()} of {self._buffer(self._state.error_range)}"
            f" that races with {other} by {self._culprit(self._state.error_tag)}"
        )

    def _culprit(self, tag: int) -> str:
        """Who a tag stands for."""
        index, own = tag & THREAD_BITS, self._current().index
        block = self._block_of(tag >> 32)
        if tag >> 32 == codes.IN_FLIGHT:
            return f"an asynchronous copy of thread {_position(self._machine.thread(index))} that was not waited for"
        if tag & OTHER_BLOCK and tag >> 32 >= self._state.block_epoch:
            return "another block"
        if block is not None:
            return f"block {block}, thread {_position(self._machine.thread(index))}"
        if index == own:
            return "another thread of the block"
        return f"thread {_position(self._machine.thread(index))}"

    def _block_of(self, epoch: int) -> tuple[int, int, int] | None:
        """The block of an epoch; None for the running one."""
        if epoch >= self._state.block_epoch:
            return None
        number = int(self._order[bisect_right(self._epochs, epoch) - 1])
        rest, x = divmod(number, self._state.grid_x)
        return x, rest % self._state.grid_y, rest // self._state.grid_y

    def _site(self, thread: Thread) -> str:
        return self._program.sites[thread.site]

    def _inactive_lane(self) -> str:
        thread = self._current()
        lane = self._state.error_lane
        index = thread.index // DEVICE.warp * DEVICE.warp + lane
        state = "does not take part"
        if index >= self._state.thread_count:
            state = "is not in the block"
        elif self._machine.thread(index).kind == codes.FINISHED:
            state = "has exited"
        return f"expected {self._site(thread)} to read an active lane, got lane {lane}, which {state}"

    def _not_in_mask(self) -> str:
        thread = self._current()
        found = f"lane {thread.index % DEVICE.warp} and mask {thread.mask:#x}"
        return f"expected {self._site(thread)} with a mask that holds its lane, got {found}"

    def _exited(self) -> str:
        gone = next(t for t in self._threads() if t.kind == codes.FINISHED)
        return (
            f"expected all threads of the block at {self._site(self._current())}, got {self._state.live} of"
            f" {self._state.thread_count}: thread {_position(gone)} has exited"
        )

    def _threads(self) -> Sequence[Thread]:
        return [self._machine.thread(index) for index in range(self._state.thread_count)]

    def _deadlock(self) -> str:
        """Name two threads that wait for each other; a collective of a warp first, for it waits for
        fewer threads."""
        waiting = [thread for thread in self._threads() if thread.kind != codes.FINISHED]
        stuck = next((t for t in waiting if t.kind >= codes.FIRST_WARP_KIND), waiting[0])
        self._state.current = self._state.threads + stuck.index * Thread.stride
        peers = waiting
        whom = "the block"
        if stuck.kind >= codes.FIRST_WARP_KIND:
            whom = f"mask {stuck.mask:#x}"
            peers = [t for t in waiting if t.index // DEVICE.warp == stuck.index // DEVICE.warp]
        other = next(t for t in peers if (t.site, t.mask) != (stuck.site, stuck.mask))
        return (
            f"expected all threads of {whom} at {self._site(stuck)}, got thread {_position(other)}"
            f" at {self._site(other)}"
        )


def _position(thread: Thread) -> tuple[int, int, int]:
    return thread.x, thread.y, thread.z
