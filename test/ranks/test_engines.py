"""MPI and torch's process groups, where they are installed: processes that start each other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300

WORK = r"""
import os, signal, sys
import numpy as np
import ragged_dialect as rg
{group}
def shuffled():
    counts = [(3 * group.rank + other) % 4 for other in range(group.size)]
    rows = np.array([(group.rank, other) for other in range(group.size) for _ in range(counts[other])]).reshape(-1, 2)
    found, given = group.rows(rows, counts)
    assert found.tolist() == [[other, group.rank] for other in range(group.size) for _ in range(given[other])]

with group:
    shuffled()
    {fault}
    shuffled()
    mine = rg.ragged([[float(group.rank)] * other for other in range(group.size)])
    found = rg.jit(rg.all_to_all)(mine)
    assert found.tolist() == [[float(other)] * group.rank for other in range(group.size)], found
os.write(1, f"done {{group.rank}}\n".encode())
"""
MPI = "group = rg.ranks.mpi(timeout=60)"


def mpiexec(size: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A program on some ranks."""
    pytest.importorskip("mpi4py", reason="no mpi4py (pip install mpi4py mpich)")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}") or shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec (pip install mpich)")
    command = [found, "-n", str(size), sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 4])
def test_mpi(size: int) -> None:
    done = mpiexec(size, "-c", WORK.format(group=MPI, fault=""))
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.split("\n")) == sorted(["", *(f"done {rank}" for rank in range(size))])


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_experts_on_several_processes(size: int) -> None:
    done = mpiexec(size, "examples/expert_parallel.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(f"{size} ranks, experts [")
    assert "equal to one process, forward and backward" in done.stdout


FAULTS = {
    "raises": ("if group.rank == 1: raise ValueError('no tokens')", "RankError: rank 1 failed: ValueError: no tokens"),
    "leaves": ("if group.rank == 1: sys.exit(3)", "RankError: rank 1 failed: SystemExit: 3"),
    "is killed": ("if group.rank == 1: os.kill(os.getpid(), signal.SIGKILL)", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_rank_that_fails_ends_all(name: str) -> None:
    fault, text = FAULTS[name]
    done = mpiexec(3, "-c", WORK.format(group=MPI, fault=fault))
    assert done.returncode != 0
    assert "done" not in done.stdout
    assert text in done.stderr


@pytest.mark.slow
def test_a_process_group_of_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    group = f"""
import torch.distributed as distributed
distributed.init_process_group("gloo", init_method="file://{tmp_path}/group", rank=int(sys.argv[1]), world_size=3)
group = rg.ranks.torch_group(timeout=60)"""
    text = WORK.format(group=group, fault="")
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", text, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(3)
    ]
    for rank, process in enumerate(ranks):
        output, errors = process.communicate(timeout=LIMIT)
        assert (process.returncode, output) == (0, f"done {rank}\n"), errors
