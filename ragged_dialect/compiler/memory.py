"""What the programs of a process call for memory: compiled once, and linked to each by address."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from typing import Any, NamedTuple

from ragged_dialect._mlir import execution_engine, ir
from ragged_dialect.lowering.memory_runtime import ADDRESSES, EXPORTED, RUN, RUNTIME
from ragged_dialect.runtime import memory

_lock = threading.Lock()
_made: list[_Runtime] = []


class _Runtime(NamedTuple):
    engine: Any
    addresses: dict[str, int]
    run: Callable[[int], int]


def link_memory(engine: Any) -> None:
    """Tell an execution engine, which has looked nothing up yet, where the runtime is."""
    for name, address in _runtime().addresses.items():
        engine.raw_register_runtime(name, ctypes.c_void_p(address))


def runner() -> Callable[[int], int]:
    """What calls a program: takes the address of a frame, gives 0 or the size in bytes that there was no
    memory for."""
    return _runtime().run


def _runtime() -> _Runtime:
    with _lock:
        if not _made:
            _made.append(_make())
        return _made[0]


def _make() -> _Runtime:
    with ir.Context(), ir.Location.unknown():
        engine = execution_engine.ExecutionEngine(ir.Module.parse(RUNTIME), opt_level=2)
        for name, function in (("malloc", memory.allocate), ("free", memory.free)):
            engine.raw_register_runtime(name, ctypes.cast(function, ctypes.c_void_p))
        engine.initialize()
        table = (ctypes.c_void_p * len(EXPORTED))()
        call_packed(engine.raw_lookup(ADDRESSES), ctypes.c_void_p(ctypes.addressof(table)))
    addresses = {name: int(address or 0) for name, address in zip(EXPORTED, table, strict=True)}
    return _Runtime(engine, addresses, ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(addresses[RUN]))


def call_packed(entry: int, *arguments: Any) -> None:
    """Call a function of an engine by the entry it looks up, which takes the addresses of the arguments."""
    slots = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(entry)(ctypes.addressof(slots))
