"""Results do not depend on the number of threads, which RAGGED_NUM_THREADS sets."""

from __future__ import annotations

import os
import threading
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.structures import offsets_of, text_of

from ragged_dialect import RuntimeCheckError, compile
from ragged_dialect.execution import thread_count
from ragged_dialect.lowering.thread_ragged_kernels import THRESHOLD
from ragged_dialect.runtime.cpu import CpuFunction

J, S = '#ragged.layout<"dr|d">', '#ragged.layout<"dr">'
X, SCORES = f"tensor<?x?x8xf32, {J}>", f"tensor<?x?xf32, {S}>"
RNG = np.random.default_rng(7)
LENGTHS = np.where(RNG.random(700) < 0.1, 0, RNG.lognormal(3.5, 1, 700)).astype(np.int64)
OFFSETS = offsets_of(LENGTHS.tolist())
VALUES = RNG.standard_normal((int(OFFSETS[-1]), 8), np.float32)

ZERO = "%zero = arith.constant 0.0 : f32"
SOFTMAX = [
    f"%e = ragged.empty %a0 : ({X}) -> {X}",
    f"%0 = linalg.softmax dimension(1) ins(%a0 : {X}) outs(%e : {X}) -> {X}",
]
SUM = [
    ZERO,
    "%c0 = arith.constant 0 : index",
    f"%n = tensor.dim %a0, %c0 : {X}",
    "%e = tensor.empty(%n) : tensor<?x8xf32>",
    "%i = linalg.fill ins(%zero : f32) outs(%e : tensor<?x8xf32>) -> tensor<?x8xf32>",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : tensor<?x8xf32>) dimensions = [1]",
]
TOTAL = [
    ZERO,
    "%e = tensor.empty() : tensor<f32>",
    "%i = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : tensor<f32>) dimensions = [0, 1, 2]",
]
PADDED = [ZERO, f"%0 = ragged.to_padded %a0, %zero : ({X}, f32) -> tensor<?x?x8xf32>"]
ROWS = [
    ZERO,
    f"%e = ragged.empty %a0 {{from = [[0, 0], [0, 1]]}} : ({X}) -> {SCORES}",
    f"%i = linalg.fill ins(%zero : f32) outs(%e : {SCORES}) -> {SCORES}",
    f"%0 = linalg.reduce {{ arith.addf }} ins(%a0 : {X}) outs(%i : {SCORES}) dimensions = [2]",
]
PROGRAMS = {
    "elementwise": ([f"%y = math.exp %a0 : {X}", f"%0 = arith.mulf %y, %a0 : {X}"], X),
    "softmax": (SOFTMAX, X),
    "sum of components": (SUM, "tensor<?x8xf32>"),
    "sum of everything": (TOTAL, "tensor<f32>"),
    "sum of rows": (ROWS, SCORES),
    "to padded": (PADDED, "tensor<?x?x8xf32>"),
}


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


def _most_threads(function: CpuFunction, seconds: float) -> int:
    """The most threads of this process seen while a function runs, until it is more than now."""
    started, most, done = len(os.listdir("/proc/self/task")), 0, threading.Event()
    values = np.tile(VALUES, (8, 1))
    offsets = np.concatenate([OFFSETS[:-1] + k * OFFSETS[-1] for k in range(8)] + [8 * OFFSETS[-1:]])

    def call() -> None:
        while not done.is_set():
            function((values, offsets))

    caller = threading.Thread(target=call)
    caller.start()
    end = time.monotonic() + seconds
    while time.monotonic() < end and most <= started + 1:
        most = max(most, len(os.listdir("/proc/self/task")))
    done.set()
    caller.join()
    return most - started


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="no /proc")
def test_threads_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call runs on its own thread, and with three on two more."""
    assert _most_threads(compiled("softmax", 1, monkeypatch), 0.3) == 1
    assert _most_threads(compiled("softmax", 3, monkeypatch), 20) > 1


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
