"""What many threads ask for is made once, and forks wait for who compiles."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.twice import GOOD, TWICE

import ragged_dialect as rg
from conftest import ROOT
from ragged_dialect import locks
from ragged_dialect.child import in_child
from ragged_dialect.compiler import cpu, device, stored
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions

THREADS = 8
forks = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


def together(work: Callable[[], Any]) -> list[Any]:
    """What every one of several threads gets, which start at the same moment."""
    barrier = threading.Barrier(THREADS)

    def run() -> Any:
        barrier.wait()
        return work()

    with ThreadPoolExecutor(THREADS) as pool:
        return [future.result() for future in [pool.submit(run) for _ in range(THREADS)]]


def test_a_jit_function_compiles_once() -> None:
    x = rg.from_lengths(np.arange(6.0), [1, 2, 3])
    function = rg.jit(lambda a: (a * 3).sum(1))
    assert [y.tolist() for y in together(lambda: function(x))] == [[0, 9, 36]] * THREADS
    assert function.compilations == 1


IN_A_THREAD = """
import threading
from concurrent.futures import ThreadPoolExecutor
import numpy as np
import ragged_dialect as rg
x = rg.from_lengths(np.arange(6.0), [1, 2, 3])
found, threads = [], []
inner = rg.jit(lambda a: a.sum(1))

def nested(a):
    thread = threading.Thread(target=lambda: threads.append((x * 3).values[-1]))
    thread.start()
    thread.join()
    return a * 4

@rg.jit
def f(a):
    with ThreadPoolExecutor(2) as pool:
        found.extend(pool.map(lambda g: g(x).tolist(), [inner, rg.jit(nested)]))
    return a * 2

assert f(x).tolist() == [[0], [2, 4], [6, 8, 10]]
assert threads == [15]
assert found == [[0, 3, 12], [[0], [4, 8], [12, 16, 20]]]
assert (f.compilations, inner.compilations) == (1, 1)
"""


def test_traced_code_may_wait_for_threads_that_compile() -> None:
    subprocess.run([sys.executable, "-c", IN_A_THREAD], check=True, timeout=120)


def test_an_eager_operation_compiles_once() -> None:
    x = rg.from_lengths(np.arange(42.0).reshape(6, 7), [1, 2, 3])  # no other test has rows of 7
    before = rg.compilations()
    assert len(together(lambda: rg.softmax(x, axis=1))) == THREADS
    assert rg.compilations() == before + 1


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", ["text", "bytes", "path"])
def test_compile_compiles_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "twice.mlir"
    path.write_text(TWICE)
    source = {"text": TWICE, "bytes": TWICE.encode(), "path": path}[kind]
    started = _counted(monkeypatch, cpu, "lower_for_cpu")
    assert [f(GOOD)[0].tolist() for f in together(lambda: rg.compile(source))] == [[2, 4, 6]] * THREADS
    assert len(started) == 1
    rg.compile(source)  # nothing is kept
    assert len(started) == 2


def test_kernels_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_CACHE", "0")
    started = _counted(monkeypatch, device, "_lower", stored)
    programs = together(lambda: device.device_program(load_program(TWICE), KernelOptions(arch="sm_90")))
    assert len(started) == 1
    assert len({id(program) for program in programs}) == 1


def _counted(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, asks: Any = None) -> list[None]:
    """An entry per call of a function, which waits until all threads have asked for what it makes; `asks` is the
    module that uses `once`, where it is another."""
    asked = threading.Semaphore(0)
    started: list[None] = []
    asks = asks or module
    once, function = asks.once, getattr(module, name)

    def ask(key: Any, make: Callable[[], Any]) -> Any:
        asked.release()
        return once(key, make)

    def work(*arguments: Any, **options: Any) -> Any:
        started.append(None)
        if len(started) == 1:
            for _ in range(THREADS):
                assert asked.acquire(timeout=60)
        return function(*arguments, **options)

    monkeypatch.setattr(asks, "once", ask)
    monkeypatch.setattr(module, name, work)
    return started


def test_every_thread_gets_the_error() -> None:
    def refused() -> str:
        with pytest.raises(rg.VerifyError) as error:
            rg.compile("not a program")
        return str(error.value)

    assert len(set(together(refused))) == 1


def test_work_that_was_interrupted_is_begun_again() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        locks.once("key", interrupted)
    assert locks.once("key", lambda: 1) == 1


def test_different_work_runs_at_the_same_time() -> None:
    both = threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(locks.once, key, lambda: both.wait(60) >= 0) for key in ("a", "b")]
        assert [future.result() for future in futures] == [True, True]


def test_work_may_contain_work() -> None:
    assert locks.once("key", lambda: locks.once("other", lambda: locks.once("key", lambda: 1))) == 1


COMPILE = {
    "cpu": "rg.jit(lambda a: (a * k + 1).sum(1))(x)",
    "emulator": "rg.compile(TWICE, target='emulator')(GOOD)",
}
FORKS = """
import itertools, os, signal, threading, time, warnings
import numpy as np
import ragged_dialect as rg
from support.twice import GOOD, TWICE

warnings.simplefilter("ignore")
signal.alarm(240)
x, done = rg.from_lengths(np.ones(6), [1, 2, 3]), False
def work(k): {compile}
def forever():
    for k in itertools.count():
        if done: break
        work(k)
work(0)
thread = threading.Thread(target=forever)
thread.start()
children = []
for k in range({count}):
    time.sleep(0.01)
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        work(-k)
        os._exit(0)
    children.append(child)
    if k % 4 == 3:
        assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
        children = []
done = True
thread.join()
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("target", "count"), [("cpu", 8), ("emulator", 4)])
def test_forks_during_compilation(target: str, count: int) -> None:
    """Children compile too, and disturb nobody."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "test")])}
    code = FORKS.format(compile=COMPILE[target], count=count)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr


@forks
def test_a_fork_waits_without_a_deadlock() -> None:
    """The thread that it waits for wants another lock."""
    first, second = locks.lock(), locks.lock()
    taken, freed = threading.Event(), threading.Event()

    def hold() -> None:
        with first:
            taken.set()
            forking.wait()
            with second:
                freed.set()

    forking = threading.Event()
    os.register_at_fork(before=forking.set)  # runs before those that were there
    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if freed.is_set() and first.acquire(blocking=False) and second.acquire(blocking=False) else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@forks
def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the child the lock is free all the same."""
    monkeypatch.setattr(locks, "PATIENCE", 0.05)
    lock, taken, done = locks.lock(), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            taken.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    assert not lock.acquire(blocking=False)
    done.set()
    thread.join()
    assert os.waitpid(child, 0)[1] == 0
    with lock:
        pass


def test_a_thread_that_compiles_may_fork() -> None:
    with locks.lock() as own:
        child = os.fork()
        if child == 0:
            os._exit(0 if own else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_copies_for_work_that_may_crash_wait_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "_take_free", lambda: pytest.fail("expected no lock to be taken"))
    assert in_child(lambda: b"here") == b"here"
