"""Functions of Python that programs on the CPU call, and what they raise there."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable

STOPPED = -1
"""What a run gives, as the size there was no memory for, of a program that a callback stopped."""


SKEWED = -2
"""What it gives for data of which a component is much longer than the others, where the program shares none."""

CHECKED = -3
"""What it gives for data that a run-time check refuses, of which the call's record tells."""


class _Raised(threading.local):
    """What a callback of the running call raised, by thread."""

    error: BaseException | None = None


_raised = _Raised()
DONE = 0x5AC3_71E9_0D42
"""What a callback gives that did what it shall. Where an interrupt comes before its first line, ctypes gives whatever
is in the memory of the result: any other number is a failure."""


def guarded(function: Callable[..., None], arguments: int) -> object:
    """A function of some int64 as one of ctypes, which gives DONE, or 0 where it raises. Machine code cannot be left by
    an exception: it asks `ragged_require` to end the call, and `stopped` has what was raised, without its frames, which
    have views of memory that the call frees."""

    def call(*given: int) -> int:
        try:
            function(*given)
        except BaseException as error:
            _raised.error = _without_frames(error)
            return 0
        return DONE

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * arguments)(call)


def stopped() -> BaseException:
    """What a callback of the call that ended just now raised."""
    error, _raised.error = _raised.error, None
    return error if error is not None else KeyboardInterrupt("before an exchange")


def _without_frames(error: BaseException) -> BaseException:
    seen: set[int] = set()
    left: list[BaseException | None] = [error]
    while left:
        one = left.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            one.__traceback__ = None
            left += [one.__cause__, one.__context__]
    return error
