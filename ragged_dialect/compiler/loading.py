"""Compiled programs for the CPU in memory. Nothing of the compiler is loaded for those that the cache has."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

from ragged_dialect.compiler.stored import stored
from ragged_dialect.errors import CompileError
from ragged_dialect.host_memory import Hooks, hooks
from ragged_dialect.lowering.runtime.memory_pool import GIVE, MEMORY_POOL, POOL, SHRINK, TAKE
from ragged_dialect.lowering.runtime.memory_runtime import OPEN, RUN
from ragged_dialect.lowering.runtime.program_runtime import DECLARED, EXCHANGES, RUNTIME
from ragged_dialect.runtime import memory
from ragged_dialect.runtime.callbacks import guarded
from ragged_dialect.runtime.cpu import CpuFunction, PackedFunction
from ragged_dialect.runtime.machine_code import MachineCode, address_of
from ragged_dialect.runtime.printing import print_callbacks
from ragged_dialect.runtime.stored_program import CpuProgram, StoredCode, Text
from ragged_dialect.runtime.vector_math import vector_addresses


@cache
def _exchanges() -> dict[str, Any]:
    """What programs call that exchange rows with other ranks."""
    from ragged_dialect.ranks.calls import exchange  # start-up time
    from ragged_dialect.ranks.pending import start, take, wait  # start-up time

    calls = [guarded(exchange, 8), *(guarded(step, 1) for step in (start, wait, take))]
    return dict(zip(EXCHANGES, calls, strict=True))


SET_THREADS = "ragged_set_threads"
"""`(i64)`, in programs with parallel loops: how many threads these use."""


def load_stored(program: CpuProgram, linked: Runtime | None = None) -> CpuFunction:
    """A compiled program in memory, ready to call, on the process's runtime or another."""
    memory.require(program.signature.name, memory.LINKER)
    linked = linked or runtime()
    callbacks = print_callbacks(program.labels) if program.labels else {}
    known = {**linked.addresses, **vector_addresses(program.vectors)}
    exchanges = (
        _exchanges() if EXCHANGES[0].encode() in program.code else {}
    )  # an object has the names of what it calls
    known |= {symbol: address_of(function) for symbol, function in {**exchanges, **callbacks}.items()}
    wanted = (program.symbol, SET_THREADS) if program.parallel else (program.symbol,)
    code = MachineCode(program.code, wanted, known)
    if program.parallel:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address(SET_THREADS))(thread_count())
    keep = (code, linked, callbacks)
    again = None if program.source is None else partial(_load_shared, program.source, linked)
    return CpuFunction(program.signature, code.address(program.symbol), program.checks, keep, linked.run, again)


def _load_shared(source: Text, linked: Runtime) -> PackedFunction:
    """The program of a text for data of which a component is much longer than the others."""

    def make() -> CpuProgram:
        from ragged_dialect.compiler.cpu import shared  # start-up time

        return shared(source)

    return load_stored(stored(CpuProgram, [*source, "shared"], make), linked).packed


def thread_count() -> int:
    """Threads a program runs on: RAGGED_NUM_THREADS, or the cores this process may use."""
    text = os.environ.get("RAGGED_NUM_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise CompileError(f"expected RAGGED_NUM_THREADS of at least 1, got '{text}'")
    return int(text)


_lock = threading.Lock()
_made: list[Runtime] = []
_counting = threading.Lock()
_counts: list[tuple[Runtime, memory.CountedHooks]] = []


class Runtime:
    """The hooks of programs, over those that memory comes from. `run` takes the address of a frame, and gives 0 or the
    size in bytes that there was no memory for."""

    def __init__(self, hooks: Hooks) -> None:
        known = {"malloc": address_of(hooks.allocate), "free": address_of(hooks.free)}
        self._code = _linked(RUNTIME, (OPEN, RUN, *DECLARED), known)
        ctypes.CFUNCTYPE(None)(self._code.address(OPEN))()
        self.addresses = {name: self._code.address(name) for name in DECLARED}
        self.run: Callable[[int], int] = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._code.address(RUN))


def runtime() -> Runtime:
    """That of this process. CompileError for a size of the pool that is none."""
    with _lock:
        if not _made:
            _choose_memory()
            _made.append(Runtime(hooks))
        return _made[0]


@contextmanager
def counted() -> Generator[tuple[Runtime, memory.CountedHooks]]:
    """A runtime whose programs' memory is counted, by one caller at a time."""
    runtime()  # chooses where memory comes from
    with _counting:
        if not _counts:
            counting = memory.CountedHooks()
            _counts.append((Runtime(counting), counting))
        _counts[0][1].start()
        yield _counts[0]


def _choose_memory() -> None:
    size = memory.pool_bytes()
    if size and not hooks.chosen:
        code = _linked(MEMORY_POOL, (TAKE, GIVE, SHRINK, POOL), {})
        memory.use(memory.Pool(code, TAKE, GIVE, SHRINK, POOL), size)


def _linked(text: str, functions: Sequence[str], known: dict[str, int]) -> MachineCode:
    def make() -> StoredCode:
        from ragged_dialect.compiler.machine_code import module_code  # start-up time

        return StoredCode(module_code(text, functions))

    found = stored(StoredCode, [text], make)
    return MachineCode(found.code, functions, known)
