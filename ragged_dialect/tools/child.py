"""Work that may crash the process, done in a copy of it."""

from __future__ import annotations

import faulthandler
import os
import sys
from collections.abc import Callable
from typing import NoReturn


def in_child(work: Callable[[], bytes]) -> bytes | None:
    """What `work` returns in a forked child; None when the child died or `work` raised. What it
    prints to stderr is printed."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _answer(work, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        answer = file.read()
    return answer if os.waitpid(child, 0)[1] == 0 else None


def _answer(work: Callable[[], bytes], output: int) -> NoReturn:
    faulthandler.disable()  # a crash is one of the answers
    status = 1
    try:
        with os.fdopen(output, "wb") as file:
            file.write(work())
        sys.stderr.flush()
        status = 0
    finally:
        os._exit(status)
