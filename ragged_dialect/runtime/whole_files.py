"""Files that are written as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: str | PathLike[str]) -> Generator[BinaryIO]:
    """A file to write, which takes the place of another one when all is written, and leaves it as it was where
    that fails. A device or a pipe is written to. OSError, which names the path."""
    place = os.fspath(path)
    mode = _mode(place)
    if mode is not None and not stat.S_ISREG(mode):
        try:
            with open(place, "wb") as opened:
                yield opened
        except OSError as error:
            raise _named(error, place) from None
        return
    import tempfile  # tools that write to standard output do without

    target = os.path.realpath(place)
    try:
        handle, temporary = tempfile.mkstemp(dir=os.path.dirname(target), prefix=".ragged.")
    except OSError as error:
        raise _named(error, place) from None
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        os.chmod(temporary, _new_mode() if mode is None else mode & 0o777)
        os.replace(temporary, target)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise _named(error, place) from None
        raise


def _named(error: OSError, place: str) -> OSError:
    """An error with the path that a user knows: writing to what is open tells none."""
    return OSError(error.errno, error.strerror, place)


def replace_all(moves: Sequence[tuple[Path, Path]], folder: Path) -> None:
    """Move files from a folder to others' places, all of them or none. OSError that names the place."""
    done: list[tuple[Path, Path]] = []
    try:
        for number, (made, target) in enumerate(moves):
            before = folder / f"before.{number}"
            if target.is_file():
                import shutil  # as tempfile above

                shutil.copy2(target, before)
            os.replace(made, target)
            done.append((before, target))
    except BaseException:
        for before, target in done:
            before.replace(target) if before.exists() else target.unlink()
        raise


def _mode(place: str) -> int | None:
    """What is at a path, None where nothing is. OSError where no file can be, as `open` gives."""
    try:
        return os.stat(place).st_mode
    except FileNotFoundError:
        if place and not os.path.basename(place):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), place) from None
        if not place or not os.path.isdir(os.path.dirname(place) or "."):
            raise
        return None


def _new_mode() -> int:
    """Mode of a new file: mkstemp makes private ones."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
