"""Calls with arguments that make no sense give a result or a RaggedError that says so, outside and inside of jit."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from support.junk import Call, arrays, call, junk

import ragged_dialect as rg

LEAKS = (rg.CompileError, rg.PassError, rg.VerifyError)
"""What the compiler says of programs that should not have been made."""


def _fault(run: Call) -> str | None:
    """What is wrong with what a call raises, None where nothing is."""
    try:
        run()
    except MemoryError:
        return None
    except Exception as error:
        if not _is_own(error) or (isinstance(error, rg.RaggedError) and not isinstance(error, LEAKS)):
            return None
        return f"{type(error).__name__}: {str(error)[:200]}"
    return None


def _is_own(error: Exception) -> bool:
    """Whether an error comes from this package, and not from what NumPy or Python check before they call it."""
    frame = error.__traceback__
    while frame is not None:
        if "/ragged_dialect/" in frame.tb_frame.f_code.co_filename:
            return True
        frame = frame.tb_next
    return False


def _run(seed: int, count: int, first: Sequence[Any] | None = None) -> list[str]:
    random_ = random.Random(seed)
    found: list[str] = []
    for _ in range(count):
        text, run = call(random_, arrays() if first is None else first, junk())
        fault = _fault(run)
        found += [] if fault is None else [f"{text}\n    {fault}"]
    return found


def _run_traced(seed: int, count: int) -> list[str]:
    """The calls inside one jit function, which never gets so far as to be compiled."""
    found: list[str] = []

    @rg.jit
    def traced(*given: Any) -> Any:
        found.extend(_run(seed, count, given))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        traced(*arrays())
    return found


def test_calls_with_junk() -> None:
    assert not _run(0, 150)


def test_calls_with_junk_in_jit() -> None:
    assert not _run_traced(0, 400)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 9))
def test_many_calls_with_junk(seed: int) -> None:
    found = _run(seed, 500) + _run_traced(seed, 2000)
    assert not found, "\n".join(found)
