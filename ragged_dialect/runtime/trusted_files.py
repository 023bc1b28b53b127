"""Files that nobody but the user and root can have written: what comes from them may be executed."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Untrusted(Exception):
    """Somebody else can have written this; the text says what and why."""


def check_folder(folder: Path) -> None:
    """Untrusted where another user can write to a folder, or put another one in its place: the folders
    above it count too, and so do links on the way. In one with the sticky bit (`/tmp`) everybody may
    make files, and nobody rename those of others. What is not there yet is nobody's."""
    real = Path(os.path.realpath(folder))
    for path in {*folder.parents, *real.parents}:
        with suppress(FileNotFoundError, NotADirectoryError):
            _check(path, path.lstat(), stat.S_ISVTX)
    for path in {folder, real}:
        with suppress(FileNotFoundError, NotADirectoryError):
            _check(path, path.lstat())


def make_folder(folder: Path) -> None:
    """Make a folder, and those above it, for the user alone."""
    for path in (*reversed(folder.parents), folder):
        with suppress(FileExistsError):
            path.mkdir(0o700)


def read_file(path: Path, most: int) -> bytes | None:
    """The content of a file; None where it is none, or has more bytes than `most`. OSError where it
    cannot be read, and for a link; Untrusted where another user can write to it."""
    with os.fdopen(os.open(path, _OPEN), "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size > most:
            return None
        _check(path, status)
        return file.read(status.st_size)  # takes as much memory as it is told to read


def _check(path: Path, status: os.stat_result, harmless: int = 0) -> None:
    """`harmless` are bits of the mode with which everybody may write."""
    if status.st_uid not in (0, os.geteuid()):
        raise Untrusted(f"{path} belongs to user {status.st_uid}")
    if status.st_mode & _OTHERS and not stat.S_ISLNK(status.st_mode) and not status.st_mode & harmless:
        raise Untrusted(f"other users can write to {path} (chmod go-w)")
