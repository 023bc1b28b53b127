"""Functions of Python that programs on the CPU call, and what they raise there."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

STOPPED = -1
"""What a run gives, as the size there was no memory for, of a program that a callback stopped."""


class _Raised(threading.local):
    """What a callback of the running call raised, by thread."""

    error: BaseException | None = None


_raised = _Raised()


def guarded(function: Callable[..., None], arguments: int) -> object:
    """A function of some int64 as one of ctypes, which gives 0, or 1 where it raises. Machine code cannot be left by an
    exception: it asks `ragged_require` to end the call, and `stopped` has what was raised."""

    def call(*given: int) -> int:
        try:
            function(*given)
        except BaseException as error:
            _raised.error = error
            return 1
        return 0

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(call)


def stopped() -> BaseException:
    """What a callback of the call that ended just now raised."""
    error, _raised.error = _raised.error, None
    assert error is not None
    return error
