"""A tool whose process a plug-in ends: handles of the bindings are pointers, and no list of checks covers what can be
done with them. So a tool goes on in a child when the first plug-in is loaded, and the parent says what became of it."""

from __future__ import annotations

import atexit
import faulthandler
import os
import re
import signal
import sys
import threading
import time
import warnings
from types import FrameType

from ragged_dialect import _mlir

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""
_DONE = b"\0"
_TWICE = 0.1
"""Seconds in which two interrupts are one: nobody presses keys as fast."""


def split(tool: str, failure: int) -> None:
    """Go on in a child process; the parent ends as it does. Where a fault has ended it, the parent says so, with the
    line of a plug-in that ran then, and ends with `failure`. Nothing where there is no fork, or no process to be had,
    beside other threads, and where CUDA may run, which a child does not have."""
    if not hasattr(os, "fork") or threading.active_count() > 1 or "cupy" in sys.modules:
        return
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would end the child before it is waited for
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child has no use for threads of other libraries
        try:
            child = os.fork()
        except OSError:
            return
    if child:
        try:
            os.close(writing)
            _wait(tool, failure, child, reading)
        finally:
            os._exit(failure)  # this process is the tool no more
    os.close(reading)
    _die_with_parent()
    faulthandler.enable(writing, all_threads=False)
    atexit.register(_say_done, os.getpid(), writing)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _Interrupt())


class _Interrupt:
    """The interrupt of a group of processes comes twice: to this one, and from its parent."""

    def __init__(self) -> None:
        self._last = -_TWICE

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Interrupt what runs."""
        last, self._last = self._last, time.monotonic()
        if self._last - last > _TWICE:
            signal.default_int_handler(number, frame)


def _say_done(process: int, writing: int) -> None:
    """Tell the parent that the tool has ended as tools do, and not by the `os._exit` of a plug-in."""
    if os.getpid() == process:
        os.write(writing, _DONE)


def _wait(tool: str, failure: int, child: int, reading: int) -> None:
    ended = os.waitstatus_to_exitcode(_status(child))
    os.set_blocking(reading, False)  # what the child has started may hold the other end
    try:
        told = os.read(reading, 1 << 16)
    except BlockingIOError:
        told = b""
    if ended == 0 and _DONE not in told:
        print(f"{tool}: expected plug-ins to return, got one that ends the process", file=sys.stderr, flush=True)
        os._exit(failure)
    if ended >= 0:
        os._exit(ended)
    if -ended not in _FAULTS:  # as whoever killed the child wanted it
        if -ended != signal.SIGKILL:
            signal.signal(-ended, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.kill(os.getpid(), -ended)
        os._exit(128 - ended)  # the first process of a container does not end itself so
    place = _place(told.decode(errors="backslashreplace"))
    print(f"{tool}: {_text(signal.Signals(-ended).name, place)}", file=sys.stderr, flush=True)


def _status(child: int) -> int:
    """What a child ends with. Signals go on to it, but for the interrupt of a terminal, which tells both."""
    wanted = {signal.SIGCHLD, signal.SIGINT, *_PASSED_ON}
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        told = signal.sigwaitinfo(wanted)
        if told.si_signo != signal.SIGCHLD and told.si_code <= 0:  # of a process, not of the kernel
            os.kill(child, told.si_signo)


def _text(signal_name: str, place: str | None) -> str:
    if place is None:  # it may be somebody else's
        return f"expected a run to its end, got {signal_name} (after plug-ins were loaded, in none of their lines)"
    return f"expected plug-ins to use what is part of a program, got {signal_name} ({place})"


def _place(trace: str) -> str | None:
    """The innermost line of a plug-in; without one the fault came after it, or in what is none of its."""
    packages = [sys.modules[name.split(".")[0]].__path__[0] for name in (__name__, _mlir.PACKAGE)]
    library = os.path.dirname(os.__file__)
    for file, line in _FRAME.findall(trace):
        of_python = file.startswith(library) and "-packages" not in file.removeprefix(library)
        if not of_python and not file.startswith(("<", sys.argv[0], *(f"{one}{os.sep}" for one in packages))):
            return f"{os.path.basename(file)}:{line}"
    return None


def _die_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes  # start-up time

        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
