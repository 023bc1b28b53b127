"""Random programs with control flow and damaged data: compiled ones say what the reference says, whatever
order MLIR's passes put their ops in, and never crash."""

from __future__ import annotations

import os

import pytest
from support.flow_programs import HOISTED
from support.worker import Worker, answers

FEW = 4
MANY = {"cpu": 19_000, "emulator": 1_000}
EACH = 500
OPTIMISED = 8
"""LLVM optimises one in so many of the programs of a long run."""
SECONDS = 300
FREED = {"MALLOC_PERTURB_": "165", "RAGGED_CACHE": "0", "RAGGED_POOL_BYTES": "0"}
"""What is freed is overwritten, so that a use of it does not go unseen."""


def _sweep(target: str, first: int, count: int, optimised: int = 1) -> None:
    """Every other program has its ops moved."""
    start = int(os.environ.get("RAGGED_FUZZ_SEED", "0")) + first
    tasks = [[seed, target, bool(seed % 2), seed // 2 % optimised == 0] for seed in range(start, start + count)]
    failures = answers(Worker("program_worker.py", FREED), tasks, SECONDS)
    assert not failures, "\n".join(failures)


def test_programs() -> None:
    _sweep("cpu", 0, FEW)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("target", ["cpu", "emulator"])
def test_nothing_is_read_before_its_check(target: str) -> None:
    """Loops that run never or once, out of which upstream moves all that it takes for pure."""
    worker = Worker("program_worker.py", FREED)
    try:
        for name in HOISTED:
            for count in (0, 1):
                wrong = worker.run([[name, count], target, True, True], SECONDS)
                assert wrong is None, wrong
    finally:
        worker.stop()


@pytest.mark.slow
@pytest.mark.parametrize(("target", "first"), [(t, k) for t, many in MANY.items() for k in range(0, many, EACH)])
def test_many_programs(target: str, first: int) -> None:
    _sweep(target, first, EACH, OPTIMISED)
