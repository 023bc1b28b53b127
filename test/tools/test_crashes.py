"""Plug-ins that end the process of a tool: an error of it, with their line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.packages import opt_process

from conftest import ROOT
from ragged_dialect.tools import crashes

PASS = """import os, sys, time
from ragged_dialect._mlir import arith
from ragged_dialect.passes import registry
from ragged_dialect.passes.base import RaggedPass
KEPT = []
class Wrong(RaggedPass):
  name = 'wrong-c'
  def run(self, op):
    negf = op.regions[0].blocks[0].operations[0].regions[0].blocks[0].operations[0]
    BODY
def register(): registry.register('wrong-c', lambda: Wrong)
"""
PROGRAM = "func.func @f(%x: f32) -> f32 {\n %0 = arith.negf %x : f32\n return %0 : f32 }"
HINT = "ragged-opt: expected plug-ins to use what is part of a program, got "
CRASHES = {
    "__import__('ctypes').string_at(0)": "SIGSEGV (wrong.py:10)",
    "os.abort()": "SIGABRT (wrong.py:10)",
    "negf.operands[0] = arith.MulFOp(*[negf.operands[0]] * 2).result": "",
}

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.mark.sampled(2)
@pytest.mark.parametrize("body", CRASHES)
def test_crashes_are_errors(body: str, folder: Path) -> None:
    (folder / "wrong.py").write_text(PASS.replace("BODY", body))
    (folder / "in.mlir").write_text(PROGRAM)
    found = opt_process(folder, "in.mlir", "--wrong-c", "-o", "out.mlir")
    assert found.returncode == 1
    end = "ragged-opt: expected a run to its end, got SIG"
    assert (HINT + CRASHES[body] if CRASHES[body] else end) in found.stderr
    assert "Traceback" not in found.stderr


@pytest.mark.sampled(2)
@pytest.mark.parametrize("body", ["pass", "print('seen', file=sys.stderr)", "raise KeyError", "sys.exit(3)"])
def test_what_does_not_crash_is_as_before(body: str, folder: Path) -> None:
    (folder / "wrong.py").write_text(PASS.replace("BODY", body))
    (folder / "in.mlir").write_text(PROGRAM)
    found = opt_process(folder, "in.mlir", "--wrong-c")
    wrong = body[:5] in ("raise", "sys.e")
    assert found.returncode == wrong
    assert (found.stdout.count("func.func"), HINT in found.stderr) == (not wrong, False)


WAITING = "print(os.getpid(), flush=True); time.sleep(60)"


def running(folder: Path, body: str = WAITING, start_new_session: bool = False) -> subprocess.Popen[str]:
    """The tool in the middle of a pass of a plug-in, which has written the number of its process."""
    (folder / "wrong.py").write_text(PASS.replace("BODY", body))
    (folder / "in.mlir").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "ragged_dialect.tools.ragged_opt",
        "in.mlir",
        "--load-pass-plugin=wrong",
        "--wrong-c",
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    return subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=start_new_session,
    )


def test_who_kills_the_child_ends_the_tool(folder: Path) -> None:
    with running(folder) as tool:
        assert tool.stdout is not None
        os.kill(int(tool.stdout.readline()), signal.SIGKILL)
        assert tool.wait(20) == -signal.SIGKILL


def test_an_interrupt_of_the_tool_alone_ends_it(folder: Path) -> None:
    with running(folder) as tool:
        assert tool.stdout is not None
        tool.stdout.readline()
        tool.send_signal(signal.SIGINT)
        assert tool.wait(20) == 130


def test_an_interrupt_of_a_group_comes_once(folder: Path) -> None:
    """The child has it from the group and from its parent; what it does for its end takes longer than that."""
    body = f"try: {WAITING}\n    finally: time.sleep(0.3); print('end', flush=True)"
    with running(folder, body, start_new_session=True) as tool:
        assert tool.stdout is not None
        tool.stdout.readline()
        os.killpg(tool.pid, signal.SIGINT)
        assert tool.communicate(timeout=20)[0] == "end\n"


def test_nothing_forks_when_the_tool_has_ended(folder: Path) -> None:
    (folder / "wrong.py").write_text("def register(): pass")
    (folder / "in.mlir").write_text(PROGRAM)
    code = (
        "import os, sys; from ragged_dialect import plugins; from ragged_dialect.tools.ragged_opt import main\n"
        "sys.argv = ['ragged-opt', 'in.mlir', '-o', 'out.mlir']; before = os.getpid()\n"
        "assert main() == main() == 0; plugins.load('wrong'); assert os.getpid() == before\n"
        "assert main(['in.mlir', '--load-pass-plugin=wrong', '-o', 'out.mlir']) == 0; assert os.getpid() == before"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, check=True, timeout=60)


@pytest.mark.parametrize(
    ("file", "place"),
    [
        (f"{os.path.dirname(os.__file__)}/site-packages/rowtools/passes.py", "passes.py:7"),
        (f"{ROOT}/ragged_dialect_more/passes.py", "passes.py:7"),
        (f"{ROOT}/ragged_dialect/passes/base.py", None),
        (os.__file__, None),
    ],
)
def test_whose_lines_are_told(file: str, place: str | None) -> None:
    trace = f'Fatal\n  File "{file}", line 7 in run\n  File "<frozen runpy>", line 1 in x\n'
    assert crashes._place(trace) == place


@pytest.mark.sampled(3)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGHUP])
def test_a_signal_ends_all_of_it(number: signal.Signals, folder: Path) -> None:
    with running(folder) as tool:
        assert tool.stdout is not None
        child = int(tool.stdout.readline())
        assert child != tool.pid
        tool.send_signal(number)
        assert tool.wait(20) == -number
        assert tool.communicate(timeout=20) == ("", "")
        for _ in range(100):
            try:
                os.kill(child, 0)
            except ProcessLookupError:
                break
            time.sleep(0.1)
        else:
            pytest.fail("expected the child to end")
