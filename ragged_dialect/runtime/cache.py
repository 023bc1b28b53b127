"""Compiled programs on disk: one file per program, safe to share between processes.

The folder is RAGGED_CACHE_DIR, or `ragged-dialect` in XDG_CACHE_HOME or ~/.cache; RAGGED_CACHE=0
turns the cache off. A folder that cannot be written is no cache, a damaged file no entry. Entries are
programs, and are run: folders and files that another user can write to are not used.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path

from ragged_dialect.errors import CompileError
from ragged_dialect.runtime.trusted_files import Untrusted, check_folder, make_folder, read_file

_FORMAT = 2
_DIGEST = 64
_MOST = 1 << 28
"""Bytes of an entry that is kept."""

_told: list[str] = []
"""What the user was told, which happens once in a process."""


def folder() -> Path | None:
    """Where programs are kept; None when the cache is off. CompileError for a relative RAGGED_CACHE_DIR."""
    if os.environ.get("RAGGED_CACHE", "") == "0":
        return None
    chosen = os.environ.get("RAGGED_CACHE_DIR", "")
    if chosen:
        if not os.path.isabs(chosen):
            raise CompileError(f"expected an absolute path in RAGGED_CACHE_DIR, got '{chosen}'")
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # to be ignored, as the XDG specification says
        base = os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "ragged-dialect" if os.path.isabs(base) else None


def key(parts: Sequence[object]) -> str:
    """Name of the entry for all that a program depends on."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


def load(name: str) -> bytes | None:
    """The data of an entry; None without one, or when it is damaged or another user's."""
    place = folder()
    if place is None:
        return None
    try:
        check_folder(place)
        content = read_file(place / name, _MOST)
    except Untrusted as reason:
        _tell(place, str(reason))
        return None
    except OSError:
        return None
    if content is None:
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    return data if digest == _digest(name, data) else None


def _digest(name: str, data: bytes) -> bytes:
    """An entry under the name of another is damaged too."""
    return hashlib.sha256(name.encode() + data).hexdigest().encode()


def _tell(place: Path, reason: str) -> None:
    if not _told:
        _told.append(reason)
        warnings.warn(f"compiled programs in {place} are not used: {reason}", RuntimeWarning, stacklevel=2)


def store(name: str, data: bytes) -> None:
    """Keep data under a name, whole or not at all. A folder or disk that refuses it is ignored."""
    place = folder()
    if place is None or len(data) > _MOST - _DIGEST:
        return
    try:
        check_folder(place)
        make_folder(place)
        check_folder(place)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new.")
    except Untrusted as reason:
        _tell(place, str(reason))
        return
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_digest(name, data) + data)
        os.replace(temporary, place / name)
    except OSError:
        _remove(temporary)
    except BaseException:
        _remove(temporary)
        raise


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass
