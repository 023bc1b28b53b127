"""Checks of one memory access: bounds, alignment, races, uninitialised reads. Compiled, see `native.py`.

Every granule of tracked memory has three tags: of its last store, of loads, of atomics. A tag says
when and by whom: epoch (32 bits, counts blocks and barriers over all launches), epoch of the warp
(19 bits), flags (3 bits), thread (10 bits). Loads by several threads share a tag: that of the last
one, with flags for the others where they matter still. Tags from before the launch mean nothing, so
shadow memory is never cleared.
"""

from __future__ import annotations

from ragged_dialect.emulator.fibers import suspend, warp_at
from ragged_dialect.emulator.state import (
    ATOMIC,
    FAILED,
    INVARIANT_LOAD,
    LOAD,
    LOCAL_RANGE,
    MISALIGNED,
    MOVED,
    OUT_OF_BOUNDS,
    RACE,
    READ_ONLY,
    SHARED_RANGES,
    STORE,
    UNINITIALISED,
    ZERO_DIVISOR,
    Granule,
    Range,
    State,
    Thread,
    Warp,
)
from ragged_dialect.emulator.words import address, fill, load64, load_bytes

THREAD_BITS = 0x3FF
WARP_OF_THREAD = 0x3E0
OTHER_BLOCK = 1 << 10
MANY_WARPS = 1 << 11
MANY_LANES = 1 << 12
WARP_EPOCH_AT = 13
WARP_EPOCH = 0x7FFFF << WARP_EPOCH_AT


def check(state: State, at: int, size: int, access: int, number: int) -> None:
    """Check an access of `size` bytes: `access` is what it does, plus 256 times the alignment it
    needs less one; `number` is the range it must lie in, counted from 1, or 0 where any may do, or
    stands for those of a state space. No bytes are no access, but of an address that is aligned."""
    if size == 0:
        if at & access >> 8:
            fail(state, MISALIGNED, at, size, access, 0)
        return
    where = Range(find_range(state, at, size, number))
    if address(where) == 0:
        fail(state, OUT_OF_BOUNDS, at, size, access, number)
    if at & access >> 8:
        fail(state, MISALIGNED, at, size, access, range_number(state, where))
    kind = access & 127
    if kind == STORE or kind == ATOMIC:
        if where.read_only:
            fail(state, READ_ONLY, at, size, access, range_number(state, where))
        where.stored = 1
    if kind == INVARIANT_LOAD:
        where.invariant = 1
        kind = LOAD
    if where.written and access & MOVED == 0:
        follow(state, where, at, size, kind, access)
    if where.shadow:
        track(state, where, at, size, kind, access)


def follow(state: State, where: Range, at: int, size: int, kind: int, access: int) -> None:
    """Note what a store writes; what loads read must have been written, by whomever. Atomic accesses may be either."""
    start = where.written + at - where.base
    if kind == STORE or kind == ATOMIC:
        fill(start, 255, size)
        return
    for i in range(0, size + 7 >> 3):
        mask = 0xFFFFFFFFFFFFFFFF
        if size - 8 * i < 8:
            mask = (1 << 8 * (size - 8 * i)) - 1
        if load_bytes(start + 8 * i) & mask != mask:
            fail(state, UNINITIALISED, at, size, access, range_number(state, where))


def check_local(state: State, at: int, size: int, access: int, base: int, total: int) -> None:
    """Check an access to memory of the thread or to a constant: `total` bytes from `base`."""
    state.error_base = base
    state.error_total = total
    if at - base > total or size > total - (at - base):
        fail(state, OUT_OF_BOUNDS, at, size, access, LOCAL_RANGE)
    if at & access >> 8:
        fail(state, MISALIGNED, at, size, access, LOCAL_RANGE)


def check_divisor(state: State, zero: int) -> None:
    """Check a divisor: the host would trap."""
    if zero:
        fail(state, ZERO_DIVISOR, 0, 0, LOAD, 0)


def fail(state: State, error: int, at: int, size: int, access: int, number: int) -> None:
    """Report an access and never come back."""
    state.error = error
    state.error_address = at
    state.error_size = size
    state.error_access = access
    state.error_range = number
    suspend(state, FAILED, 0)


def range_number(state: State, where: Range) -> int:
    """The number of a range, counted from 1."""
    return (address(where) - state.ranges) // Range.stride + 1


def contains(where: Range, at: int, size: int) -> int:
    """Whether a range holds all bytes of an access."""
    offset = at - where.base
    if offset > where.size:
        return 0
    return size <= where.size - offset


def find_range(state: State, at: int, size: int, number: int) -> int:
    """Address of the range that holds an access, 0 where there is none."""
    if number and number < LOCAL_RANGE:
        known = state.ranges + (number - 1) * Range.stride
        return known if contains(Range(known), at, size) else 0
    for i in range(state.range_count):
        candidate = state.ranges + i * Range.stride
        if number and Range(candidate).shared != (number == SHARED_RANGES):
            continue
        if contains(Range(candidate), at, size):
            return candidate
    return 0


def track(state: State, where: Range, at: int, size: int, kind: int, access: int) -> None:
    """Look for races with earlier accesses to the same bytes, and note this one."""
    offset = at - where.base
    last = offset + size - 1 >> where.shift
    own = own_tag(state)
    horizon = state.block_epoch if where.shared else state.launch_epoch
    for i in range(offset >> where.shift, last + 1):
        granule = Granule(where.shadow + i * Granule.stride)
        other = race(state, granule, own, horizon, kind)
        if other:
            state.error_other = other - 1
            state.error_tag = load64(address(granule) + 8 * (other - 1))
            fail(state, RACE, at, size, access, range_number(state, where))
        if kind == STORE:
            granule.stores = own
            continue
        if where.shared and granule.stores >> 32 < horizon:
            fail(state, UNINITIALISED, at, size, access, range_number(state, where))
        if kind == LOAD:
            granule.loads = joined(state, granule.loads, own, horizon)
        # An atomic load races with plain stores only; those before it are what it is checked against.
        if kind == ATOMIC:
            granule.atomics = joined(state, granule.atomics, own, horizon)


def own_tag(state: State) -> int:
    """The tag of what the running thread does now."""
    thread = Thread(state.current)
    warp = Warp(warp_at(state, thread.index // 32))
    return state.epoch << 32 | (warp.epoch << WARP_EPOCH_AT & WARP_EPOCH) | thread.index


def race(state: State, granule: Granule, own: int, horizon: int, kind: int) -> int:
    """The number, from 1, of the tag that an access conflicts with; 0 when there is none."""
    if conflicts(state, granule.stores, own, horizon):
        return 1
    if (kind == STORE or kind == ATOMIC) and conflicts(state, granule.loads, own, horizon):
        return 2
    if (kind == LOAD or kind == STORE) and conflicts(state, granule.atomics, own, horizon):
        return 3
    return 0


def conflicts(state: State, tag: int, own: int, horizon: int) -> int:
    """Whether what a tag stands for is not ordered before the running thread."""
    epoch = tag >> 32
    if epoch < horizon:
        return 0
    if epoch < state.block_epoch or tag & OTHER_BLOCK:
        return 1
    if epoch < state.epoch:
        return 0
    if tag & MANY_WARPS or (tag ^ own) & WARP_OF_THREAD:
        return 1
    if (tag ^ own) & WARP_EPOCH:
        return 0
    return (tag & MANY_LANES) | ((tag ^ own) & THREAD_BITS)


def joined(state: State, tag: int, own: int, horizon: int) -> int:
    """The tag of the accesses so far and that of the running thread."""
    epoch = tag >> 32
    if epoch < horizon:
        return own
    if epoch < state.block_epoch:
        return own | OTHER_BLOCK
    kept = tag & OTHER_BLOCK
    if epoch == state.epoch:
        kept |= tag & MANY_WARPS
        if (tag ^ own) & WARP_OF_THREAD:
            kept |= MANY_WARPS
        elif (tag ^ own) & WARP_EPOCH == 0:
            kept |= tag & MANY_LANES
            if (tag ^ own) & THREAD_BITS:
                kept |= MANY_LANES
    return own | kept
