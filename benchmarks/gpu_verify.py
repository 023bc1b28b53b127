"""Whether a program on a GPU gives what NumPy does, and refuses what it should."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common import Array
from gpu_cases import COMPONENTS, Case
from gpu_problems import Problem

ALL_ROWS = 1 << 20
ALL_COMPONENTS = 1 << 15
"""Up to that many rows and components every one of these is compared; beyond, a sample of them."""

SAMPLE = 200
LONGEST = 1 << 22
"""Rows of the longest component that NumPy has to work on."""

_CHUNK = 1 << 20
_WHOLE = 1 << 30
_POISON = 0xFF
"""Bytes that make NaN of every type of floats."""


def run(case: Case, module: Any, given: tuple[Any, ...]) -> list[Any]:
    """The results that the case checks, once they and the checks are done."""
    returned = getattr(module, module.__all__[0])(*given)
    module.synchronize()
    arrays = returned if isinstance(returned, tuple) else (returned,)
    return list(arrays[: len(case.results)])


def poison(cupy: Any, size: int) -> None:
    """Leave `size` bytes of NaN, and nothing else, to those who allocate next."""
    cupy.get_default_memory_pool().free_all_blocks()
    buffer = cupy.empty((size,), np.uint8)
    buffer.data.memset_async(_POISON, size, cupy.cuda.get_current_stream())


def verify(cupy: Any, case: Case, module: Any, problem: Problem) -> str | None:
    """What is wrong with a program's results on a problem; None when nothing is."""
    given = case.arguments(problem, cupy)
    free, _ = cupy.cuda.Device().mem_info
    poison(cupy, min(3 * case.bytes(problem) + (1 << 20), free // 2))
    try:
        results = run(case, module, given)
    except module.RaggedError as error:
        return f"{type(error).__name__}: {error}"
    return next(problems(case, problem, results), None)


def problems(case: Case, problem: Problem, results: list[Any]) -> Iterator[str]:
    """What is wrong with results."""
    for number, (kind, result) in enumerate(zip(case.results, results, strict=True)):
        wanted = problem.components if kind == COMPONENTS else problem.rows
        if len(result.shape) == 0 or result.shape[0] != wanted:
            yield f"result {number}: expected {wanted} rows, got shape {result.shape}"
            return
        yield from _not_finite(number, result)
    fetched = [_fetcher(result) for result in results]
    for component in _compared(problem):
        low, high = (int(at) for at in problem.offsets[component : component + 2])
        expected = case.expected(problem, component, low, high)
        for number, (kind, fetch, pair) in enumerate(zip(case.results, fetched, expected, strict=True)):
            got = fetch(component, component + 1)[0] if kind == COMPONENTS else fetch(low, high)
            wrong = _difference(got, *pair, case.tolerance)
            if wrong is not None:
                yield f"result {number}, component {component} (rows {low} to {high}): {wrong}"


def _compared(problem: Problem) -> list[int]:
    """Components to look at: the longest, those at the ends, and random ones."""
    lengths = np.diff(problem.offsets)
    if problem.rows <= ALL_ROWS and problem.components <= ALL_COMPONENTS:
        return list(range(problem.components))
    rng = np.random.default_rng([problem.seed, 4])
    chosen = {0, problem.components - 1, *rng.integers(0, problem.components, SAMPLE).tolist()}
    chosen.update(np.argsort(lengths)[-3:].tolist())
    return sorted(c for c in chosen if lengths[c] <= LONGEST)


def _fetcher(result: Any) -> Callable[[int, int], Array]:
    """A range of rows of a result, on the host; small results are copied once."""
    if result.nbytes <= _WHOLE:
        whole = result.get()
        return lambda low, high: whole[low:high]
    return lambda low, high: result[(slice(low, high),)].get()


def _not_finite(number: int, result: Any) -> Iterator[str]:
    """Elements that were not written, for one."""
    for low in range(0, result.shape[0], _CHUNK):
        part = result[(slice(low, min(low + _CHUNK, result.shape[0])),)].get()
        wrong = np.flatnonzero(~np.isfinite(part))
        if wrong.size:
            row = low + int(np.unravel_index(wrong[0], part.shape)[0])
            yield f"result {number}: expected finite numbers, got {wrong.size} others, first in row {row}"
            return


def _difference(got: Array, wanted: Array, magnitude: Array, tolerance: float) -> str | None:
    if got.shape != wanted.shape:
        return f"expected shape {wanted.shape}, got {got.shape}"
    error = abs(got - wanted)
    over = error > tolerance * magnitude
    if not over.any():
        return None
    at = tuple(int(k) for k in np.argwhere(over)[0])
    return f"at {at}: expected {wanted[at]:.9g}, got {got[at]:.9g} ({int(over.sum())} of {over.size} are off)"


def verify_refusal(cupy: Any, case: Case, module: Any, seed: int) -> str | None:
    """What is wrong with how a program refuses offsets that decrease, and with what it does next."""
    problem = Problem.of("equal", 1000, seed)
    given = list(case.arguments(problem, cupy))
    bad = problem.offsets.copy()
    bad[[1, 2]] = bad[[2, 1]]
    good, given[case.bad_offsets] = given[case.bad_offsets], cupy.asarray(bad)
    text = f"expected offsets[2] >= offsets[1], got {bad[2]} < {bad[1]}"
    try:
        run(case, module, tuple(given))
    except module.RuntimeCheckError as error:
        if not str(error).endswith(text):
            return f"bad offsets: expected an error that ends in '{text}', got: {error}"
    else:
        return f"bad offsets: expected an error that ends in '{text}', got none"
    given[case.bad_offsets] = good
    wrong = next(problems(case, problem, run(case, module, tuple(given))), None)
    return None if wrong is None else f"after bad offsets: {wrong}"
