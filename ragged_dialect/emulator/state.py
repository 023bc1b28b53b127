"""The memory that the scheduler, the checks and the kernels share, and the codes in it."""

from __future__ import annotations

from ragged_dialect.device_model import DEVICE
from ragged_dialect.emulator.words import Struct

MAX_THREADS = DEVICE.block_threads
MAX_ARGUMENTS = 512
# Stacks an odd number of cache lines apart: else their tops would fall into one set of the cache.
STACK_GAP = 320

# Why a thread gave control back: the collectives of a block, then those of a warp.
NEW = 0
FINISHED = 1
FAILED = 2
BARRIER = 3
BARRIER_COUNT = 4
BARRIER_AND = 5
BARRIER_OR = 6
FIRST_WARP_KIND = 16
SHUFFLE_INDEX = 16
SHUFFLE_UP = 17
SHUFFLE_DOWN = 18
SHUFFLE_XOR = 19
VOTE_ALL = 20
VOTE_ANY = 21
VOTE_UNIFORM = 22
VOTE_BALLOT = 23
MATCH_ANY = 24
MATCH_ALL = 25
REDUCE_ADD = 26
REDUCE_AND = 27
REDUCE_OR = 28
REDUCE_XOR = 29
REDUCE_UMIN = 30
REDUCE_UMAX = 31
REDUCE_MIN = 32
REDUCE_MAX = 33
SYNC_WARP = 34
ACTIVE_MASK = 35
MULTIPLY_HALF = 36
MULTIPLY_BFLOAT = 37
MATRICES = 38
MATRICES_TRANSPOSED = 39

# What an access does.
LOAD = 0
STORE = 1
ATOMIC = 2
ATOMIC_LOAD = 3
INVARIANT_LOAD = 4
MOVED = 128
"""Added to what a load does whose value is stored and nothing else: what it reads need not have been written."""

# What went wrong.
NO_ERROR = 0
OUT_OF_BOUNDS = 1
MISALIGNED = 2
READ_ONLY = 3
RACE = 4
UNINITIALISED = 5
INACTIVE_LANE = 6
NOT_IN_MASK = 7
EXITED_AT_BARRIER = 8
DEADLOCK = 9
ZERO_DIVISOR = 10
MANY_COPIES = 11
LARGE_COPY = 12
CHANGED_SOURCE = 13
SOME_LANES = 14

# Stands for memory of the thread and constants, where the number of a range is asked for.
LOCAL_RANGE = 1 << 32
# Stand for any range of a state space.
GLOBAL_RANGES = LOCAL_RANGE + 1
SHARED_RANGES = LOCAL_RANGE + 2

# The copies that a thread may have in flight.
MAX_COPIES = 64
# In place of an epoch: an asynchronous copy that its thread has not waited for.
IN_FLIGHT = 0xFFFF_FFFF

# Orders of threads and blocks.
FORWARD = 0
REVERSE = 1
RANDOM = 2


class State(Struct):
    """The scheduler. Addresses point to arrays of the records below or of words."""

    stack: int
    current: int
    threads: int
    thread_count: int
    live: int
    waiting_at_barrier: int
    waiting_in_warps: int
    ready: int
    ready_count: int
    warps: int
    warp_count: int
    order: int
    random: int
    stacks: int
    stack_size: int
    free_stacks: int
    free_count: int
    copies: int
    frame_words: int
    frame_return: int
    entry: int
    block_x: int
    block_y: int
    block_z: int
    block_size_x: int
    block_size_y: int
    block_size_z: int
    grid_x: int
    grid_y: int
    grid_z: int
    block_count: int
    block_order: int
    block_epochs: int
    shared: int
    shared_size: int
    epoch: int
    block_epoch: int
    launch_epoch: int
    ranges: int
    range_count: int
    strict: int
    error: int
    error_address: int
    error_size: int
    error_access: int
    error_range: int
    error_tag: int
    error_other: int
    error_base: int
    error_total: int
    error_lane: int


class Thread(Struct):
    """One thread of the running block: where it stands, and operands and results of the collective
    that it waits at (`mask`, `a`, `b`, `c` and the registers of its fragments in; `result`, `flag` and what follows
    them out); its asynchronous copies in flight, and how many groups of them it has closed."""

    stack: int
    kind: int
    site: int
    stack_base: int
    index: int
    x: int
    y: int
    z: int
    mask: int
    a: int
    b: int
    c: int
    result: int
    flag: int
    third: int
    fourth: int
    a0: int
    a1: int
    a2: int
    a3: int
    b0: int
    b1: int
    c0: int
    c1: int
    c2: int
    c3: int
    copies: int
    groups: int


class Copy(Struct):
    """An asynchronous copy: the group it belongs to, and `size` bytes of which the first `given` come from `source`,
    the rest are 0. `seen` and what follows are what was there when it was started, `now` the same when it is done."""

    group: int
    target: int
    source: int
    size: int
    given: int
    seen: int
    seen_after: int
    now: int
    now_after: int


class Warp(Struct):
    """32 lanes: those that have not exited, those that wait at a collective of the warp, and how
    often the warp has synchronised since the last barrier."""

    live: int
    waiting: int
    epoch: int


class Range(Struct):
    """Memory a kernel may touch: an argument or a shared buffer. `shadow` is the address of its
    granules (0: races are not looked for), a granule stands for `1 << shift` bytes. `written` is the address
    of its bytes in a map of what was ever written (0: nobody keeps count). `stored` and `invariant` tell what
    the launch did: stores, and loads of what must not change."""

    base: int
    size: int
    shadow: int
    shift: int
    shared: int
    read_only: int
    stored: int
    invariant: int
    written: int


class Granule(Struct):
    """Tags of the last store to some bytes, and of loads and atomic accesses."""

    stores: int
    loads: int
    atomics: int
