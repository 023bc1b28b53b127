"""Machine code in memory: objects, which llvmlite's LLVM links."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from ragged_dialect.errors import CompileError
from ragged_dialect.locks import adopt, lock

_lock = lock()
_numbers = itertools.count()


class _Linked(Protocol):
    """Code of which llvmlite knows the addresses of exported symbols."""

    def __getitem__(self, item: str, /) -> int: ...


_Link = Callable[[bytes, Sequence[str], Mapping[str, int]], _Linked]


class MachineCode:
    """An object that was linked; it is in memory as long as this lives."""

    def __init__(self, code: bytes, exported: Sequence[str], known: Mapping[str, int]) -> None:
        """`exported` are symbols of the object whose addresses are asked for, `known` the addresses of symbols that
        it uses; others are those of the process. CompileError for what is no object, and where a symbol is missing."""
        with _lock:
            self._linked = _linker()(code, exported, known)

    def address(self, name: str) -> int:
        """Where an exported symbol is."""
        return self._linked[name]


def address_of(function: Any) -> int:
    """Where a function of ctypes is."""
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@cache
def _linker() -> _Link:
    """What links in this process."""
    import llvmlite.binding as llvm  # start-up time

    adopt(llvm.ffi.lib._lock._lock)
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    linker = llvm.create_lljit_compiler(machine, suppress_errors=True)

    def link(code: bytes, exported: Sequence[str], known: Mapping[str, int]) -> _Linked:
        library = llvm.JITLibraryBuilder().add_object_img(code).add_current_process()
        for name, address in known.items():
            library.import_symbol(name, address)
        for name in exported:
            library.export_symbol(name)
        try:
            return library.link(linker, f"ragged{next(_numbers)}")
        except RuntimeError as error:
            raise CompileError(f"expected machine code that can be linked, got {error}") from error

    return link
