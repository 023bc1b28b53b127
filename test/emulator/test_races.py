"""The race check against an oracle that compares all pairs of accesses."""

from __future__ import annotations

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pytest
from support.emulator_kernels import by_hand

from ragged_dialect.emulator import Emulator
from ragged_dialect.errors import EmulatorError

THREADS, BLOCKS, WORDS = 40, 2, 24
LOAD, STORE, ATOMIC = 1, 2, 3

# Every phase each thread of each block does what its entry in the table says; then all synchronise,
# the block (0) or every warp (1).
DECLARED = [
    "declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()",
    "declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)",
    "declare void @llvm.nvvm.bar.warp.sync(i32)",
]
KERNEL = f"""  %b32 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = sext i32 %b32 to i64
  %lane = and i64 %t, 32
  %second = icmp ne i64 %lane, 0
  %warp = select i1 %second, i32 255, i32 -1
  br label %entry.block

entry.block:
  br label %loop

loop:
  %phase = phi i64 [ 0, %entry.block ], [ %next, %synchronised ]
  %row = mul i64 %phase, {BLOCKS}
  %row.b = add i64 %row, %b
  %row.t = mul i64 %row.b, {THREADS}
  %entry = add i64 %row.t, %t
  %what.p = getelementptr [2 x i32], ptr %table, i64 %entry, i64 0
  %what = load i32, ptr %what.p, align 4
  %where.p = getelementptr [2 x i32], ptr %table, i64 %entry, i64 1
  %where = load i32, ptr %where.p, align 4
  %word = getelementptr i32, ptr %memory, i32 %where
  switch i32 %what, label %done [
    i32 1, label %load
    i32 2, label %store
    i32 3, label %atomic
  ]

load:
  %v = load i32, ptr %word, align 4
  br label %done

store:
  store i32 0, ptr %word, align 4
  br label %done

atomic:
  %old = atomicrmw add ptr %word, i32 1 monotonic, align 4
  br label %done

done:
  %kind.p = getelementptr i32, ptr %kinds, i64 %phase
  %kind = load i32, ptr %kind.p, align 4
  %block = icmp eq i32 %kind, 0
  br i1 %block, label %all, label %one

all:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %synchronised

one:
  call void @llvm.nvvm.bar.warp.sync(i32 %warp)
  br label %synchronised

synchronised:
  %next = add i64 %phase, 1
  %more = icmp ult i64 %next, %phases
  br i1 %more, label %loop, label %end

end:"""
TEXT = by_hand("ptr %memory, ptr %table, ptr %kinds, i64 %phases", KERNEL, DECLARED)


class Access(NamedTuple):
    """Who did what, where and when."""

    what: int
    word: int
    block: int
    thread: int
    phase: int


def race(one: Access, other: Access, kinds: list[int]) -> bool:
    """Whether two accesses are in no order, and not both loads or both atomic."""
    if one.word != other.word or (one.what == other.what != STORE):
        return False
    if one.block != other.block:
        return True
    between = kinds[min(one.phase, other.phase) : max(one.phase, other.phase)]
    ordered = 0 in between or (one.thread // 32 == other.thread // 32 and 1 in between)
    return one.thread != other.thread and not ordered


def case(seed: int) -> tuple[Any, list[int], list[Access]]:
    """A random table of few accesses, so that some have races and some have not."""
    random = np.random.default_rng(seed)
    phases = int(random.integers(2, 6))
    kinds = random.integers(0, 2, phases).tolist()
    table = np.zeros((phases, BLOCKS, THREADS, 2), np.int32)
    found = list[Access]()
    kind = random.choice([LOAD, STORE, ATOMIC], WORDS)
    for _ in range(int(random.integers(2, 16))):
        phase, block, thread = int(random.integers(phases)), int(random.integers(BLOCKS)), int(random.integers(THREADS))
        word = int(random.integers(WORDS // BLOCKS)) * BLOCKS + (block if random.random() < 0.9 else 0)
        what = int(kind[word] if random.random() < 0.6 else random.integers(1, 4))
        if table[phase, block, thread, 0] == 0:
            table[phase, block, thread] = what, word
            found.append(Access(what, word, block, thread, phase))
    return table, kinds, found


@pytest.fixture(scope="module")
def emulators() -> list[Emulator]:
    """One for each order."""
    return [Emulator(TEXT, order=order) for order in ("forward", "reverse", "random")]


def test_cases_are_of_both_kinds() -> None:
    answers = [any(race(a, b, kinds) for a, b in combinations(found, 2)) for _, kinds, found in map(case, range(150))]
    assert 40 < sum(answers) < 110


def test_races_are_found_in_every_order(emulators: list[Emulator]) -> None:
    for seed in range(150):
        table, kinds, found = case(seed)
        expected = any(race(a, b, kinds) for a, b in combinations(found, 2))
        for emulator in emulators:
            args = [np.zeros(WORDS, np.int32), table, np.array(kinds, np.int32), len(kinds)]
            try:
                emulator.launch("k", (BLOCKS, 1, 1), (THREADS, 1, 1), args)
                raced = False
            except EmulatorError as error:
                assert "that races with" in str(error)
                raced = True
            assert raced == expected, seed
