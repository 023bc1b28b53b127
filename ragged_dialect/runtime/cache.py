"""Compiled programs on disk: one file per program, safe to share between processes.

The folder is RAGGED_CACHE_DIR, or `ragged-dialect` in XDG_CACHE_HOME or ~/.cache; RAGGED_CACHE=0
turns the cache off. A folder that cannot be written is no cache, a damaged file no entry.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_FORMAT = 1
_DIGEST = 64


def folder() -> Path | None:
    """Where programs are kept; None when the cache is off."""
    if os.environ.get("RAGGED_CACHE", "") == "0":
        return None
    chosen = os.environ.get("RAGGED_CACHE_DIR", "")
    if chosen:
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not base:
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:  # no home
            return None
    return Path(base) / "ragged-dialect"


def key(parts: Sequence[Any]) -> str:
    """Name of the entry for all that a program depends on."""
    return hashlib.sha256(json.dumps([_FORMAT, *parts]).encode()).hexdigest()


def load(name: str) -> bytes | None:
    """The data of an entry; None without one, or when it is damaged."""
    place = folder()
    if place is None:
        return None
    try:
        content = (place / name).read_bytes()
    except OSError:
        return None
    digest, data = content[:_DIGEST], content[_DIGEST:]
    return data if hashlib.sha256(data).hexdigest().encode() == digest else None


def store(name: str, data: bytes) -> None:
    """Keep data under a name, whole or not at all. A folder or disk that refuses it is ignored."""
    place = folder()
    if place is None:
        return
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=place, prefix=".new.")
    except OSError:
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(data).hexdigest().encode() + data)
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
