"""A tool whose process a plug-in ends: handles of the bindings are pointers, and no list of checks covers what can be
done with them. So a tool goes on in a child when the first plug-in is loaded, and the parent says what became of it."""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
import threading
import warnings

from ragged_dialect import _mlir

_FRAME = re.compile(r'^  File "(.*)", line (\d+) in ', re.MULTILINE)
_FAULTS = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL)
_PASSED_ON = (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_DIES_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""


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


def _wait(tool: str, failure: int, child: int, reading: int) -> None:
    ended = os.waitstatus_to_exitcode(_status(child))
    if ended >= 0:
        os._exit(ended)
    if -ended not in _FAULTS:  # as whoever killed the child wanted it
        if -ended != signal.SIGKILL:
            signal.signal(-ended, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        os.kill(os.getpid(), -ended)
    os.set_blocking(reading, False)  # what the child has started may hold the other end
    try:
        trace = os.read(reading, 1 << 16).decode(errors="backslashreplace")
    except BlockingIOError:
        trace = ""
    text = f"expected plug-ins to use what is part of a program, got {signal.Signals(-ended).name}{_place(trace)}"
    print(f"{tool}: {text}", file=sys.stderr, flush=True)


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


def _place(trace: str) -> str:
    """The innermost line of a plug-in, in brackets; without one the fault came after it."""
    packages = [sys.modules[name.split(".")[0]].__path__[0] for name in (__name__, _mlir.PACKAGE)]
    library = os.path.dirname(os.__file__)
    for file, line in _FRAME.findall(trace):
        of_python = file.startswith(library) and "-packages" not in file.removeprefix(library)
        if not of_python and not file.startswith(("<", sys.argv[0], *(f"{one}{os.sep}" for one in packages))):
            return f" ({os.path.basename(file)}:{line})"
    return " (after one has run)"


def _die_with_parent() -> None:
    if sys.platform == "linux":
        import ctypes  # start-up time

        ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
