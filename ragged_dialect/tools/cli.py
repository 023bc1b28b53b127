"""What the tools share: exit codes, reading input, writing output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from pathlib import Path

from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.errors import RaggedError

SUCCESS, FAILURE, INTERRUPTED = 0, 1, 130
STREAM = "-"


def run_tool(name: str, body: Callable[[], int]) -> int:
    """Exit code of a tool: 0, 1 with the user's error on stderr, 130 when interrupted."""
    try:
        return body()
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has gone; keep the interpreter from flushing into the closed pipe.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"{name}: {place}{(error.strerror or str(error)).lower()}", file=sys.stderr)
    except ParseError as error:
        print(error, file=sys.stderr)
    except RaggedError as error:
        print(f"{name}: {error}", file=sys.stderr)
    except SystemExit as error:  # argparse: 2 on a wrong flag
        return SUCCESS if error.code in (None, 0) else FAILURE
    return FAILURE


def read_input(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`."""
    return sys.stdin.buffer.read() if path == STREAM else Path(path).read_bytes()


def write_output(path: str, data: str | bytes) -> None:
    """Write a file as a whole or not at all; `-` is standard output."""
    payload = data.encode() if isinstance(data, str) else data
    if path == STREAM:
        sys.stdout.flush()
        sys.stdout.buffer.write(payload)
        sys.stdout.buffer.flush()
        return
    target = Path(path)
    if target.exists() and not target.is_file():  # a device or a pipe
        target.write_bytes(payload)
        return
    import tempfile

    target = target.resolve()
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(payload)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def _mode(target: Path) -> int:
    """Mode of the file that is replaced, or of a new one: mkstemp makes private files."""
    if target.exists():
        return target.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
