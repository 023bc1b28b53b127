"""What there is no memory for outside of programs: arrays, files, and the compiler."""

from __future__ import annotations

from support.memory_programs import run

MADE = """
import io
n = 2_000_000
values, lengths, offsets = np.ones(n), np.full(n // 2, 2), np.arange(n // 2 + 1) * 2
ids, lists, x = np.repeat(np.arange(n // 2), 2), [[1.0] * 1000] * 2000, rg.from_lengths(values, lengths)
makers = {
    "from_lengths": lambda: rg.from_lengths(values, lengths),
    "from_offsets": lambda: rg.from_offsets(values, offsets),
    "from_starts_lengths": lambda: rg.from_starts_lengths(values, offsets[:-1], lengths),
    "from_row_ids": lambda: rg.from_row_ids(values, ids),
    "empty_like": lambda: rg.empty_like(x),
    "ragged": lambda: rg.ragged(lists),
    "save_npz": lambda: rg.save_npz(io.BytesIO(), x),
}
for name, call in makers.items():
    call()
    failed = 0
    for room in (1, 2, 5, 7, 9, 12, 17):
        resource.setrlimit(resource.RLIMIT_AS, (size() + room * MIB, resource.RLIM_INFINITY))
        try:
            call()
        except rg.AllocationError as error:
            failed += str(error).startswith(f"{name}: expected ")
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert failed, name
"""


def test_arrays_that_there_is_no_memory_for() -> None:
    run(MADE, RAGGED_POOL_BYTES="0", MALLOC_MMAP_THRESHOLD_=str(128 << 10))


COMPILED = """
x = rows(1)
x.sum(1)
p = memory._pools[0]
kept = [rows(9) * 2 for _ in range(2)]
f = rg.jit(lambda x, k: rg.softmax(x, axis=1) * k)
f(x, 2)
for room in (1, 4, 12, 40, 100):
    resource.setrlimit(resource.RLIMIT_AS, (size() + room * MIB, resource.RLIM_INFINITY))
    try:
        rg.jit(lambda x: (x - x.max(1)[:, None]).sum(1) + room)(x)
    except rg.AllocationError as error:
        print(error)
    resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
kept = [rows(8) * k for k in range(10)]
del kept
assert p.held > 75 * MIB  # which the compiler gets
resource.setrlimit(resource.RLIMIT_AS, (size() + 80 * MIB, resource.RLIM_INFINITY))
rg.jit(lambda x: (x - x.min(1)[:, None]).sum(1))(x)
assert p.held < 10 * MIB
"""


def test_the_compiler_without_memory() -> None:
    """LLVM ends the process where there is none."""
    texts = run(COMPILED).splitlines()
    assert texts == ["compile: expected memory for 134217728 bytes, got none"] * 5


OTHERS = """
makers = {
    "emulator": lambda k: rg.jit(lambda x: x * k, target="emulator")(x),
    "ptx-emulator": lambda k: rg.jit(lambda x: x * k, target="ptx-emulator")(x),
    "lower": lambda k: rg.jit(lambda x: x * k).lower(x).stages,
}
for make in makers.values():
    x = rg.from_lengths(np.ones((3, 2)), [2, 1])
    make(0)
    for room in (1, 12, 40):
        resource.setrlimit(resource.RLIMIT_AS, (size() + room * MIB, resource.RLIM_INFINITY))
        try:
            make(room)
        except rg.AllocationError as error:
            print(error)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
"""


def test_other_targets_without_memory() -> None:
    assert run(OTHERS).splitlines() == ["compile: expected memory for 134217728 bytes, got none"] * 9
