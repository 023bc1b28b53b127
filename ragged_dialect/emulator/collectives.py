"""Collectives of a warp: shuffles, votes, matches, reductions, matrix instructions. Compiled, see `native.py`.

A collective goes on when all lanes of its mask that have not exited wait at the same instruction.
"""

from __future__ import annotations

from ragged_dialect.emulator.fibers import make_ready, thread_at
from ragged_dialect.emulator.matrices import load_matrices, multiply
from ragged_dialect.emulator.state import (
    ACTIVE_MASK,
    INACTIVE_LANE,
    MATCH_ALL,
    MATCH_ANY,
    MATRICES,
    MULTIPLY_HALF,
    NOT_IN_MASK,
    REDUCE_ADD,
    REDUCE_AND,
    REDUCE_MAX,
    REDUCE_MIN,
    REDUCE_OR,
    REDUCE_UMAX,
    REDUCE_UMIN,
    REDUCE_XOR,
    SHUFFLE_INDEX,
    SHUFFLE_UP,
    SHUFFLE_XOR,
    SOME_LANES,
    SYNC_WARP,
    VOTE_ALL,
    VOTE_ANY,
    VOTE_BALLOT,
    VOTE_UNIFORM,
    State,
    Thread,
    Warp,
)
from ragged_dialect.emulator.words import address, first_bit

SIGN = 0x8000_0000
FULL_WARP = 0xFFFF_FFFF


def same_site(state: State, first: int, lanes: int, leader: Thread) -> int:
    """Those of the waiting lanes that wait where the leader does, with the same mask."""
    group = 0
    while lanes:
        lane = first_bit(lanes)
        lanes &= lanes - 1
        thread = Thread(thread_at(state, first + lane))
        if thread.site == leader.site and thread.mask == leader.mask:
            group |= 1 << lane
    return group


def release_warp(state: State, warp: Warp, first: int) -> int:
    """Resolve what can go on in one warp, whose first thread is `first`; 1 on an error."""
    pending = warp.waiting
    while pending:
        leader = Thread(thread_at(state, first + first_bit(pending)))
        group = same_site(state, first, pending, leader)
        pending &= ~group
        outside = group & ~leader.mask
        if outside:
            return blame(state, NOT_IN_MASK, thread_at(state, first + first_bit(outside)), 0)
        needed = leader.mask & warp.live
        if leader.kind == ACTIVE_MASK:
            needed = group if warp.waiting == warp.live else 1 << 32
        if needed & ~group == 0:
            if resolve(state, warp, first, group, leader):
                return 1
            wake(state, warp, first, group)
    return 0


def blame(state: State, error: int, thread: int, lane: int) -> int:
    """Note an error of a waiting thread; 1."""
    state.error = error
    state.current = thread
    state.error_lane = lane
    return 1


def wake(state: State, warp: Warp, first: int, group: int) -> None:
    """Let the lanes of a group run on."""
    warp.waiting &= ~group
    while group:
        lane = first_bit(group)
        group &= group - 1
        state.waiting_in_warps -= 1
        make_ready(state, first + lane)


def resolve(state: State, warp: Warp, first: int, group: int, leader: Thread) -> int:
    """Give every lane of a complete group its result; 1 on an error."""
    kind = leader.kind
    if kind <= SHUFFLE_XOR:
        return shuffle(state, first, group, kind)
    if kind >= MULTIPLY_HALF:
        if group != FULL_WARP:
            return blame(state, INACTIVE_LANE, thread_at(state, first + first_bit(group)), first_bit(~group))
        if kind >= MATRICES:
            load_matrices(state, first, kind)
        else:
            multiply(state, first, kind)
        return 0
    if kind == SYNC_WARP:
        count = state.thread_count - first
        lanes = (1 << count) - 1 if count < 32 else FULL_WARP
        if lanes & ~leader.mask:
            return blame(state, SOME_LANES, thread_at(state, first + first_bit(group)), 0)
        warp.epoch += 1
        return 0
    if kind == MATCH_ANY:
        match_any(state, first, group)
        return 0
    result = group
    flag = 0
    if kind <= VOTE_BALLOT:
        result = vote(state, first, group, kind)
    elif kind == MATCH_ALL:
        flag = same_value(state, first, group, leader.a) == group
        result = group if flag else 0
    elif kind <= REDUCE_MAX:
        result = reduce(state, first, group, kind)
    while group:
        thread = Thread(thread_at(state, first + first_bit(group)))
        group &= group - 1
        thread.result = result
        thread.flag = flag
    return 0


def same_value(state: State, first: int, group: int, value: int) -> int:
    """The lanes of a group whose operand is `value`."""
    same = 0
    while group:
        lane = first_bit(group)
        group &= group - 1
        same |= (Thread(thread_at(state, first + lane)).a == value) << lane
    return same


def match_any(state: State, first: int, group: int) -> None:
    """For every lane: the lanes with the same operand."""
    rest = group
    while rest:
        thread = Thread(thread_at(state, first + first_bit(rest)))
        rest &= rest - 1
        thread.result = same_value(state, first, group, thread.a)


def vote(state: State, first: int, group: int, kind: int) -> int:
    """all, any, uni or ballot of the lanes' predicates."""
    yes = same_value(state, first, group, 1)
    if kind == VOTE_ALL:
        return yes == group
    if kind == VOTE_ANY:
        return yes != 0
    if kind == VOTE_UNIFORM:
        return (yes == group) | (yes == 0)
    return yes


def combine(x: int, y: int, kind: int) -> int:
    """One step of a reduction of 32-bit words."""
    if kind == REDUCE_ADD:
        return (x + y) & 0xFFFF_FFFF
    if kind == REDUCE_AND:
        return x & y
    if kind == REDUCE_OR:
        return x | y
    if kind == REDUCE_XOR:
        return x ^ y
    if kind == REDUCE_UMIN:
        return x if x < y else y
    if kind == REDUCE_UMAX:
        return x if x > y else y
    if kind == REDUCE_MIN:
        return x if x ^ SIGN < y ^ SIGN else y
    return x if x ^ SIGN > y ^ SIGN else y


def reduce(state: State, first: int, group: int, kind: int) -> int:
    """The reduction of the lanes' operands."""
    result = Thread(thread_at(state, first + first_bit(group))).a
    group &= group - 1
    while group:
        result = combine(result, Thread(thread_at(state, first + first_bit(group))).a, kind)
        group &= group - 1
    return result


def source_lane(lane: int, kind: int, offset: int, clamp: int) -> int:
    """The lane that a shuffle reads, 32 where it is out of the segment (PTX ISA, shfl.sync)."""
    segment = clamp >> 8 & 31
    low = lane & segment
    limit = low | (clamp & 31 & ~segment)
    if kind == SHUFFLE_UP:
        return lane - offset if lane >= limit + offset else 32
    source = lane + offset
    if kind == SHUFFLE_XOR:
        source = lane ^ offset
    elif kind == SHUFFLE_INDEX:
        source = low | (offset & ~segment)
    return source if source <= limit else 32


def shuffle(state: State, first: int, group: int, kind: int) -> int:
    """Every lane gets the operand of another; 1 where that one takes no part."""
    rest = group
    while rest:
        lane = first_bit(rest)
        rest &= rest - 1
        thread = Thread(thread_at(state, first + lane))
        source = source_lane(lane, kind, thread.b & 31, thread.c)
        thread.flag = source < 32
        if source == 32:
            source = lane
        if group >> source & 1 == 0:
            return blame(state, INACTIVE_LANE, address(thread), source)
        thread.result = Thread(thread_at(state, first + source)).a
    return 0
