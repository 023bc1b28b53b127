"""Loading the bindings where another library has an LLVM already.

A library looks for a symbol in the global scope of the process first, then in itself. TensorFlow puts
the symbols of its LLVM into that scope; a library that brings an LLVM and is loaded later would run
half of each, which ends the process ("inconsistency in registered CommandLine options").
`RTLD_DEEPBIND` makes a library look in itself first. It then finds libc's `malloc` and `free` even where
an allocator was preloaded in their place, and memory of one is freed by the other; so it is used only
where it has to be and can be.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import contextmanager

from ragged_dialect.errors import RaggedError

_LLVM = "_ZN4llvm2cl6Option11addArgumentEv"
"""`llvm::cl::Option::addArgument`, with which every LLVM registers its options when it is loaded."""

_ALLOCATOR = ("malloc", "free")
_LIBC = "gnu_get_libc_version"


@contextmanager
def own_llvm() -> Generator[None]:
    """A library that is loaded meanwhile uses the LLVM that it brings. RaggedError where another was
    loaded first and the two cannot be kept apart."""
    other = _library_of(_LLVM) if sys.platform == "linux" else None
    if other is None:
        yield
        return
    _check_separable(other)
    flags = sys.getdlopenflags()
    sys.setdlopenflags(flags | os.RTLD_DEEPBIND)
    try:
        yield
    finally:
        sys.setdlopenflags(flags)


def _check_separable(other: str) -> None:
    libc = _library_of(_LIBC)
    allocators = {_library_of(name) for name in _ALLOCATOR} - {libc}
    if libc is None or allocators:
        got = f"malloc of {allocators.pop()}" if libc else "a C library without RTLD_DEEPBIND"
        raise RaggedError(
            f"expected to load MLIR before {other}, which has an LLVM too, got it second, with {got}; "
            "put 'from ragged_dialect import compile' before the import that loads the other"
        )


def _library_of(symbol: str) -> str | None:
    """The file that the process takes a symbol from; None for one that no library has shared."""
    import ctypes  # start-up time

    class Found(ctypes.Structure):
        _fields_ = [
            ("file", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("name", ctypes.c_char_p),
            ("at", ctypes.c_void_p),
        ]

    shared, found = ctypes.CDLL(None), Found()
    try:
        address = ctypes.cast(getattr(shared, symbol), ctypes.c_void_p)
    except AttributeError:
        return None
    shared.dladdr(address, ctypes.byref(found))
    return os.path.realpath(os.fsdecode(found.file)) if found.file else "the program"
