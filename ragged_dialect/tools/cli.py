"""What the tools share: exit codes, reading input, writing output."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.errors import RaggedError
from ragged_dialect.runtime.whole_files import replacing

SUCCESS, FAILURE, INTERRUPTED = 0, 1, 130
STREAM = "-"


def run_tool(name: str, body: Callable[[], int]) -> int:
    """Exit code of a tool: 0, 1 with the user's error on stderr, 130 when interrupted."""
    _open_closed_streams()
    try:
        try:
            code = body()
        except SystemExit as error:  # argparse: 2 on a wrong flag
            code = SUCCESS if error.code in (None, 0) else FAILURE
        _write_stream(b"")
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has gone
        return FAILURE
    except OSError as error:
        place = error.filename2 or error.filename
        print(f"{name}: {f'{place}: ' if place else ''}{(error.strerror or str(error)).lower()}", file=sys.stderr)
    except ParseError as error:
        print(error, file=sys.stderr)
    except RaggedError as error:
        print(f"{name}: {error}", file=sys.stderr)
    except MemoryError:
        print(f"{name}: expected more memory, got no more", file=sys.stderr)
    return FAILURE


def _open_closed_streams() -> None:
    """A tool may be started with standard streams closed (`>&-`). The next file opened would have their
    descriptors, and get what is printed; so they are open, to what reading and writing fail on."""
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # the lowest that is free: this one
    sys.stdin = sys.stdin or open(0, closefd=False)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False, errors="backslashreplace")


def read_input(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    return sys.stdin.buffer.read() if path == STREAM else Path(path).read_bytes()


def write_output(path: str, data: str | bytes) -> None:
    """Write a file as a whole or not at all; `-` is standard output."""
    payload = data.encode() if isinstance(data, str) else data
    if path == STREAM:
        _write_stream(payload)
        return
    with replacing(path) as file:
        file.write(payload)


def _write_stream(payload: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(payload)
        sys.stdout.buffer.flush()
    except OSError as error:
        # Keep the interpreter from writing at its end what could not be written now.
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from None
