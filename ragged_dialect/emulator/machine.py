"""The emulated multiprocessor: the compiled scheduler and its memory, one per process."""

from __future__ import annotations

import ctypes
import mmap
import platform
from functools import cache
from typing import NamedTuple

from ragged_dialect import locks
from ragged_dialect.device_model import DEVICE
from ragged_dialect.emulator import blocks, checking, collectives, copies, fibers, matrices, soft_float
from ragged_dialect.emulator.definitions import Addresses
from ragged_dialect.emulator.jit import Code, provide
from ragged_dialect.emulator.native import compile_modules
from ragged_dialect.emulator.state import (
    MAX_ARGUMENTS,
    MAX_COPIES,
    MAX_THREADS,
    STACK_GAP,
    Copy,
    Range,
    State,
    Thread,
    Warp,
)
from ragged_dialect.emulator.words import WORD, Struct
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.backend import LOCK


class Switch(NamedTuple):
    """Assembly of the switch; the frame it pops from a stack, in words, and where in the frame the
    return address is."""

    assembly: str
    frame_words: int
    return_word: int


def _aarch64() -> Switch:
    pairs = [("x19", "x20"), ("x21", "x22"), ("x23", "x24"), ("x25", "x26"), ("x27", "x28"), ("x29", "x30")]
    pairs += [("d8", "d9"), ("d10", "d11"), ("d12", "d13"), ("d14", "d15")]
    size = 16 * len(pairs)
    save = [f"stp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(pairs)]
    restore = [f"ldp {a}, {b}, [sp, #{16 * i}]" for i, (a, b) in enumerate(pairs)]
    exchange = ["mov x9, sp", "str x9, [x0]", "mov sp, x1"]
    lines = [f"sub sp, sp, #{size}", *save, *exchange, *restore, f"add sp, sp, #{size}", "ret"]
    return Switch("\n".join(lines), size // 8, 11)


def _x86_64() -> Switch:
    registers = ["rbp", "rbx", "r12", "r13", "r14", "r15"]
    save = [f"pushq %{name}" for name in registers]
    restore = [f"popq %{name}" for name in reversed(registers)]
    lines = [*save, "movq %rsp, (%rdi)", "movq %rsi, %rsp", *restore, "retq"]
    return Switch("\n".join(lines), len(registers) + 1, len(registers))


_SWITCHES = {"x86_64": _x86_64, "aarch64": _aarch64, "arm64": _aarch64}


def host_switch() -> Switch:
    """The switch for this machine; EmulatorError where there is none."""
    machine = platform.machine()
    if machine not in _SWITCHES:
        raise EmulatorError(f"expected one of the processors {', '.join(sorted(_SWITCHES))}, got {machine}")
    return _SWITCHES[machine]()


def switch_ir(switch: Switch) -> str:
    """LLVM IR of `switch_stack(saved, stack)`."""
    escaped = switch.assembly.replace("\n", "\\0A")
    return (
        "define internal void @switch_stack(i64 %saved, i64 %stack) naked noinline {\n"
        f'  call void asm sideeffect "{escaped}", "~{{memory}}"()\n'
        "  unreachable\n}\n"
    )


_EXPORTS = ("run_grid", *Addresses.called())
_MAX_RANGES = MAX_ARGUMENTS + 512


def _pages(size: int) -> mmap.mmap:
    """Memory of this process alone: by default it would be one with that of forked children."""
    return mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)


class Machine:
    """State and code of the scheduler. One launch at a time: hold `lock`."""

    def __init__(self) -> None:
        switch = host_switch()
        texts = [switch_ir(switch), soft_float.CONVERSIONS]
        texts.append(compile_modules((fibers, matrices, collectives, copies, blocks, checking), _EXPORTS))
        self._code = Code("\n".join(texts), level=0)
        for name in soft_float.NAMES:
            provide(name, self._code.address(name))
        self._memory: list[ctypes.Array[ctypes.c_uint64]] = []
        self.lock = locks.lock()
        self.run_grid = self._code.function("run_grid")
        self.state_address = self._words(State.stride // WORD)
        self.state = State(self.state_address)
        self.arguments = self._words(MAX_ARGUMENTS)
        self._lay_out(switch.frame_words, switch.return_word)

    def _words(self, count: int) -> int:
        self._memory.append((ctypes.c_uint64 * count)())
        return ctypes.addressof(self._memory[-1])

    def _records(self, kind: type[Struct], count: int) -> int:
        return self._words(kind.stride // WORD * count)

    def _lay_out(self, frame_words: int, return_word: int) -> None:
        state = self.state
        state.threads = self._records(Thread, MAX_THREADS)
        state.warps = self._records(Warp, MAX_THREADS // DEVICE.warp)
        state.ranges = self._records(Range, _MAX_RANGES)
        state.copies = self._records(Copy, MAX_THREADS * MAX_COPIES)
        state.ready = self._words(MAX_THREADS)
        state.free_stacks = self._words(MAX_THREADS)
        state.frame_words = frame_words
        state.frame_return = return_word
        self._stacks = _pages(mmap.PAGESIZE)

    def address(self, name: str) -> int:
        """The address of a function that kernels call."""
        return self._code.address(name)

    def thread(self, index: int) -> Thread:
        """A thread of the block that ran last."""
        return Thread(self.state.threads + index * Thread.stride)

    def range(self, number: int) -> Range:
        """A range, counted from 1."""
        return Range(self.state.ranges + (number - 1) * Range.stride)

    def prepare_block(self, block: tuple[int, int, int], stack: int) -> None:
        """Set the shape of the blocks, and the bytes of stack that a thread needs."""
        state = self.state
        state.block_size_x, state.block_size_y, state.block_size_z = block
        state.thread_count = block[0] * block[1] * block[2]
        state.warp_count = -(-state.thread_count // DEVICE.warp)
        size = MAX_THREADS * (stack + STACK_GAP)
        if len(self._stacks) < size:
            self._stacks = _pages(size)
        state.stack_size = stack
        state.stacks = ctypes.addressof(ctypes.c_char.from_buffer(self._stacks))


def machine() -> Machine:
    """The machine of this process, made on first use."""
    with LOCK:
        return _machine()


@cache
def _machine() -> Machine:
    return Machine()
