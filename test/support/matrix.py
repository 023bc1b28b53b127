"""The support matrix: every op on every layout, compiled and compared with the reference interpreter.

A cell is a program for one layout, op and variant. It works on a target when the compiled program
agrees with the interpreter on every structure, values and run-time errors alike; it is refused when
a diagnostic says why; anything else is a failure. Cells run in worker processes, so that a crash is
a finding about one cell. With `guards`, on the CPU, every buffer that a program touches lies flush with an
inaccessible page, "before" or "after" it: arguments, results, and what it allocates in between.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import queue
import subprocess
import sys
import threading
import traceback
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from support.allocators import install_guards
from support.matrix_flow import flow_cells
from support.matrix_generic import elementwise_cells, generic_cells
from support.matrix_linalg import linalg_cells
from support.matrix_program import Builder, Sample, Value, samples, typed_shape
from support.matrix_structure import Build, ragged_cells, structure_cells
from support.ptx_sweep import variants
from support.structures import LAYOUTS, assert_same
from support.targets import compile_for

from ragged_dialect.asm.module import parse_module
from ragged_dialect.dialect import context
from ragged_dialect.errors import RuntimeCheckError, VerifyError
from ragged_dialect.passes.pipeline.running import run_pipeline
from ragged_dialect.passes.pipeline.stages import parse_pipeline
from ragged_dialect.reference import RaggedValue, run

COLUMNS = ("d|d", *sorted(LAYOUTS, key=lambda text: (text.replace("|d", ""), len(text))))
TIMEOUT = 120
RTOL, ATOL = 2e-5, 1e-6
EVERY_PTX = "every PTX"
"""A target: all that `support.ptx_sweep` makes of a program."""

Key = tuple[str, str, str]


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: works, refused (with the diagnostic) or failed (with what happened)."""

    key: Key
    status: str
    text: str = ""


def catalogue(layout: str) -> dict[Key, Build]:
    """The cells of a layout by (layout, op, variant)."""
    shape = typed_shape(layout, False)
    if shape.layout.is_dense:
        entries = list(structure_cells(shape))
    else:
        entries = [*ragged_cells(shape), *linalg_cells(shape), *generic_cells(shape)]
        entries += [*elementwise_cells(shape), *flow_cells(shape)]
    cells = {(layout, op, variant): build for op, variant, build in entries}
    assert len(cells) == len(entries)
    return cells


def seed_of(key: Key) -> int:
    """A number for a cell that is the same in every run."""
    return zlib.crc32("/".join(key).encode())


def build_cell(key: Key) -> Builder:
    """The program of a cell: half of them with static dense extents, half with dynamic ones."""
    builder = Builder(key[0], bool(seed_of(key) % 2))
    catalogue_of(key[0])[key](builder)
    return builder


_CATALOGUES: dict[str, dict[Key, Build]] = {}


def catalogue_of(layout: str) -> dict[Key, Build]:
    """`catalogue`, made once."""
    if layout not in _CATALOGUES:
        _CATALOGUES[layout] = catalogue(layout)
    return _CATALOGUES[layout]


def keys(layouts: Iterable[str] = COLUMNS) -> list[Key]:
    """All cells of some layouts."""
    return [key for layout in layouts for key in catalogue_of(layout)]


# One cell ------------------------------------------------------------------------------------------


def run_cell(key: Key, target: str = "cpu", placed: Callable[[Any], Any] = tuple) -> Outcome:
    """Compile a cell for a target and compare it on every structure. `placed` puts the arguments of the
    program elsewhere."""
    builder = build_cell(key)
    text = builder.text()
    try:
        with _quiet():
            functions = dict(variants(text)) if target == EVERY_PTX else {target: compile_for(target)(text)}
    except VerifyError as error:
        return _refusal(key, error, text)
    except Exception as error:
        return Outcome(key, "failed", f"compile: {type(error).__name__}: {error}\n{text}")
    try:
        return Outcome(key, *_compare(builder, functions, placed, text, seed_of(key) % 9973))
    except Exception:
        return Outcome(key, "failed", f"{traceback.format_exc(limit=-3)}\n{text}")


def _refusal(key: Key, error: VerifyError, text: str) -> Outcome:
    first = str(error).splitlines()[0]
    message = first.split("error: ", 1)[-1]
    good = message.startswith("'") and "expected" in message
    return Outcome(key, "refused", message) if good else Outcome(key, "failed", f"text: {error}\n{text}")


def _compare(
    builder: Builder, functions: Mapping[str, Any], placed: Callable[[Any], Any], text: str, seed: int
) -> tuple[str, str]:
    module = parse_module(text, context())
    if "ragged.annotate" in text:
        run_pipeline(module, parse_pipeline("ragged-infer-layouts", module.context))
    right = 0
    for sample in samples(builder.shape, builder.element, seed):
        arguments = builder.arguments(sample)
        wanted, error = _attempt(lambda args=arguments: run(module, "f", args))
        for name, function in functions.items():
            got, failure = _attempt(lambda args=arguments, function=function: function(*placed(args)))
            if error != failure:
                said = f"expected {error or 'no error'}, got {failure or 'no error'}"
                return "failed", f"{name}, {sample.mode}: {said}\n{text}"
            problem = "" if error is not None else _difference(builder, got, wanted)
            if problem:
                return "failed", f"{name}, {sample.mode}: {problem}\narguments {arguments}\n{text}"
        right += error is None
    return ("works", "") if right else ("failed", f"no structure without an error: {error}\n{text}")


def _attempt(call: Any) -> tuple[Any, str | None]:
    out = io.StringIO()
    try:
        with contextlib.redirect_stdout(out), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call()
    except RuntimeCheckError as error:
        return None, str(error)
    return (result, out.getvalue()), None


def _difference(builder: Builder, got: Any, wanted: Any) -> str:
    (result, printed), (expected, text) = got, wanted
    if printed != text:
        return f"expected {text!r} printed, got {printed!r}"
    results = builder.results
    values = () if not results else (result,) if len(results) == 1 else result
    for value, mine, theirs in zip(results, values, expected, strict=True):
        try:
            _assert_equal(value, mine, theirs, builder.exact)
        except AssertionError as error:
            return f"result {value.name}: {error}"
    return ""


def _assert_equal(value: Value, got: Any, expected: Any, exact: bool) -> None:
    if value.shape is None:
        np.testing.assert_array_equal(got, expected)
        return
    if exact:
        assert_same(value.shape, got, expected)
        return
    if value.shape.layout.is_dense:
        _assert_close(got, expected)
        return
    if value.shape.layout.has_windows:
        got, expected = (RaggedValue.from_parts(value.shape, parts).compact().to_parts() for parts in (got, expected))
    for mine, theirs in zip(got[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs)
    _assert_close(got[0], expected[0])


def _assert_close(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got.astype(np.float64), expected.astype(np.float64), rtol=RTOL, atol=ATOL)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """No warnings of the compiler's on the worker's standard error."""
    with contextlib.redirect_stderr(io.StringIO()):
        yield


# Many cells ----------------------------------------------------------------------------------------


def work(guards: str = "") -> None:
    """A worker: reads a key and a target as JSON per line, answers with an outcome per line."""
    placed = install_guards(guards).placed if guards else tuple
    real = os.fdopen(os.dup(1), "w", buffering=1)
    for line in sys.stdin:
        names, target = json.loads(line)
        key = tuple(names)
        try:
            outcome = run_cell(key, target, placed)
        except Exception:
            outcome = Outcome(key, "failed", f"no program: {traceback.format_exc()}")
        real.write(json.dumps([outcome.status, outcome.text]) + "\n")


def worker_environment() -> dict[str, str]:
    """The environment of a process that imports `support`."""
    here = Path(__file__).resolve().parent.parent
    settings = {"RAGGED_NUM_THREADS": "1", "RAGGED_CACHE": "0"}
    return {**os.environ, **settings, "PYTHONPATH": f"{here.parent}{os.pathsep}{here}"}


class _Worker:
    """A worker process that is started again after a crash or a hang."""

    def __init__(self, guards: str) -> None:
        self.process: subprocess.Popen[str] | None = None
        self._guards = guards

    def run(self, key: Key, target: str) -> Outcome:
        process = self.process or self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        try:
            process.stdin.write(json.dumps([key, target]) + "\n")
            process.stdin.flush()
            line = process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            timer.cancel()
        if not line:
            self.process = None
            return Outcome(key, "failed", f"process died with {process.wait()}")
        return Outcome(key, *json.loads(line))

    def _start(self) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", f"from support.matrix import work; work({self._guards!r})"]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=worker_environment(),
        )
        return self.process

    def stop(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            self.process.stdin.close()
            self.process.wait(timeout=TIMEOUT)
            assert self.process.stdout is not None
            self.process.stdout.close()


def run_cells(wanted: Iterable[Key], processes: int = 2, target: str = "cpu", guards: str = "") -> list[Outcome]:
    """Outcomes of cells on a target, in their order."""
    jobs: queue.SimpleQueue[tuple[int, Key] | None] = queue.SimpleQueue()
    cells = list(wanted)
    outcomes: list[Outcome | None] = [None] * len(cells)
    for job in enumerate(cells):
        jobs.put(job)

    def serve() -> None:
        worker = _Worker(guards)
        while (job := jobs.get()) is not None:
            outcomes[job[0]] = worker.run(job[1], target)
        worker.stop()

    threads = [threading.Thread(target=serve) for _ in range(processes)]
    for thread in threads:
        jobs.put(None)
        thread.start()
    for thread in threads:
        thread.join()
    return [outcome for outcome in outcomes if outcome is not None]


def sample_of(share: int, first: int = 0) -> list[Key]:
    """One cell in `share` of every op, spread over the layouts; from another `first` others."""
    by_op: dict[str, list[Key]] = {}
    for key in sorted(keys(), key=seed_of):
        by_op.setdefault(key[1], []).append(key)
    return [key for cells in by_op.values() for key in cells[first % len(cells) :: share]]


__all__ = [
    "COLUMNS",
    "EVERY_PTX",
    "Key",
    "Outcome",
    "Sample",
    "build_cell",
    "keys",
    "run_cell",
    "run_cells",
    "sample_of",
    "work",
]
