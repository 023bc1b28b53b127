"""The emulator: kernels as LLVM IR for NVPTX, run on the CPU and checked."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ragged_dialect.emulator.arguments import Argument, Array, argument_words, buffers
from ragged_dialect.emulator.definitions import Addresses
from ragged_dialect.emulator.instrument import PREFIX
from ragged_dialect.emulator.jit import Code
from ragged_dialect.emulator.machine import Machine, machine
from ragged_dialect.emulator.program import Kernel, Program
from ragged_dialect.emulator.reports import Report
from ragged_dialect.emulator.shadow import Shadow, set_ranges
from ragged_dialect.emulator.state import FORWARD, MAX_THREADS, NO_ERROR, RANDOM, REVERSE
from ragged_dialect.errors import EmulatorError
from ragged_dialect.ptx.backend import LOCK

_ORDERS = {"forward": FORWARD, "reverse": REVERSE, "random": RANDOM}
_STACK = 1 << 16
_VARIABLE = re.compile(r"^@[^=]+=(?!.*addrspace\(3\)).*\bglobal\b", re.M)
_GRID_LIMITS = ((1 << 31) - 1, 65535, 65535)
_BLOCK_LIMITS = (1024, 1024, 64)

Size = tuple[int, int, int]


def _compiled(llvm_ir: str, addresses: Addresses, arguments: int, check: bool, packed: bool) -> tuple[Program, Code]:
    """Machine code for the host, of an emulator's own where kernels have variables that keep what is stored."""
    make = _compiled_anew if _VARIABLE.search(llvm_ir) else _compiled_once
    return make(llvm_ir, addresses, arguments, check, packed)


def _compiled_anew(
    llvm_ir: str, addresses: Addresses, arguments: int, check: bool, packed: bool
) -> tuple[Program, Code]:
    program = Program(llvm_ir, addresses, arguments, check, packed)
    return program, Code(program.text, level=0 if check else 1)


_compiled_once = lru_cache(maxsize=256)(_compiled_anew)
"""Programs have kernels in common: of checks, of index vectors, and those that are the same for several
architectures."""


class Emulator:
    """The kernels of one module.

    `llvm_ir` is LLVM IR for NVPTX, before optimisation. `check` looks for out-of-bounds and
    misaligned accesses, races, and reads of uninitialised shared memory. `order` is that of threads
    and blocks: `random` (from `seed`, another one for every launch), `forward` or `reverse`. Shared
    variables are no better aligned than they are declared, or `packed` in the order of declaration.

    Raises EmulatorError for IR that does not parse or that the emulator cannot run.
    """

    def __init__(
        self, llvm_ir: str, *, check: bool = True, order: str = "random", seed: int = 0, packed: bool = False
    ) -> None:
        if order not in _ORDERS:
            raise EmulatorError(f"expected an order among {', '.join(_ORDERS)}, got {order!r}")
        self._machine: Machine = machine()
        addresses = Addresses(
            self._machine.state_address, *(self._machine.address(name) for name in Addresses.called())
        )
        with LOCK:
            self._program, self._code = _compiled(llvm_ir, addresses, self._machine.arguments, check, packed)
        self._check = check
        self._order = _ORDERS[order]
        self._random = np.random.default_rng(seed)
        self._shadow = Shadow()

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the kernels."""
        return tuple(self._program.kernels)

    def launch(
        self, kernel: str, grid: Size, block: Size, args: Sequence[Argument], *, status: Array | None = None
    ) -> None:
        """Run a kernel to its end. `args` are C-contiguous arrays for pointers, and numbers.

        `status`, one of the arrays, may be accessed in any order: it tells running threads to stop.

        Raises EmulatorError for arguments that do not fit, and for the first fault found.
        """
        found = self._kernel(kernel)
        _check_size("grid", grid, _GRID_LIMITS)
        _check_block(found, block)
        words = argument_words(found, args)
        count = grid[0] * grid[1] * grid[2]
        if count == 0:
            raise EmulatorError(f"kernel {kernel}: expected a grid of 1 block or more, got {tuple(grid)}")
        number = next((i for i, argument in enumerate(args) if argument is status), None)
        with self._machine.lock:
            self._prepare(found, grid, block, words)
            if self._check:
                self._shadow.restart(self._machine)
                set_ranges(self._machine, self._shadow, self._program, found, buffers(args), number)
            self._run(found, count)
            self._check_invariant(found, args)
            self._shadow.shrink()

    def _check_invariant(self, kernel: Kernel, args: Sequence[Argument]) -> None:
        """What is loaded as if it never changed (`ld.global.nc`) must not be stored to by the launch."""
        first = len(self._program.shared) + 1
        found = [(buffer, self._machine.range(first + buffer.number)) for buffer in buffers(args)]
        stored = [buffer for buffer, record in found if record.stored]
        for buffer, record in found:
            for other in stored if record.invariant else ():
                if buffer.address < other.address + other.size and other.address < buffer.address + buffer.size:
                    raise EmulatorError(
                        f"kernel {kernel.name}: expected argument {buffer.number} not to change, as it is loaded"
                        f" by invariant loads, got stores to argument {other.number}"
                    )

    def _kernel(self, name: str) -> Kernel:
        kernels = self._program.kernels
        if name not in kernels:
            raise EmulatorError(f"expected one of the kernels {', '.join(kernels) or '(none)'}, got {name}")
        return kernels[name]

    def _prepare(self, kernel: Kernel, grid: Size, block: Size, words: list[int]) -> None:
        """Write everything about a launch but its memory and the order of its blocks."""
        state = self._machine.state
        state.grid_x, state.grid_y, state.grid_z = grid
        state.order, state.random = self._order, int(self._random.integers(1, 1 << 63))
        state.entry = self._code.address(f"{PREFIX}entry.{kernel.name}")
        state.shared, state.shared_size = kernel.shared
        state.strict, state.error = self._check, NO_ERROR
        (ctypes.c_uint64 * len(words)).from_address(self._machine.arguments)[:] = words
        self._machine.prepare_block(block, _STACK + (kernel.stack + 15) // 16 * 16)

    def _run(self, kernel: Kernel, count: int) -> None:
        state = self._machine.state
        order = self._blocks(count)
        epochs = np.full(count if self._check else 0, -1, np.int64).view(np.uint64)
        state.block_count, state.block_order = count, order.ctypes.data
        state.block_epochs = epochs.ctypes.data if self._check else 0
        if self._machine.run_grid(self._machine.state_address):
            raise EmulatorError(Report(self._machine, self._program, kernel, order, epochs).text())

    def _blocks(self, count: int) -> Any:
        """The numbers of the blocks in the order they run."""
        if self._order == RANDOM:
            return self._random.permutation(count).astype(np.uint32)
        numbers = np.arange(count, dtype=np.uint32)
        return numbers if self._order == FORWARD else numbers[::-1].copy()


def _check_size(what: str, size: Size, limits: Size) -> None:
    if len(size) != 3 or not all(0 <= part <= limit for part, limit in zip(size, limits, strict=True)):
        raise EmulatorError(f"expected a {what} of at most {limits}, got {tuple(size)}")


def _check_block(kernel: Kernel, block: Size) -> None:
    _check_size("block", block, _BLOCK_LIMITS)
    threads = block[0] * block[1] * block[2]
    limit = kernel.max_threads or MAX_THREADS
    if not 0 < threads <= limit:
        raise EmulatorError(f"kernel {kernel.name}: expected a block of 1 to {limit} threads, got {tuple(block)}")
