"""Running the blocks of a grid, one after the other. Compiled, see `native.py`."""

from __future__ import annotations

from ragged_dialect.emulator.collectives import blame, release_warp
from ragged_dialect.emulator.copies import drop_copies
from ragged_dialect.emulator.fibers import make_ready, run_ready, thread_at, warp_at
from ragged_dialect.emulator.state import (
    BARRIER_AND,
    BARRIER_COUNT,
    BARRIER_OR,
    DEADLOCK,
    EXITED_AT_BARRIER,
    NEW,
    STACK_GAP,
    State,
    Thread,
    Warp,
)
from ragged_dialect.emulator.words import fill, load32, store64

SHARED_BYTE = 0xFF


def prepare(state: State) -> None:
    """Number the threads, and give all stacks free."""
    across = state.block_size_x
    for i in range(state.thread_count):
        thread = Thread(thread_at(state, i))
        thread.index = i
        thread.x = i % across
        thread.y = i // across % state.block_size_y
        thread.z = i // (across * state.block_size_y)
        store64(state.free_stacks + 8 * i, state.stacks + i * (state.stack_size + STACK_GAP))
    state.free_count = state.thread_count


def run_grid(state: State) -> int:
    """Run all blocks in the order given; 1 when a thread failed, and the state says how."""
    prepare(state)
    for i in range(state.block_count):
        number = load32(state.block_order + 4 * i)
        state.block_x = number % state.grid_x
        state.block_y = number // state.grid_x % state.grid_y
        state.block_z = number // (state.grid_x * state.grid_y)
        state.epoch += 1
        state.block_epoch = state.epoch
        if state.block_epochs:
            store64(state.block_epochs + 8 * i, state.epoch)
        failed = run_block(state)
        drop_copies(state)
        if failed:
            return 1
    return 0


def run_block(state: State) -> int:
    """Run one block to its end; 1 when a thread failed."""
    begin(state)
    while state.live:
        if run_ready(state):
            return 1
        if state.waiting_in_warps and release_warps(state):
            return 1
        if state.live and state.ready_count == 0 and release_barrier(state):
            return 1
    return 0


def begin(state: State) -> None:
    """All threads new, shared memory as it comes: all bits set, NaN in every float type."""
    count = state.thread_count
    state.live = count
    state.waiting_at_barrier = 0
    state.waiting_in_warps = 0
    state.ready_count = 0
    fill(state.shared, SHARED_BYTE, state.shared_size)
    for i in range(count):
        thread = Thread(thread_at(state, i))
        thread.kind = NEW
        make_ready(state, i)
    for i in range(state.warp_count):
        warp = Warp(warp_at(state, i))
        lanes = count - 32 * i
        warp.live = 0xFFFF_FFFF if lanes >= 32 else (1 << lanes) - 1
        warp.waiting = 0
        warp.epoch = 0


def release_warps(state: State) -> int:
    """Resolve the collectives of all warps; 1 on an error."""
    for i in range(state.warp_count):
        if release_warp(state, Warp(warp_at(state, i)), 32 * i):
            return 1
    return 0


def at_one_barrier(state: State) -> int:
    """Whether all threads that have not exited wait at the same barrier."""
    if state.waiting_at_barrier != state.live:
        return 0
    site = 0
    for i in range(state.warp_count):
        lanes = Warp(warp_at(state, i)).live
        for lane in range(32):
            if lanes >> lane & 1:
                found = Thread(thread_at(state, 32 * i + lane)).site
                if site == 0:
                    site = found
                if site != found:
                    return 0
    return site


def first_thread(state: State) -> int:
    """Address of the first thread that has not exited."""
    for i in range(state.thread_count):
        if Warp(warp_at(state, i // 32)).live >> i % 32 & 1 == 1:
            return thread_at(state, i)
    return state.threads


def release_barrier(state: State) -> int:
    """Let the block pass its barrier; 1 when it cannot."""
    if at_one_barrier(state) == 0:
        return blame(state, DEADLOCK, first_thread(state), 0)
    if state.live < state.thread_count and state.strict:
        return blame(state, EXITED_AT_BARRIER, first_thread(state), 0)
    state.epoch += 1
    state.waiting_at_barrier = 0
    reduce_barrier(state)
    for i in range(state.thread_count):
        warp = Warp(warp_at(state, i // 32))
        warp.epoch = 0
        if warp.live >> i % 32 & 1:
            make_ready(state, i)
    return 0


def reduce_barrier(state: State) -> None:
    """Results of a barrier that counts predicates, or tells whether all or any hold."""
    kind = Thread(first_thread(state)).kind
    if kind < BARRIER_COUNT:
        return
    count = 0
    for i in range(state.thread_count):
        if Warp(warp_at(state, i // 32)).live >> i % 32 & 1:
            count += Thread(thread_at(state, i)).a
    if kind == BARRIER_AND:
        count = count == state.live
    if kind == BARRIER_OR:
        count = count != 0
    for i in range(state.thread_count):
        thread = Thread(thread_at(state, i))
        thread.result = count
