"""Compiled programs for the CPU in memory. Nothing of the compiler is loaded for those that the cache has."""

from __future__ import annotations

import ctypes
import os

from ragged_dialect.compiler.memory import runtime
from ragged_dialect.errors import CompileError
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.machine_code import MachineCode, address_of
from ragged_dialect.runtime.printing import print_callbacks
from ragged_dialect.runtime.stored_program import CpuProgram
from ragged_dialect.runtime.vector_math import vector_addresses

SET_THREADS = "ragged_set_threads"
"""`(i64)`, in programs with parallel loops: how many threads these use."""


def load_stored(program: CpuProgram) -> CpuFunction:
    """A compiled program in memory, ready to call."""
    linked = runtime()
    callbacks = print_callbacks(program.labels) if program.labels else {}
    known = {**linked.addresses, **vector_addresses(program.vectors)}
    known |= {symbol: address_of(function) for symbol, function in callbacks.items()}
    wanted = (program.symbol, SET_THREADS) if program.parallel else (program.symbol,)
    code = MachineCode(program.code, wanted, known)
    if program.parallel:
        ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address(SET_THREADS))(thread_count())
    keep = (code, linked, callbacks)
    return CpuFunction(program.signature, code.address(program.symbol), program.checks, keep, linked.run)


def thread_count() -> int:
    """Threads a program runs on: RAGGED_NUM_THREADS, or the cores this process may use."""
    text = os.environ.get("RAGGED_NUM_THREADS", "")
    if not text:
        return len(os.sched_getaffinity(0))
    if not text.isdecimal() or int(text) < 1:
        raise CompileError(f"expected RAGGED_NUM_THREADS of at least 1, got '{text}'")
    return int(text)
