"""The memory of programs on the CPU: what is kept of it and counted, and the error when there is none."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import mmap
import os
import resource
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, ParamSpec, TypeVar

from ragged_dialect.errors import AllocationError, CompileError, RaggedError
from ragged_dialect.host_memory import Hooks, hooks
from ragged_dialect.runtime.machine_code import MachineCode

P = ParamSpec("P")
T = TypeVar("T")

_c: Any = ctypes.CDLL(None)


class CountedHooks(Hooks):
    """The same memory, counted in bytes as it was asked for: `used` is what has not been given back, `peak` the most
    there was of that since `start`."""

    def __init__(self) -> None:
        super().__init__()
        take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(self._take)
        self.both = take, ctypes.CFUNCTYPE(None, ctypes.c_void_p)(self._give)
        self._changing = threading.Lock()
        self.start()

    def start(self) -> None:
        """Count from here."""
        self._sizes: dict[int | None, int] = {}
        self.used = self.peak = 0

    def _take(self, size: int) -> int | None:
        made = hooks.allocate(size)
        if made:
            with self._changing:
                self._sizes[made] = size
                self.used += size
                self.peak = max(self.peak, self.used)
        return made

    def _give(self, memory: int | None) -> None:
        with self._changing:
            self.used -= self._sizes.pop(memory, 0)
        hooks.free(memory)


class MemoryUse(NamedTuple):
    """Bytes of a call: its arguments, its results with their structures, the most that the program held at one time
    beside its arguments, parts of its results among them, and what is kept beside arguments and results for gradients
    by its arrays of floats; None for a function without derivative."""

    arguments: int
    results: int
    peak: int
    saved: int | None

    @property
    def scratch(self) -> int:
        """What the program held beside arguments and results."""
        return max(self.peak - self.results, 0)


_COUNTED = 2**63 - 1
_LIMIT, _HELD, _MADE = range(3)
_SHARE = 8
_DEFAULT = 1 << 30


class Pool:
    """Memory of programs that is kept for their next calls."""

    def __init__(self, code: MachineCode, take: str, give: str, shrink: str, state: str) -> None:
        """The names are those of the pool's functions in `code`."""
        self._code = code
        self._shrink = ctypes.CFUNCTYPE(None, ctypes.c_int64)(code.address(shrink))
        place = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.address(state))()
        self._state = (ctypes.c_int64 * 3).from_address(place or 0)
        self.take = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_size_t)(code.address(take))
        self.give = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(code.address(give))

    @property
    def held(self) -> int:
        """Bytes that are kept and not used."""
        return self._state[_HELD]

    @property
    def made(self) -> int:
        """How many buffers the C library was asked for."""
        return self._state[_MADE]

    def limit(self, size: int) -> None:
        """Keep so many bytes at most from now on."""
        self._state[_LIMIT] = size
        self._shrink(size)

    def release(self) -> None:
        """Give all that is not used back to the C library."""
        self._shrink(0)


_pools: list[Pool] = []


def use(pool: Pool, size: int) -> None:
    """Let programs take their memory from a pool that keeps `size` bytes at most."""
    pool.limit(size)
    _pools.append(pool)
    hooks.choose(pool.take, pool.give)


def pool_bytes() -> int:
    """What a pool keeps at most: RAGGED_POOL_BYTES, or 1 GiB, an eighth of the memory where that is less. CompileError
    for what is no number of bytes."""
    text = os.environ.get("RAGGED_POOL_BYTES", "")
    if not text:
        return min(_DEFAULT, total_memory() // _SHARE)
    if not text.isdecimal() or len(text) > 20:
        raise CompileError(f"expected RAGGED_POOL_BYTES of at least 0, got '{text}'")
    return min(int(text), _COUNTED)


def total_memory() -> int:
    """Bytes that this process may have: the machine's memory, or what its limit of addresses (`ulimit -v`) or its
    control groups (those of a container) leave of it."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    addresses = resource.getrlimit(resource.RLIMIT_AS)[0]
    return min(machine, *([] if addresses == resource.RLIM_INFINITY else [addresses]), *group_limits(Path("/")))


def group_limits(system: Path) -> Iterator[int]:
    """The limits of the process's control groups and of those that they are in; none where there are no such files.
    In a container the root of a hierarchy is its own group."""
    for line in _text(system / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in _GROUP_LIMITS:
            root, file = _GROUP_LIMITS[controllers]
            group = Path(path.lstrip("/"))
            for place in (group, *group.parents):
                text = _text(system / root / place / file).strip()
                if text.isdecimal():  # "max" is none
                    yield int(text)


_GROUP_LIMITS = {"": ("sys/fs/cgroup", "memory.max"), "memory": ("sys/fs/cgroup/memory", "memory.limit_in_bytes")}
"""Where limits are, by the controllers of a hierarchy: those of version 2 and of version 1 (cgroups(7))."""


def _text(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_text()
    return ""


def release_memory() -> None:
    """Give the memory that programs on the CPU keep for their next calls back to the system. What arrays own
    stays theirs."""
    for pool in _pools:
        pool.release()
    if hasattr(_c, "malloc_trim"):  # glibc keeps what has no mapping of its own, also without a pool
        _c.malloc_trim(0)


COMPILER, LINKER = 128 << 20, 16 << 20
"""More bytes than LLVM takes for a program of some hundred ops, and for its code: without them it ends the process."""


def require(name: str, size: int) -> None:
    """AllocationError where the process may not have so many bytes more, which are not touched, although all that is
    kept has been given back."""
    for given in (False, True):
        if given:
            release_memory()
        with contextlib.suppress(OSError):
            return mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    raise no_memory(name, size)


def no_memory(name: str, size: int) -> AllocationError:
    """The error of a program that had no memory for so many bytes; the largest size stands for more
    than can be counted."""
    if size == _COUNTED:
        return AllocationError(f"{name}: expected a buffer of less than 2**63 bytes, got a larger one")
    return AllocationError(f"{name}: expected memory for {size} bytes, got none")


def explained(name: str, error: Exception) -> AllocationError:
    """A lack of memory outside of the program as the same error."""
    if isinstance(error, AllocationError):
        return error
    return AllocationError(f"{name}: expected enough memory, got: {error}")


class enough:
    """AllocationError for arrays of sizes from data that there is no memory for, or that no memory could hold: of a
    block, or of a function."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, Exception) and _lacks_memory(error):
            raise explained(self._name, error) from None

    def __call__(self, function: Callable[P, T]) -> Callable[P, T]:
        """The function: without an exception it takes no longer."""

        @functools.wraps(function)
        def checked(*arguments: P.args, **parameters: P.kwargs) -> T:
            try:
                return function(*arguments, **parameters)
            except (MemoryError, ValueError, OverflowError) as error:
                if not _lacks_memory(error):
                    raise
                raise explained(self._name, error) from None

        return checked


def _lacks_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError):
        return True
    if isinstance(error, RaggedError) or not isinstance(error, (ValueError, OverflowError)):
        return False
    first: BaseException = error
    while first.__context__ is not None:  # a file that could not be finished after that
        first = first.__context__
    return isinstance(first, MemoryError) or any(text in str(error) for text in _TOO_BIG)


_TOO_BIG = ("too big", "too large", "Maximum allowed")
"""How NumPy says that a size is none that an array can have."""
