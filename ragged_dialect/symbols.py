"""What functions are called outside a program: in machine code, in C, in Python (plain Python, no MLIR).

A symbol of MLIR is any string. Its mangled form is an identifier everywhere: `rg__`, then the symbol's
bytes in UTF-8. Letters, digits and underscores stay, other bytes are `_XX`, in hexadecimal; an underscore
that would read as one of those is `_5F`. No two symbols have the same form, and nothing of libc, LLVM,
Python or this package starts like it.

    sum -> rg__sum      a b -> rg__a_20b      llvm.exp -> rg__llvm_2Eexp      row_12 -> rg__row_5F12
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ctypes

_PREFIX = "rg__"
_LINKED = frozenset(("main", "end", "edata", "etext"))
_ESCAPED = re.compile(rb"[^A-Za-z0-9_]|_(?=[0-9A-F]{2})")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]*", re.ASCII)


def mangle(symbol: str) -> str:
    """The mangled form of a symbol."""
    return _PREFIX + _ESCAPED.sub(lambda match: b"_%02X" % ord(match[0]), symbol.encode()).decode()


def spell(symbol: str, is_taken: Callable[[str], bool]) -> str:
    """The symbol itself where it is an identifier that is not taken, else its mangled form."""
    free = _PLAIN.fullmatch(symbol) and not symbol.startswith(_PREFIX) and not is_taken(symbol)
    return symbol if free else mangle(symbol)


def in_c_library(name: str) -> bool:
    """Whether a C program has a symbol of this name without asking for it."""
    return name in _LINKED or any(hasattr(library, name) for library in _c_libraries())


@cache
def _c_libraries() -> list[ctypes.CDLL]:
    """Those of glibc, whatever else this process has loaded; all that it has where it runs on another."""
    import ctypes  # start-up time

    found: list[ctypes.CDLL] = []
    for name in ("libc.so.6", "libm.so.6", "libpthread.so.0"):
        try:
            found.append(ctypes.CDLL(name))
        except OSError:
            continue
    return found or [ctypes.CDLL(None)]
