"""Memory of programs is used again: no page faults in steady state, bounded, and nothing of one array in another."""

from __future__ import annotations

import ctypes
import random
import threading
from pathlib import Path

import numpy as np
import pytest
from support.memory_programs import run

import ragged_dialect as rg
from ragged_dialect.compiler.loading import runtime
from ragged_dialect.host_memory import copied, room
from ragged_dialect.runtime import memory

MIB = 1 << 20


def the_pool() -> memory.Pool:
    """That of this process."""
    runtime()
    return memory._pools[0]


STEADY = """
x, p = rows(12), pool()
calls = [lambda: x * 2 + 1, lambda: rg.softmax(x, axis=1), lambda: x.to_padded(0.0), lambda: rg.concat([x, x])]
for call in calls:
    for _ in range(3):
        call()
    made, before = p.made, resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        call()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert p.made == made, (p.made, made)
    assert faults < 20, faults  # 12 MiB are 3072 pages
"""


@pytest.mark.sampled(2)
@pytest.mark.parametrize("threads", ["1", "3"])
def test_no_page_faults_in_steady_state(threads: str) -> None:
    if threads == "1":
        run(STEADY, RAGGED_NUM_THREADS=threads)
    else:  # threads have stacks of their own
        run(STEADY.replace("faults < 20", "faults < 400"), RAGGED_NUM_THREADS=threads)


COPIES = """
p, n, e, h = pool(), 4096, 8, 64
x, scores = np.ones((n, h), np.float32), np.ones((n, e), np.float32)
experts = [np.ones(shape, np.float32) for shape in ((e, h, 2 * h), (e, h, 2 * h), (e, 2 * h, h))]
dense, one = np.ones((n, h), np.float32), rows(1)
square = lambda x: x * x
same = rg.jit(lambda x: [x * 2] * 2)
moe = rg.jit(lambda *args: rg.nn.moe(*args, k=2, owned=(e,)))
calls = [
    lambda: moe(x, scores, *experts),  # what is sent early and what came
    lambda: same(one),  # one allocation, two results
    lambda: rg.vjp(square, dense)[1](dense),  # arguments that may change until the pullback
]
for call in calls:
    for _ in range(3):
        call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        call()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults < 5 * 40, faults  # 256 pages or more are copied at once
"""


def test_copies_are_in_memory_that_is_used_again() -> None:
    run(COPIES, RAGGED_NUM_THREADS="1", MALLOC_MMAP_THRESHOLD_=str(128 << 10))  # which does not grow then


EARLY = """

from ragged_dialect.host_memory import copied, room
early = room((MIB,), np.dtype(np.uint8))
early[:] = 7
p = pool()
late = copied(early.reshape(2, -1).T)
view = late[3:]
assert (late == 7).all() and late.flags.c_contiguous and late.flags.writeable
del early, late
assert (view == 7).all()
held = p.held
del view
assert p.held >= held + MIB, (held, p.held)
try:
    room((1 << 45,), np.dtype(np.int64))
except MemoryError as error:
    print(error)
"""


def test_arrays_in_the_memory_of_programs() -> None:
    """One that is older than the pool goes back to where it came from."""
    assert run(EARLY) == f"expected memory for {1 << 48} bytes, got none\n"


CHOSEN_AMID = """
import sys
from ragged_dialect import host_memory
from ragged_dialect.compiler.loading import runtime

lines = []

def trace(frame, event, _):
    if frame.f_code is not host_memory._Memory.__init__.__code__:
        return None
    if event == "line":
        lines.append(frame.f_lineno)
        if len(lines) == 2:
            sys.settrace(None)
            runtime()
    return trace

sys.settrace(trace)
made = host_memory.room((MIB,), np.dtype(np.uint8))
assert memory._pools
made[:] = 7
del made
"""


def test_a_pool_that_is_chosen_while_memory_is_taken() -> None:
    """By another thread, whose first program it is: memory does not go to the pool that is not of it."""
    run(CHOSEN_AMID)


def test_arrays_that_are_none_of_plain_memory() -> None:
    references = np.array([("of", k) for k in range(20_000)] + [None], object)
    assert copied(references)[:-1].tolist() == [("of", k) for k in range(20_000)]
    for rows in (2**61, 2**61 + MIB):
        with pytest.raises(MemoryError, match=f"expected memory for {8 * rows} bytes, got none"):
            room((rows,), np.dtype(np.int64))


BOUNDED = """
p = pool()
limit = int(os.environ["RAGGED_POOL_BYTES"])
for k in range(60):
    x = rows(1 + k % 17)
    y = x * 2
    z = y + x
    del y, z
    assert 0 <= p.held <= limit, p.held
assert p.held > limit // 2
p.limit(3 * MIB)
assert p.held <= 3 * MIB
"""


def test_the_pool_is_bounded() -> None:
    run(BOUNDED, RAGGED_POOL_BYTES=str(20 * MIB))


def test_no_pool() -> None:
    code = "assert (rows(1) * 2).values.sum() == 2 * 16 * MIB // 64\nassert not memory._pools\nrg.release_memory()"
    run(code, RAGGED_POOL_BYTES="0")


@pytest.mark.parametrize("text", ["-1", "1.5", "1e9", "many", "9" * 30])
def test_sizes_that_are_none(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_POOL_BYTES", text)
    with pytest.raises(rg.CompileError, match=f"expected RAGGED_POOL_BYTES of at least 0, got '{text}'"):
        memory.pool_bytes()


def test_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGGED_POOL_BYTES", "123")
    assert memory.pool_bytes() == 123
    monkeypatch.delenv("RAGGED_POOL_BYTES")
    assert MIB < memory.pool_bytes() <= 1 << 30


GROUPS = {
    "version 2": ("0::/a/b\n", {"sys/fs/cgroup/a/b/memory.max": "max\n", "sys/fs/cgroup/a/memory.max": "700\n"}),
    "version 1": ("4:memory:/host\n0::/\n", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "700\n"}),
    "both": (
        "5:cpu,cpuacct:/\n4:memory:/a\n",
        {
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": "700\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        },
    ),
}
"""What a process sees of its groups: their names, and the files with limits."""


@pytest.mark.parametrize("version", GROUPS)
def test_limits_of_control_groups(version: str, tmp_path: Path) -> None:
    names, files = GROUPS[version]
    for name, text in {"proc/self/cgroup": names, **files}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert min(memory.group_limits(tmp_path)) == 700


def test_no_control_groups(tmp_path: Path) -> None:
    assert not list(memory.group_limits(tmp_path))


def test_a_limit_of_addresses() -> None:
    code = "resource.setrlimit(resource.RLIMIT_AS, (MIB << 12, MIB << 12)); print(memory.total_memory())"
    assert int(run(code)) <= MIB << 12


RELEASED = """
p, x = pool(), rows(64)
y = x * 2
full = resident()
del y
assert p.held >= 64 * MIB and resident() > full - 8 * MIB
rg.release_memory()
assert p.held == 0 and resident() < full - 56 * MIB
"""


def test_released_memory_is_the_systems() -> None:
    run(RELEASED)


NO_POOL = """
rows(1).sum(1)
x = rows(12)
for _ in range(3):  # the C library keeps what it was given back of this size from then on
    kept = [x * k for k in range(6)]
    wall = x * 7
    del kept
full = resident()
rg.release_memory()
assert not memory._pools and resident() < full - 24 * MIB, (full, resident())
"""


def test_without_a_pool_memory_is_released() -> None:
    run(NO_POOL, RAGGED_POOL_BYTES="0")


LOW = """
p, x = pool(), rows(40)
kept = [x * 2 for _ in range(6)]
del kept
assert p.held > 240 * MIB
size = int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
resource.setrlimit(resource.RLIMIT_AS, (size + 60 * MIB, resource.RLIM_INFINITY))
y = rg.concat([x, x])
assert p.held < 40 * MIB and float(y.values[-1, -1]) == 1
try:
    rg.concat([y, y, y, y])
except rg.AllocationError as error:
    print(error)
assert (x + 1).values[0, 0] == 2
"""


def test_the_pool_is_emptied_where_there_is_no_memory() -> None:
    assert "expected memory for" in run(LOW)


FORKED = """
x, p = rows(2), pool()
done = threading.Event()

def work():
    while not done.is_set():
        x * 2 + 1

threads = [threading.Thread(target=work) for _ in range(2)]
[thread.start() for thread in threads]
for _ in range(8):
    child = os.fork()
    if child == 0:
        fine = all((x * 2 + k).values[0, 0] == 2 + k for k in (1, 2, 3))
        rg.release_memory()
        os._exit(0 if fine else 3)
    assert os.waitpid(child, 0)[1] == 0
done.set()
[thread.join() for thread in threads]
"""


@pytest.mark.filterwarnings("ignore:.*multi-threaded")
def test_children_of_processes_with_threads() -> None:
    run("import warnings\nwarnings.simplefilter('ignore')\n" + FORKED)


def test_buffers_of_every_size() -> None:
    pool = the_pool()
    for size in [0, 1, 4079, 4080, 4081, 4096, 5000, *(2**k + d for k in range(12, 23) for d in (-17, -16, -15, 0, 1))]:
        made = [pool.take(size) for _ in range(3)]
        assert len({*made}) == 3
        for address in made:
            assert address
            assert address % 16 == 0
            ctypes.memset(address, 0x5A, size)
        for address in made:
            pool.give(address)
    assert pool.take(2**62) is None
    assert pool.take(2**64 - 1) is None
    pool.give(None)


def test_a_buffer_is_used_again() -> None:
    pool = the_pool()
    pool.release()
    first = pool.take(100_000)
    assert pool.held == 0
    pool.give(first)
    assert 100_000 < pool.held <= 112_640
    assert pool.take(101_000) == first
    assert pool.held == 0
    pool.give(first)
    pool.release()
    assert pool.held == 0


def test_more_buffers_of_a_class_than_places() -> None:
    pool = the_pool()
    pool.release()
    made = [pool.take(10_000) for _ in range(100)]
    for address in made:
        pool.give(address)
    assert 0 < pool.held < 100 * 10_000
    pool.release()
    assert pool.held == 0


def test_threads_have_buffers_of_their_own() -> None:
    pool, wrong = the_pool(), list[int]()

    def work(number: int) -> None:
        rng, held = random.Random(number), list[tuple[int, int]]()
        for _ in range(2000):
            if held and rng.random() < 0.5:
                address, size = held.pop(rng.randrange(len(held)))
                ends = ctypes.string_at(address, 8) + ctypes.string_at(address + size - 8, 8)
                if ends != bytes([number]) * 16:
                    wrong.append(number)
                pool.give(address)
            else:
                size = rng.choice((4000, 5000, 9000, 70_000))
                address = pool.take(size)
                ctypes.memset(address, number, 8)
                ctypes.memset(address + size - 8, number, 8)
                held.append((address, size))
                if rng.random() < 0.01:
                    pool.release()
        for address, _ in held:
            pool.give(address)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    pool.release()
    assert pool.held == 0


def test_results_that_are_alive_are_nobody_elses() -> None:
    x = rg.from_offsets(np.arange(40_000, dtype=np.float64), [0, 7, 40_000])
    kept = [x + k for k in range(5)]
    for k in range(20):
        del kept[k % 5 : k % 5 + 1]
        kept.insert(k % 5, x + k)
    for k, array in enumerate(kept):
        np.testing.assert_array_equal(array.values, np.arange(40_000) + 15 + k)


HOLES = """
import ctypes
from support.allocators import install

class Marked:
    "The C library's memory, every byte of which is 0xA7"
    def __init__(self):
        self.c = ctypes.CDLL(None)
        self.c.malloc.restype, self.c.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        self.c.free.argtypes = [ctypes.c_void_p]
    def allocate(self, size):
        address = self.c.malloc(size)
        ctypes.memset(address, 0xA7, size)
        return address
    def free(self, address):
        self.c.free(address)

install(Marked())
values = np.random.default_rng(1).standard_normal((40, 4)).astype(np.float32)
windows = rg.from_starts_lengths(values, [3, 10, 30, 12], [4, 2, 7, 0])
overlap = rg.from_starts_lengths(values, [3, 4, 5], [6, 6, 6])
rows = rg.from_offsets(values, [0, 3, 3, 20, 40])
calls = [
    lambda x: x * 2 + x, lambda x: x.sum(1), lambda x: rg.softmax(x, axis=1), lambda x: rg.cumsum(x, axis=1),
    lambda x: x.to_padded(0.0), lambda x: x.to_padded(0.0, 30), lambda x: x[:, 1:], lambda x: x[[2, 0]],
    lambda x: rg.concat([x, x], axis=1), lambda x: rg.compact(x), lambda x: rg.logsumexp(x, axis=1),
    lambda x: x.split(1, 4) + 1, lambda x: x[x.sum(2) > 0], lambda x: x @ np.ones((4, 3), np.float32),
    lambda x: x.max(1),
]

def arrays(result):
    if isinstance(result, np.ndarray):
        return [result]
    return [result.buffer.array, *(vector for axis in result.axes if axis is not None for vector in axis.vectors)]

for call in calls:
    for x in (windows, overlap, rows):
        for array in arrays(call(x)):
            assert bytes([0xA7] * 4) not in array.tobytes(), array
print(len(calls))
"""


def test_no_result_has_bytes_of_another_array() -> None:
    """Where values are windows of a larger storage, results have no rows between them."""
    assert run(HOLES).strip() == "15"
