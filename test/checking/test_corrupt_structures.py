"""Corrupt index vectors between guard pages are refused, right ones are computed with; nothing else is read."""

from __future__ import annotations

import os

import pytest
from support.worker import Worker, answers

AT_ONCE = 250
SECONDS = 200
FEW, MANY = 500, 20_000
LIMIT = 4 << 30
"""Bytes of address space under which some of them run."""


def _sweep(count: int, side: str, limited: bool) -> None:
    environment = {"RAGGED_TEST_SIDE": side, "RAGGED_CACHE": "0", "RAGGED_NUM_THREADS": "1"}
    worker = Worker("structure_worker.py", environment | ({"RAGGED_TEST_LIMIT": str(LIMIT)} if limited else {}))
    start = os.environ.get("RAGGED_FUZZ_SEED", "0")
    tasks = [[f"{start} {side} {limited} {number}", AT_ONCE] for number in range(count // AT_ONCE)]
    failures = answers(worker, tasks, SECONDS)
    assert not failures, "\n".join(failures)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("side", ["before", "after"])
def test_some(side: str) -> None:
    _sweep(FEW, side, limited=False)


@pytest.mark.slow
@pytest.mark.parametrize("limited", [False, True])
@pytest.mark.parametrize("side", ["before", "after"])
def test_many(side: str, limited: bool) -> None:
    _sweep(MANY // 4, side, limited)
