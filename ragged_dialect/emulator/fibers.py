"""Threads as fibers: each runs on its own stack until it finishes or waits. Compiled, see `native.py`.

A thread that never waits hands its stack to the next one, so that kernels without collectives use
one stack that stays in the cache.
"""

from __future__ import annotations

from ragged_dialect.emulator.state import (
    FAILED,
    FINISHED,
    FIRST_WARP_KIND,
    NEW,
    RANDOM,
    REVERSE,
    State,
    Thread,
    Warp,
)
from ragged_dialect.emulator.words import address, load64, store64, switch_stack


def thread_at(state: State, index: int) -> int:
    """Address of a thread of the block."""
    return state.threads + index * Thread.stride


def warp_at(state: State, index: int) -> int:
    """Address of a warp of the block."""
    return state.warps + index * Warp.stride


def suspend(state: State, kind: int, site: int) -> None:
    """Called by a kernel: the running thread waits at a collective, or is done."""
    thread = Thread(state.current)
    thread.kind = kind
    thread.site = site
    switch_stack(address(thread), state.stack)


def make_ready(state: State, index: int) -> None:
    """Let a thread run in the next round."""
    store64(state.ready + 8 * state.ready_count, index)
    state.ready_count += 1


def next_random(state: State) -> int:
    """A pseudo-random word (xorshift)."""
    x = state.random
    x ^= x << 13
    x ^= x >> 7
    x ^= x << 17
    state.random = x
    return x


def swap_ready(state: State, i: int, k: int) -> None:
    """Exchange two entries of the ready list."""
    first = load64(state.ready + 8 * i)
    store64(state.ready + 8 * i, load64(state.ready + 8 * k))
    store64(state.ready + 8 * k, first)


def arrange(state: State) -> None:
    """Put the ready threads into the order of this emulator; they come in ascending order."""
    count = state.ready_count
    if state.order == REVERSE:
        for i in range(count // 2):
            swap_ready(state, i, count - 1 - i)
    if state.order == RANDOM:
        for i in range(1, count):
            swap_ready(state, i, next_random(state) % (i + 1))


def start(state: State, thread: Thread) -> None:
    """Give a new thread a stack whose first switch goes to the entry of the kernel."""
    state.free_count -= 1
    thread.stack_base = load64(state.free_stacks + 8 * state.free_count)
    frame = thread.stack_base + state.stack_size - (8 * state.frame_words + 15) // 16 * 16
    for i in range(state.frame_words):
        store64(frame + 8 * i, 0)
    store64(frame + 8 * state.frame_return, state.entry)
    thread.stack = frame


def retire(state: State, thread: Thread, warp: Warp) -> None:
    """Take back what a finished thread held."""
    store64(state.free_stacks + 8 * state.free_count, thread.stack_base)
    state.free_count += 1
    state.live -= 1
    warp.live &= ~(1 << thread.index % 32)


def run_ready(state: State) -> int:
    """Run every ready thread until it waits or finishes; 1 when one failed."""
    arrange(state)
    for i in range(state.ready_count):
        thread = Thread(thread_at(state, load64(state.ready + 8 * i)))
        if thread.kind == NEW:
            start(state, thread)
        state.current = address(thread)
        switch_stack(address(state), thread.stack)
        warp = Warp(warp_at(state, thread.index // 32))
        if thread.kind == FAILED:
            return 1
        if thread.kind == FINISHED:
            retire(state, thread, warp)
        elif thread.kind < FIRST_WARP_KIND:
            state.waiting_at_barrier += 1
        else:
            warp.waiting |= 1 << thread.index % 32
            state.waiting_in_warps += 1
    state.ready_count = 0
    return 0
