"""Tools in forks of a process that has imported them: most of the time of a lit test is the start of Python.

`warm.py serve NAME=MODULE,MODULE...` imports the modules and waits at FOLDER/NAME until its input ends, having printed
FOLDER;
`warm.py FOLDER/NAME ARGUMENT...` runs `main` of the first, as `python -m MODULE ARGUMENT...` does.
"""

from __future__ import annotations

import _socket  # `socket` takes as long to import as Python to start
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket
    from types import ModuleType

STREAMS = (0, 1, 2)
FAMILY = (_socket.AF_UNIX, _socket.SOCK_STREAM)


def ask(place: str, arguments: list[str]) -> int:
    """Exit code of a tool, which has the streams, folder and environment of this process."""
    strings = [str(len(arguments)), *arguments, os.getcwd(), *(f"{k}={v}" for k, v in os.environ.items())]
    content = "\0".join(strings).encode("utf-8", "surrogateescape")
    to_server = _socket.socket(*FAMILY)
    to_server.connect(place)
    streams = b"".join(stream.to_bytes(4, sys.byteorder) for stream in STREAMS)
    to_server.sendmsg([len(content).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    to_server.sendall(content)
    code = int.from_bytes(to_server.recv(4), "big", signed=True)
    if code < 0:  # a crash is one here too
        os.kill(os.getpid(), -code)
    return code


def serve(tools: list[str]) -> None:
    """A process for each tool, so that none finds imported what another imports."""
    import shutil
    import socket
    import tempfile

    folder = tempfile.mkdtemp(prefix="lit")
    for tool in tools:
        name, _, modules = tool.partition("=")
        server = socket.socket(*FAMILY)
        server.bind(f"{folder}/{name}")
        server.listen(64)
        if not os.fork():
            os.dup2(os.open(os.devnull, os.O_WRONLY), STREAMS[1])  # of what is printed, only the folder is read
            _serve(server, modules.split(","))
            return
        server.close()
    print(folder, flush=True)
    sys.stdin.read()
    for _ in tools:
        os.wait()
    shutil.rmtree(folder)


def _serve(server: socket.socket, modules: list[str]) -> None:
    import gc
    import importlib
    import select
    import signal

    first, *_ = [importlib.import_module(module) for module in modules]
    gc.freeze()  # so that no child copies all of it to look for garbage
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    while sys.stdin not in select.select([server, sys.stdin], [], [])[0]:
        asked, _ = server.accept()
        if not os.fork():
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            server.close()
            _answer(asked, first)
        asked.close()


def _answer(asked: socket.socket, module: ModuleType) -> None:
    """Run a tool in a child; its exit code, or minus the signal that ended it, is the answer."""
    import socket

    size, streams, _, _ = socket.recv_fds(asked, 4, len(STREAMS))
    content = asked.makefile("rb").read(int.from_bytes(size, "big")).decode("utf-8", "surrogateescape")
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        asked.sendall(code.to_bytes(4, "big", signed=True))
        os._exit(0)
    asked.close()
    for stream, given in zip(STREAMS, streams, strict=True):
        os.dup2(given, stream)
        os.close(given)
    sys.stdin, sys.stdout = open(STREAMS[0], closefd=False), open(STREAMS[1], "w", closefd=False)
    sys.stderr = open(STREAMS[2], "w", buffering=1, errors="backslashreplace", closefd=False)
    count, *strings = content.split("\0")
    arguments, (place, *variables) = strings[: int(count)], strings[int(count) :]
    os.chdir(place)
    os.environ.clear()
    os.environ.update(variable.split("=", 1) for variable in variables)
    sys.argv = [module.__file__, *arguments]
    sys.exit(module.main())


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2:])
    else:
        sys.exit(ask(sys.argv[1], sys.argv[2:]))
