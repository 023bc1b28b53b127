"""The threads of a process: one pool for all programs and callers, made anew in children."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.processes import python

START = """
import os, threading, time, warnings
import numpy as np
import ragged_dialect as rg

warnings.simplefilter("ignore")  # of forks beside threads

def rows(lengths):
    "An array with components of these lengths"
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    values = np.random.default_rng(3).standard_normal((int(offsets[-1]), 16)).astype(np.float32)
    return rg.from_offsets(values, offsets)

def tasks():
    "The threads that this process has"
    return len(os.listdir("/proc/self/task"))

def softmax(x):
    return rg.softmax(x, axis=1).values.tobytes()

def child(work):
    "Whether work is fine in a child, and does not hang"
    number = os.fork()
    if number == 0:
        code = 3
        try:
            code = 0 if work() else 4
        finally:
            os._exit(code)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        done, status = os.waitpid(number, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.002)
    os.kill(number, 9)
    return False

x = rows([100] * 200)
before = tasks()
expected = softmax(x)
assert tasks() == before + 2, (before, tasks())
"""


@pytest.fixture(scope="module", autouse=True)
def expected(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """What softmax gives in a first process, which leaves a cache: the others link what it compiled."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAGGED_CACHE", "1")
        patch.setenv("RAGGED_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))
        yield run(DIGEST)


DIGEST = """
import hashlib, sys
print(hashlib.sha256(expected).hexdigest())
"""


def run(code: str) -> str:
    """What a program prints in a process of its own, on three threads."""
    return python("-c", START + code, RAGGED_NUM_THREADS="3").stdout


LIFE = """
# One pool for all programs: two helpers beside the caller, whatever runs.
for axis in (1, 2):
    x.sum(axis), rg.softmax(x * 2, axis=axis)
assert tasks() == before + 2, tasks()

# Small loops make none, large ones as many as are wanted.
os.environ["RAGGED_NUM_THREADS"] = "6"
f = rg.jit(lambda a: np.exp(a) + a)
f(rows([3, 4]))
assert tasks() == before + 2, tasks()
f(x)
assert tasks() == before + 5, tasks()

def helped(seconds):
    "Whether helpers do a part of the work, in calls with pauses in which they go to sleep"
    end = time.monotonic() + seconds
    own, whole = time.thread_time(), time.process_time()
    while time.monotonic() < end:
        rg.softmax(x, axis=1)
        time.sleep(0.001)
        if (time.process_time() - whole) - (time.thread_time() - own) > 0.01:
            return True
    return False

assert helped(30)
time.sleep(0.05)
start = time.process_time()
time.sleep(0.2)
assert time.process_time() - start < 0.1  # nobody spins
assert helped(30)
"""


def test_helpers_are_made_sleep_and_are_woken() -> None:
    run(LIFE)


def test_a_program_of_an_older_process(expected: str) -> None:
    """It calls the pool of the process that links it."""
    assert run(DIGEST + "assert 'ragged_dialect.compiler.machine_code' not in sys.modules") == expected


FORKS = """
def again(depth):
    if tasks() != 1 or softmax(x) != expected or tasks() != 3:
        return False
    return depth == 0 or child(lambda: again(depth - 1))

assert child(lambda: again(2))  # a child has helpers of its own, and so has its child
assert softmax(x) == expected

os.environ["RAGGED_NUM_THREADS"] = "1"
single = rg.jit(lambda a: rg.softmax(a, axis=1))
single(rows([1]))
assert child(lambda: single(x).values.tobytes() == expected and tasks() == 1)  # one thread makes none

done = threading.Event()

def work():
    while not done.is_set():
        assert softmax(x) == expected

threads = [threading.Thread(target=work) for _ in range(3)]
[thread.start() for thread in threads]
fine = [child(lambda: softmax(x) == expected and tasks() >= 3) for _ in range(8)]
done.set()
[thread.join() for thread in threads]
assert all(fine), fine
"""


def test_forks() -> None:
    run(FORKS)


def test_threads_that_cannot_be_made() -> None:
    """Loops run all the same, and the helpers come once they can."""
    run("""
import resource
limit = resource.getrlimit(resource.RLIMIT_AS)
os.environ["RAGGED_NUM_THREADS"] = "40"
f = rg.jit(lambda a: rg.softmax(a, axis=1))
f(rows([2, 3]))
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + (20 << 20), limit[1]))
assert f(x).values.tobytes() == expected
assert tasks() < before + 39, tasks()
resource.setrlimit(resource.RLIMIT_AS, limit)
assert f(x).values.tobytes() == expected
assert tasks() == before + 39, tasks()
""")


def test_equal_bits_whatever_the_lengths() -> None:
    """On one to four threads, and on more than there are components."""
    run("""
functions = []
for threads in (1, 2, 3, 4, 300):
    os.environ["RAGGED_NUM_THREADS"] = str(threads)
    f = rg.jit(lambda a: (rg.softmax(a, axis=1), rg.cumsum(a, axis=1), a.sum(1)))
    f(x)
    functions.append(f)
rng = np.random.default_rng(5)
uniform, skewed = [40] * 300, (rng.lognormal(0, 2, 300) * 20).astype(int)
for lengths in (uniform, skewed, [1] * 100 + [12000] + [0] * 100 + [2]):
    y, found = rows(lengths), set()
    for f in functions * 3:
        found.add(b"".join(np.asarray(getattr(r, "values", r)).tobytes() for r in f(y)))
    assert len(found) == 1
""")


CALLERS = """
# More callers than the pool has places for loops: every call has its own result.
wrong = []
arrays = [rows([50 + k] * 150) for k in range(24)]
wanted = [softmax(a) for a in arrays]

def work(k):
    for _ in range(6):
        if softmax(arrays[k]) != wanted[k] or softmax(x) != expected:
            wrong.append(k)

threads = [threading.Thread(target=work, args=(k,)) for k in range(24)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert not wrong, wrong

# The pool itself: loops in loops, deeper than there are places, and tiles that cover every range once.
import ctypes
from ragged_dialect.compiler.loading import runtime
from ragged_dialect.lowering.runtime.thread_pool import SHARE

Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
share = ctypes.CFUNCTYPE(None, Body, ctypes.c_void_p, *[ctypes.c_int64] * 4)(runtime().addresses[SHARE])

def counted(n, work, depth, threads, tile=0):
    "How often every iteration of loops in loops is run"
    seen, lock, failed = [0] * n, threading.Lock(), []
    def body(_, lo, hi):
        for k in range(lo, hi):
            if depth and counted(3, 10**6, depth - 1, threads) != [1] * 3:
                failed.append(k)
            with lock:
                seen[k] += 1
    share(Body(body), None, n, work, tile, threads)
    assert not failed
    return seen

for depth in (3, 5):
    assert counted(3, 10**6, depth, 3) == [1] * 3
for n in (2, 3, 100, 700):
    for work in (0, n, 2**20, 2**62, -1):
        for threads in (2, 3, 300):
            for tile in (0, 1, 2**10, 2**62):
                assert counted(n, work, 0, threads, tile) == [1] * n
"""


def test_many_callers_and_loops_in_loops() -> None:
    run(CALLERS)


RANGES = """
import ctypes
from ragged_dialect.compiler.loading import runtime
from ragged_dialect.lowering.runtime.thread_pool import SHARE

Body = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
share = ctypes.CFUNCTYPE(None, Body, ctypes.c_void_p, *[ctypes.c_int64] * 4)(runtime().addresses[SHARE])
for n in (64, 65):
    taken, both = {}, threading.Barrier(2)

    def body(_, lo, hi):
        own = taken.setdefault(threading.get_ident(), [])
        if not own:
            both.wait(20)
        own.append(lo)

    share(Body(body), None, n, n << 14, 0, 2)
    caller = taken.pop(threading.get_ident())
    (helper,) = taken.values()
    assert caller[0] == 0 and helper[0] == (n + 1) // 2, (caller, helper)
    assert sorted(caller + helper) == list(range(n))
"""


def test_threads_begin_in_ranges_of_their_own() -> None:
    run(RANGES)
