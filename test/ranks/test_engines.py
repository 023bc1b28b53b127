"""MPI and torch's process groups, where they are installed: processes that start each other."""

from __future__ import annotations

import os
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


def mpiexec(size: int, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """A program on some ranks."""
    pytest.importorskip("mpi4py", reason="no mpi4py (pip install mpi4py mpich)")
    found = shutil.which("mpiexec", path=f"{Path(sys.executable).parent}") or shutil.which("mpiexec")
    if found is None:
        pytest.skip("no mpiexec (pip install mpich)")
    command = [found, "-n", str(size), sys.executable, *arguments]
    env = os.environ | environment
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, cwd=ROOT, check=False, env=env)


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


AFTER = r"""
import os, sys, time
import numpy as np
import ragged_dialect as rg
{start}
def say(*words):
    os.write(1, (" ".join(map(str, words)) + "\n").encode())  # at once: lines of other ranks go to the same place

def exchanged(group, features=100):
    rows = np.full((group.size, features), float(group.rank), "float32")
    assert np.asarray(rg.all_to_all(rows))[:, -1].tolist() == list(range(group.size))

def interrupt(engine, fetch, count):
    "Ctrl-C while it waits: of three ranks the first two messages tell what comes, two more whether it is taken."
    calls = [0]
    def interrupted(*arguments):
        calls[0] += 1
        if calls[0] == count:
            raise KeyboardInterrupt
        fetch(*arguments)
    engine.fetch = interrupted

started = time.monotonic()
try:
    with made({timeout}) as group:  # of which nothing is left after it
        rank = group.rank
        del group
        {fault}
except (Exception, KeyboardInterrupt) as error:
    say(rank, "then", type(error).__name__ + ":", error)
assert time.monotonic() - started < 30
try:
    made({timeout})
except rg.RankError as error:
    say(rank, "next", error)
with again() as group:
    exchanged(group)
    say(rank, "done")
"""
ONCE = "rank 1 failed: ValueError: once"
STOPPED = "rank 1 failed: KeyboardInterrupt: "
LATE = "rank 0 failed: expected rank 1 to answer within 1 s, got nothing"
AFTER_FAULTS = {
    "raises": (2, 60, ["if rank == 1: raise ValueError('once')", "exchanged(rg.ranks.current())"], ONCE),
    "is interrupted": (
        3, 60, ["g = rg.ranks.current()", "if rank == 1: interrupt(g.engine, g.engine.fetch, 3)",
                "one = [0, 1, 2, 3]", "g.exchange(np.zeros(3), one, np.zeros(3), one, 8, 5)"], STOPPED,
    ),
    "is interrupted among large rows": (
        3, 60, ["g = rg.ranks.current()", "if rank == 1: interrupt(g.engine, g.engine.fetch, 5)",
                "exchanged(g, 2**20)"], STOPPED,
    ),
    "is late": (2, 1, ["if rank == 1: time.sleep(2.5)", "exchanged(rg.ranks.current())"], LATE),
}  # fmt: skip


def after(start: str, name: str) -> tuple[int, str, str]:
    """The ranks, the program that goes on after a fault, and how it failed."""
    size, timeout, fault, text = AFTER_FAULTS[name]
    return size, AFTER.format(start=start, timeout=timeout, fault="\n        ".join(fault)), text


def check_after(rank: int, lines: list[str], text: str, kind: str) -> None:
    """What a rank said: its own error, or that of the rank that failed; then that the old group stays refused."""
    failing = int(text.split()[1])
    then = next(line for line in lines if line.startswith(f"{rank} then "))
    assert then.endswith(text.split(": ", 1)[1].strip() if rank == failing else text.strip())
    assert f"{rank} next expected a {kind} without a failed group, got one: {text}".strip() in lines
    assert f"{rank} done" in lines


@pytest.mark.slow
@pytest.mark.parametrize("name", AFTER_FAULTS)
def test_a_communicator_whose_group_failed(name: str) -> None:
    start = """
from mpi4py import MPI
made = lambda timeout: rg.ranks.mpi(timeout=timeout)
again = lambda: rg.ranks.mpi(MPI.COMM_WORLD.Dup(), timeout=60)"""
    size, program, text = after(start, name)
    done = mpiexec(size, "-c", program)
    assert done.returncode == 0, done.stderr  # though some messages nobody took
    assert done.stdout.count(" done") == size, done.stderr
    for rank in range(size):
        check_after(rank, [line.strip() for line in done.stdout.split("\n")], text, "communicator")


@pytest.mark.slow
def test_mpi_messages_of_other_sizes() -> None:
    program = """
import time
import numpy as np
import ragged_dialect as rg
engine = rg.ranks.mpi().engine
for size in (4, 12):
    if engine.rank == 0:
        engine.post(1, np.zeros(size, "uint8"))
        engine.flush(time.monotonic() + 60)
    else:
        try:
            engine.fetch(0, np.zeros(8, "uint8"), time.monotonic() + 60)
        except rg.RankError as error:
            print(error)
"""
    done = mpiexec(2, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("expected 8 bytes of rank 0, got 4\nexpected MPI to carry rows, got: ")


@pytest.mark.slow
def test_an_mpi_that_is_over() -> None:
    """A call of it would end the process."""
    program = """
import os
from mpi4py import MPI
import numpy as np
import ragged_dialect as rg
group = rg.ranks.mpi()
MPI.Finalize()
for call in (rg.ranks.mpi, lambda: group.rows(np.arange(2), [1, 1])):
    try:
        call()
    except (rg.ArgumentError, rg.RankError) as error:
        os.write(1, f"{type(error).__name__} {error}\\n".encode())  # at once, as above
"""
    done = mpiexec(2, "-c", program)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("ArgumentError expected an MPI that is initialized, got one that is not, or not") == 2
    assert done.stdout.count("RankError expected MPI to carry rows, got: it was finalized") == 2


@pytest.mark.slow
def test_a_process_group_that_was_destroyed(tmp_path: Path) -> None:
    """Its group does not take the default one of torch, which has the ranks in another order by then."""
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    program = f"""
import sys
import numpy as np
import ragged_dialect as rg
{gloo(tmp_path, 2)}
group = rg.ranks.torch_group(timeout=60)
distributed.destroy_process_group()
{gloo(tmp_path, 2).replace("/group", "/next").replace("rank=int(sys.argv[1])", "rank=1 - int(sys.argv[1])")}
try:
    print(group.rows(np.arange(2), [1, 1]))
except rg.RankError as error:
    print(error)
with rg.ranks.torch_group(timeout=60) as group:
    print(group.rows(np.arange(2) + 10 * group.rank, [1, 1])[0].tolist())
"""
    for rank, (code, output, errors) in enumerate(processes(2, program)):
        assert code == 0, errors
        text = f"expected rank {1 - rank} to be there, got: the process group was destroyed"
        assert output == f"{text}\n{[1 - rank, 11 - rank]}\n"


@pytest.mark.slow
def test_a_process_group_of_torch(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    text = WORK.format(group=f"{gloo(tmp_path, 3)}\ngroup = rg.ranks.torch_group(timeout=60)", fault="")
    for rank, (code, output, errors) in enumerate(processes(3, text)):
        assert (code, output) == (0, f"done {rank}\n"), errors


@pytest.mark.slow
@pytest.mark.parametrize("name", AFTER_FAULTS)
def test_a_process_group_whose_group_failed(tmp_path: Path, name: str) -> None:
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    made = "made = lambda timeout: rg.ranks.torch_group(timeout=timeout)"
    again = "again = lambda: rg.ranks.torch_group(distributed.new_group(), timeout=60)"
    size, program, text = after(f"{gloo(tmp_path, AFTER_FAULTS[name][0])}\n{made}\n{again}", name)
    for rank, (code, output, errors) in enumerate(processes(size, program)):
        assert code == 0, errors
        check_after(rank, [line.strip() for line in output.split("\n")], text, "process group")


LARGE = r"""
import os, signal, sys, threading
import numpy as np
import ragged_dialect as rg
{start}
def hit(engine, fetch):
    "By a signal, while others send to it, and it takes what they send."
    calls = [0]
    def fetched(*arguments):
        calls[0] += 1
        if calls[0] == 2 * group.size - 1:  # what was agreed is there; rows come
            threading.Timer({delay}, os.kill, (os.getpid(), signal.{signal})).start()
        fetch(*arguments)
    engine.fetch = fetched

if group.rank == 1:
    hit(group.engine, group.engine.fetch)
rows = np.full((group.size, {large}), group.rank, "uint8")
one = list(range(group.size + 1))
try:
    with group:
        for turn in range(10**6):
            group.exchange(rows, one, np.empty_like(rows), one, rows.shape[1], 5)
except (Exception, KeyboardInterrupt) as error:
    os.write(1, f"{{group.rank}} {{type(error).__name__}}: {{error}}\n".encode())  # at once, as above
"""


def stopped(signal: str, delay: float, start: str) -> str:
    return LARGE.format(signal=signal, delay=delay, start=start, large=2**25)


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize(("size", "signal"), [(2, "SIGINT"), (3, "SIGINT"), (2, "SIGKILL"), (3, "SIGKILL")])
def test_a_process_that_is_stopped_among_large_rows(tmp_path: Path, size: int, signal: str, delay: float) -> None:
    """Others are told so at once, or see that it is gone; their timeout is longer than the test."""
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    start = f"{gloo(tmp_path, size)}\ngroup = rg.ranks.torch_group(timeout=2 * {LIMIT})"
    for rank, (code, output, errors) in enumerate(processes(size, stopped(signal, delay, start))):
        if rank == 1 and signal == "SIGKILL":
            assert (code, output) == (-9, "")
            continue
        assert code == 0, errors
        assert output.startswith(f"{rank} KeyboardInterrupt: " if rank == 1 else f"{rank} RankError: "), output
        if signal == "SIGKILL":
            assert " to be there, got: " in output


@pytest.mark.slow
@pytest.mark.parametrize("delay", [0.0, 0.3])
@pytest.mark.parametrize("size", [2, 3])
def test_a_rank_of_mpi_that_is_stopped_among_large_rows(size: int, delay: float) -> None:
    start = f"group = rg.ranks.mpi(timeout=2 * {LIMIT})"
    done = mpiexec(size, "-c", stopped("SIGINT", delay, start))
    assert done.returncode == 0, done.stderr
    said = [f"{rank} {'KeyboardInterrupt: ' if rank == 1 else 'RankError: ' + STOPPED}" for rank in range(size)]
    assert sorted(line.strip() for line in done.stdout.splitlines()) == [line.strip() for line in said]
    assert mpiexec(size, "-c", stopped("SIGKILL", delay, start)).returncode != 0


@pytest.mark.slow
def test_ctrl_c_of_a_rank_of_gloo_that_waits(tmp_path: Path) -> None:
    """For one that does something else until the first one is gone, and says why it went all the same."""
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    program = f"""
import os, signal, sys, threading, time
import numpy as np
import ragged_dialect as rg
{gloo(tmp_path, 2)}
group = rg.ranks.torch_group(timeout=2 * {LIMIT})
over = "{tmp_path}/over"
try:
    with group:
        group.rows(np.arange(2), [1, 1])
        if group.rank:
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        while group.rank == 0 and not os.path.exists(over):
            time.sleep(0.01)
        time.sleep(2 * (group.rank == 0))  # the other one is gone, and what it told is there
        group.rows(np.arange(2), [1, 1])
except (Exception, KeyboardInterrupt) as error:
    open(over, "w").close()
    print(type(error).__name__, error)
"""
    found = processes(2, program)
    assert [code for code, _, _ in found] == [0, 0], found
    assert [output for _, output, _ in found] == [f"RankError {STOPPED}\n", "KeyboardInterrupt \n"]


@pytest.mark.slow
def test_a_rank_of_mpi_that_is_stopped_and_goes_on() -> None:
    """It is not in MPI any more, which would push what it sent: others are told all the same, and free."""
    program = """
import os, sys, time
import numpy as np
import ragged_dialect as rg
group = rg.ranks.mpi(timeout=60)
fetch, calls = group.engine.fetch, []
def stopped(*arguments):
    calls.append(arguments)
    if len(calls) == 3:  # rows are under way
        time.sleep(0.3)
        raise KeyboardInterrupt
    fetch(*arguments)
if group.rank:
    group.engine.fetch = stopped
rows, one = np.zeros((2, 2**24), "uint8"), [0, 1, 2]
started = time.monotonic()
try:
    with group:
        group.exchange(rows, one, np.empty_like(rows), one, rows.shape[1], 5)
except (rg.RankError, KeyboardInterrupt):
    os.write(1, f"{group.rank} {time.monotonic() - started < 7}\\n".encode())
time.sleep(10 * group.rank)
"""
    done = mpiexec(2, "-c", program, MPIR_CVAR_NOLOCAL="1")  # over the network
    assert "0 True" in done.stdout, done
    assert "1 True" in done.stdout, done


WAITS_AS_NCCL = r"""
import os, sys, time
import numpy as np
import ragged_dialect as rg
{start}
from ragged_dialect.ranks.engine import Link
class Slow(Link):
    def carry(self, send, out, receive, own, wait):
        if group.rank == 1:
            os._exit(3)
        over = time.monotonic() + (60 if group.size > 1 else 0.1)
        wait(lambda: time.sleep(1e-3) or time.monotonic() > over)
group = rg.ranks.Group(rg.ranks.torch_group().engine, 60, Slow())
one = list(range(group.size + 1))
rows = np.arange(group.size)
try:
    with group:
        group.exchange_on_device(rows, one, rows, one, 8, 5)
    print("fine")
except rg.RankError as error:
    print(error)
"""


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 3])
def test_ranks_of_gloo_that_wait_for_something_else(tmp_path: Path, size: int) -> None:
    """For a transfer of NCCL: a rank that is gone is noticed then, too."""
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    found = processes(size, WAITS_AS_NCCL.format(start=gloo(tmp_path, size)))
    said = [output for code, output, _ in found if code == 0]
    assert len(said) == size - (size > 1), found
    assert all("expected rank 1 to be there, got: " in line if size > 1 else line == "fine\n" for line in said), said


@pytest.mark.slow
def test_process_groups_that_fail_again_and_again_leave_nothing(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    program = f"""
import gc, os, sys
import numpy as np
import ragged_dialect as rg
{gloo(tmp_path, 2)}
found = []
for turn in range(3):
    made = distributed.new_group()
    try:
        with rg.ranks.torch_group(made) as group:
            if group.rank:
                raise KeyboardInterrupt
            group.rows(np.arange(2), [1, 1])
    except (rg.RankError, KeyboardInterrupt):
        pass
    distributed.barrier()
    distributed.destroy_process_group(made)
    del made, group
    gc.collect()
    found.append([len(os.listdir("/proc/self/" + name)) for name in ("fd", "task")])
print(found[0] == found[2], found)
"""
    for code, output, errors in processes(2, program):
        assert code == 0, errors
        assert output.startswith("True"), output


@pytest.mark.slow
def test_messages_of_gloo_of_other_sizes(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="no torch (pip install torch)")
    program = f"""
import sys, time
import numpy as np
import ragged_dialect as rg
{gloo(tmp_path, 2)}
engine = rg.ranks.torch_group().engine
if engine.rank == 0:
    engine.post(1, np.zeros(4, "uint8"))
    distributed.barrier()
else:
    try:
        engine.fetch(0, np.zeros(8, "uint8"), time.monotonic() + 60)
    except rg.RankError as error:
        print(error)
    distributed.barrier()
"""
    assert processes(2, program)[1][1] == "expected 8 bytes of rank 0, got 4\n"


def gloo(path: Path, size: int) -> str:
    """How a rank begins, whose number is its argument."""
    return f"""
import torch.distributed as distributed
distributed.init_process_group("gloo", init_method="file://{path}/group", rank=int(sys.argv[1]), world_size={size})"""


def processes(size: int, program: str) -> list[tuple[int, str, str]]:
    """What ranks end with, and write."""
    ranks = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(rank)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(size)
    ]
    try:
        texts = [process.communicate(timeout=LIMIT) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    return [(process.returncode, *text) for process, text in zip(ranks, texts, strict=True)]
