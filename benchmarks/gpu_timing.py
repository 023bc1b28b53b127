"""Times of programs on a GPU beside a copy of the same bytes, and PyTorch where it has the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from gpu_cases import Case
from gpu_problems import Problem

_WARM_UP = 5
_FLUSH = 512 << 20
"""Bytes written between calls: several times the L2 cache, and long enough that a call's launches are
queued before it starts."""


class Timer:
    """Times work on the current stream with CUDA events; what is in the cache goes before each call."""

    def __init__(self, cupy: Any) -> None:
        self._cupy = cupy
        self._stream = cupy.cuda.get_current_stream()
        self._flushed = cupy.empty((_FLUSH,), np.uint8)

    def interleave(self, calls: Mapping[str, Callable[[], object]], repetitions: int) -> dict[str, list[float]]:
        """Seconds of every call, taken in turn; the first rounds do not count."""
        found: dict[str, list[float]] = {name: [] for name in calls}
        for round_ in range(_WARM_UP + repetitions):
            for name, call in calls.items():
                seconds = self._once(call)
                if round_ >= _WARM_UP:
                    found[name].append(seconds)
        return found

    def _once(self, call: Callable[[], object]) -> float:
        start, end = self._cupy.cuda.Event(), self._cupy.cuda.Event()
        self._flushed.data.memset_async(0, _FLUSH, self._stream)
        start.record(self._stream)
        call()
        end.record(self._stream)
        self._stream.synchronize()
        return float(self._cupy.cuda.get_elapsed_time(start, end)) / 1e3


def host_seconds(cupy: Any, call: Callable[[], object], repetitions: int) -> float:
    """Seconds until a call has queued its kernels and returns, the least of a few rounds of some calls each: what is
    queued is waited for between rounds only."""
    stream, found = cupy.cuda.get_current_stream(), list[float]()
    for _ in range(3):
        stream.synchronize()
        start = perf_counter()
        for _ in range(repetitions):
            call()
        found.append((perf_counter() - start) / repetitions)
    stream.synchronize()
    return min(found)


def launch_seconds(cupy: Any, repetitions: int) -> float | None:
    """`host_seconds` of one kernel that does nothing, launched by CuPy itself; None where it cannot be compiled."""
    try:
        nothing = cupy.RawKernel('extern "C" __global__ void nothing(const float* x, long long n) {}', "nothing")
        x = cupy.empty((1,), np.float32)
        nothing((1,), (32,), (x, 1))
    except Exception:  # NVRTC is a part of CuPy's wheels that not every installation has
        return None
    return host_seconds(cupy, lambda: nothing((1,), (32,), (x, 1)), repetitions)


def measure(cupy: Any, case: Case, module: Any, problem: Problem, repetitions: int) -> dict[str, Any]:
    """One line of the table: median and least seconds of a program and of its peers, and GB/s of the bytes
    that must be moved."""
    given = case.arguments(problem, cupy)
    entry = getattr(module, module.__all__[0])
    moved = case.bytes(problem)
    source, target = (cupy.empty((max(1, moved // 2),), np.uint8) for _ in range(2))
    calls: dict[str, Callable[[], object]] = {
        "ours": lambda: entry(*given),
        "copy": lambda: target.data.copy_from_device_async(source.data, source.nbytes),
    }
    peer = torch_call(case, given)
    if callable(peer):
        calls["torch"] = peer
    times = Timer(cupy).interleave(calls, repetitions)
    module.synchronize()
    line: dict[str, Any] = {
        "program": case.name,
        "lengths": problem.kind,
        "rows": problem.rows,
        "components": problem.components,
        "longest": problem.longest,
        "bytes": moved,
        "torch_missing": None if callable(peer) else peer,
        "host": host_seconds(cupy, calls["ours"], repetitions),
    }
    for name, seconds in times.items():
        median = float(np.median(seconds))
        line[name] = {"median": median, "least": min(seconds), "gb_per_s": moved / median / 1e9 if median else None}
    return line


def torch_call(case: Case, given: tuple[Any, ...]) -> Callable[[], Any] | str:
    """What does the same in PyTorch, on the same memory; or why there is none."""
    if case.torch is None:
        return "no equal"
    try:
        import torch
    except ImportError:
        return "no PyTorch"
    try:
        call = case.torch(torch, [torch.from_dlpack(x) for x in given if hasattr(x, "shape")])
        call()
    except Exception as error:  # what PyTorch lacks differs by version, and must not end the run
        return type(error).__name__
    return call
