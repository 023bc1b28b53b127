"""A tool whose process a plug-in ends: handles of the bindings are pointers, and no list of checks covers what can be
done with them. So a tool goes on in a child when the first plug-in is loaded, and the parent says what became of it."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
import warnings
from types import FrameType
from typing import NoReturn

from ragged_dialect import _mlir

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


def split(tool: str, failure: int) -> None:
    """Go on in a child process; the parent ends as it does. Where a signal that only a fault raises has ended it, the
    parent says so, with the line of a plug-in that ran then, and ends with `failure`. Nothing where there is no
    fork."""
    if not hasattr(os, "fork"):
        return
    sys.stdout.flush()
    sys.stderr.flush()
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child has no use for threads of other libraries
        child = os.fork()
    if child:
        os.close(writing)
        _wait(tool, failure, child, reading)
    os.close(reading)
    _die_with_parent()
    faulthandler.enable(writing, all_threads=False)


def _wait(tool: str, failure: int, child: int, reading: int) -> NoReturn:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal tells both

    def pass_on(number: int, _: FrameType | None) -> None:
        os.kill(child, number)

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    _, status = os.waitpid(child, 0)
    os.set_blocking(reading, False)  # what the child has started may hold the other end
    try:
        trace = os.read(reading, 1 << 16).decode(errors="backslashreplace")
    except BlockingIOError:
        trace = ""
    ended = os.waitstatus_to_exitcode(status)
    if ended < 0 and -ended not in _FAULTS:
        if -ended != signal.SIGKILL:
            signal.signal(-ended, signal.SIG_DFL)
        os.kill(os.getpid(), -ended)  # as whoever killed the child wanted it
    if ended < 0:
        text = f"expected plug-ins to use what is part of a program, got {signal.Signals(-ended).name}{_place(trace)}"
        print(f"{tool}: {text}", file=sys.stderr, flush=True)
    os._exit(failure if ended < 0 else ended)


def _place(trace: str) -> str:
    """The innermost line of a plug-in, in brackets; without one the fault came after it."""
    packages = [sys.modules[name.split(".")[0]].__path__[0] for name in (__name__, _mlir.PACKAGE)]
    library = os.path.dirname(os.__file__)
    for file, line in _FRAME.findall(trace):
        of_python = file.startswith(library) and "-packages" not in file.removeprefix(library)
        if not of_python and not file.startswith(("<", sys.argv[0], *packages)):
            return f" ({os.path.basename(file)}:{line})"
    return " (after one has run)"


def _die_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes  # start-up time

        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
