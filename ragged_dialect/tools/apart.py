"""What a tool writes is apart from what it reads, and from what else it writes: one check, before anything is read."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Sequence

from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.cli import RESULT, STREAM

_STREAMS = ((1, "standard output"), (2, "standard error"))


def require_apart(outputs: Iterable[tuple[str, str]], read: Iterable[str], modules: Sequence[str] = ()) -> None:
    """RaggedError for an output, with its flag, over a file that is read or in a folder that is, over a standard stream
    that goes to a file, over the sources of modules, or over another output. New files are always right."""
    outputs = list(outputs)
    if all(flag == RESULT for flag, _ in outputs):
        return
    read = [path for path in (*read, *_sources(modules)) if path == STREAM or os.path.exists(path)]
    files: dict[object, str] = {key: name for fd, name in _STREAMS if (key := _key(fd)) is not None}
    for flag, path in outputs:
        if path == STREAM or (os.path.exists(path) and not os.path.isfile(path)):
            continue
        if flag != RESULT and os.path.exists(path) and any(_holds(one, path) for one in read):
            raise RaggedError(f"expected a file that is not read for {flag}, got '{path}'")
        first = files.setdefault(_key(path) or os.path.realpath(path), flag)
        if first != flag:
            raise RaggedError(f"expected another file for {flag} than for {first}, got '{path}' for both")


def _key(file: str | int) -> tuple[int, int] | None:
    """What names a regular file that there is, whatever its paths are; of a stream by its number."""
    try:
        found = os.stat(file)
    except (OSError, ValueError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _holds(read: str, path: str) -> bool:
    """Whether a file that there is is one that is read, or in such a folder."""
    if read != STREAM and os.path.isdir(read):
        folder = os.path.realpath(read)
        return os.path.commonpath([folder, os.path.realpath(path)]) == folder
    return _key(path) == _key(0 if read == STREAM else read)


def _sources(modules: Sequence[str]) -> list[str]:
    """The files, or the folders, of modules and of the packages that they are in. None of those that there are not,
    which whoever imports them reports."""
    if not modules:
        return []
    from importlib.util import find_spec  # start-up time

    found: list[str] = []
    for root in {name.split(".")[0] for name in modules}:
        spec = find_spec(root) if root.isidentifier() and root not in sys.builtin_module_names else None
        if spec is not None:
            found += spec.submodule_search_locations or [spec.origin or ""]
    return found
