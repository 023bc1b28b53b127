"""Results do not depend on the number of threads, which RAGGED_NUM_THREADS sets."""

from __future__ import annotations

import os
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.structures import text_of
from support.threaded_programs import OFFSETS, PROGRAMS, VALUES, X

from ragged_dialect import RuntimeCheckError, compile
from ragged_dialect.execution import thread_count
from ragged_dialect.lowering.runtime.thread_pool import THRESHOLD
from ragged_dialect.runtime.cpu import CpuFunction


def compiled(program: str, threads: int, monkeypatch: pytest.MonkeyPatch) -> CpuFunction:
    """A program for some number of threads."""
    body, result = PROGRAMS[program]
    monkeypatch.setenv("RAGGED_NUM_THREADS", str(threads))
    return compile(text_of([X], body, [("%0", result)]))


def bits(result: Any) -> list[bytes]:
    """The bytes of a result's arrays."""
    return [part.tobytes() for part in (result if isinstance(result, tuple) else (result,))]


def test_the_data_is_worth_threads() -> None:
    assert VALUES.size > THRESHOLD


@pytest.mark.sampled(7)
@pytest.mark.parametrize("program", PROGRAMS)
def test_equal_bits(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = bits(compiled(program, 1, monkeypatch)((VALUES, OFFSETS)))
    for threads in (2, 7):
        function = compiled(program, threads, monkeypatch)
        for _ in range(3):
            assert bits(function((VALUES, OFFSETS))) == expected


def test_right_with_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    got = compiled("softmax", 3, monkeypatch)((VALUES, OFFSETS))[0]
    for start, stop in pairwise(OFFSETS):
        if stop > start:
            exponents = np.exp(VALUES[start:stop].astype(np.float64) - VALUES[start:stop].max(0))
            np.testing.assert_allclose(got[start:stop], exponents / exponents.sum(0), rtol=1e-5)


def test_calls_from_several_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """They overlap without mixing up their arguments, results or failures."""
    function = compiled("softmax", 2, monkeypatch)
    expected = bits(function((VALUES, OFFSETS)))
    other = bits(function((-VALUES, OFFSETS)))
    bad = OFFSETS + 1
    problems: list[str] = []

    def call(sign: int, wanted: list[bytes]) -> None:
        for _ in range(10):
            if bits(function((sign * VALUES, OFFSETS))) != wanted:
                problems.append("result")
            try:
                function((VALUES, bad))
                problems.append("no error")
            except RuntimeCheckError as error:
                if str(error) != "argument 0: level 1, component 0: expected offsets[0] == 0, got 1":
                    problems.append(str(error))

    callers = [threading.Thread(target=call, args=args) for args in [(1, expected), (-1, other)] * 2]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    assert problems == []


def test_thread_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_NUM_THREADS", "5")
    assert thread_count() == 5
    for unset in ("", None):
        if unset is None:
            monkeypatch.delenv("RAGGED_NUM_THREADS")
        else:
            monkeypatch.setenv("RAGGED_NUM_THREADS", unset)
        assert thread_count() == len(os.sched_getaffinity(0))
