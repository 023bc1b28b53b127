"""Work that may crash the process, done in a copy of it."""

from __future__ import annotations

import faulthandler
import os
import resource
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn

from ragged_dialect.locks import unguarded


def in_child(work: Callable[[], bytes], seconds: int | None = None) -> bytes | None:
    """What `work` returns in a forked child; None when the child died, used more than `seconds` of
    processor time, or `work` raised. What it prints to stderr is printed. `work` takes no lock of
    Python code, as another thread may hold it."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = _fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing, seconds)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read()
    return answer if os.waitpid(child, 0)[1] == 0 else None


def _fork() -> int:
    with warnings.catch_warnings(), unguarded():
        # Python warns of the locks that other threads may hold; the child takes none of them.
        warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
        return os.fork()


def _answer(work: Callable[[], bytes], output: int, seconds: int | None) -> NoReturn:
    faulthandler.disable()  # a crash is one of the answers
    status = 1
    try:
        _limit(resource.RLIMIT_CORE, 0)
        if seconds is not None:
            _limit(resource.RLIMIT_CPU, seconds)
        with os.fdopen(output, "wb") as file:
            file.write(work())
        sys.stderr.flush()
        status = 0
    finally:
        os._exit(status)


def _limit(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    resource.setrlimit(what, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
