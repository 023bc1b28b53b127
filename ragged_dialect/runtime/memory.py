"""The memory of programs on the CPU: where it comes from, and the error when there is none."""

from __future__ import annotations

import ctypes
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ragged_dialect.errors import AllocationError, RaggedError

_c: Any = ctypes.CDLL(None)

allocate = _c.malloc
"""Takes memory for programs, from any thread: `(size) -> address`, 0 when there is none."""

free = _c.free
"""Takes back what `allocate` gave: the results of programs too."""

free.argtypes = [ctypes.c_void_p]
free.restype = None

_COUNTED = 2**63 - 1


def no_memory(name: str, size: int) -> AllocationError:
    """The error of a program that had no memory for so many bytes; the largest size stands for more
    than can be counted."""
    if size == _COUNTED:
        return AllocationError(f"{name}: expected a buffer of less than 2**63 bytes, got a larger one")
    return AllocationError(f"{name}: expected memory for {size} bytes, got none")


def explained(name: str, error: Exception) -> AllocationError:
    """A lack of memory outside of the program as the same error."""
    if isinstance(error, AllocationError):
        return error
    return AllocationError(f"{name}: expected enough memory, got: {error}")


@contextmanager
def enough(name: str) -> Generator[None]:
    """AllocationError for arrays of sizes from data that there is no memory for, or that no memory could hold."""
    try:
        yield
    except MemoryError as error:
        raise explained(name, error) from None
    except (ValueError, OverflowError) as error:
        if isinstance(error, RaggedError) or not any(text in str(error) for text in _TOO_BIG):
            raise
        raise explained(name, error) from None


_TOO_BIG = ("too big", "too large", "Maximum allowed")
"""How NumPy says that a size is none that an array can have."""
