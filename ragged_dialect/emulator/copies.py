"""Asynchronous copies to shared memory, `cp.async` (PTX ISA 9.7.9.25.3). Compiled, see `native.py`.

A copy is made as late as may be: when its thread waits for the group that it is in. Until then its target belongs to
nobody: its shadow says `IN_FLIGHT`, which races with every access, that of the thread itself included. Its source may
not change: what is there when the copy is made has to be what was there when it was started.
"""

from __future__ import annotations

from ragged_dialect.emulator.checking import OTHER_BLOCK, fail, find_range, own_tag
from ragged_dialect.emulator.fibers import thread_at
from ragged_dialect.emulator.state import (
    CHANGED_SOURCE,
    IN_FLIGHT,
    LARGE_COPY,
    LOAD,
    MANY_COPIES,
    MAX_COPIES,
    SHARED_RANGES,
    STORE,
    Copy,
    Granule,
    Range,
    State,
    Thread,
)
from ragged_dialect.emulator.words import address, copy_bytes, fill

JUNK = 0xFF
SEEN = 40
NOW = 56
"""Where in a `Copy` the bytes of its source are."""


def copy_at(state: State, thread: Thread, number: int) -> int:
    """Address of a copy of a thread."""
    return state.copies + (thread.index * MAX_COPIES + number) * Copy.stride


def mark(state: State, at: int, size: int, tag: int) -> None:
    """Write the tag of the last store to some shared memory."""
    where = Range(find_range(state, at, size, SHARED_RANGES))
    if address(where) == 0 or where.shadow == 0:
        return
    offset = at - where.base
    for i in range(offset >> where.shift, (offset + size - 1 >> where.shift) + 1):
        granule = Granule(where.shadow + i * Granule.stride)
        granule.stores = tag


def start_copy(state: State, target: int, source: int, size: int, given: int) -> None:
    """`cp.async`, whose accesses have been checked."""
    thread = Thread(state.current)
    if given > size:
        fail(state, LARGE_COPY, source, given, size, 0)
    if thread.copies == MAX_COPIES:
        fail(state, MANY_COPIES, target, size, STORE, SHARED_RANGES)
    copy = Copy(copy_at(state, thread, thread.copies))
    thread.copies += 1
    copy.group = thread.groups
    copy.target = target
    copy.source = source
    copy.size = size
    copy.given = given
    copy.seen = 0
    copy.seen_after = 0
    copy_bytes(address(copy) + SEEN, source, given)
    fill(target, JUNK, size)
    mark(state, target, size, IN_FLIGHT << 32 | OTHER_BLOCK | thread.index)


def end_group(state: State) -> None:
    """`cp.async.commit_group`."""
    thread = Thread(state.current)
    thread.groups += 1


def wait_copies(state: State, pending: int) -> None:
    """`cp.async.wait_group`: all groups but the last `pending` are done."""
    thread = Thread(state.current)
    count = thread.copies
    thread.copies = 0
    for i in range(count):
        copy = Copy(copy_at(state, thread, i))
        if copy.group + pending < thread.groups:
            copy.now = 0
            copy.now_after = 0
            copy_bytes(address(copy) + NOW, copy.source, copy.given)
            if copy.now != copy.seen or copy.now_after != copy.seen_after:
                fail(state, CHANGED_SOURCE, copy.source, copy.given, LOAD, 0)
            copy_bytes(copy.target, copy.source, copy.given)
            fill(copy.target + copy.given, 0, copy.size - copy.given)
            mark(state, copy.target, copy.size, own_tag(state))
        else:
            copy_bytes(copy_at(state, thread, thread.copies), address(copy), Copy.stride)
            thread.copies += 1


def drop_copies(state: State) -> None:
    """At the end of a block: nobody waits for them any more."""
    for i in range(state.thread_count):
        thread = Thread(thread_at(state, i))
        for k in range(thread.copies):
            copy = Copy(copy_at(state, thread, k))
            mark(state, copy.target, copy.size, 0)
        thread.copies = 0
        thread.groups = 0
