"""What the source of a program calls the arguments of a function."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragged_dialect.asm.locations import file_position, name_of

_VALUE = re.compile(rb"%([A-Za-z_][A-Za-z0-9_]*)")

if TYPE_CHECKING:
    from ragged_dialect._mlir import ir
    from ragged_dialect.compiler.frontend import Source


def argument_names(locations: Sequence[ir.Location], source: Source) -> list[str | None]:
    """A name per argument, given the arguments' locations: that of a named location, or else the
    `%name` at the place in the source, which is text, or a file that is still there. None where
    neither has one."""
    texts: dict[str, list[bytes]] = {}
    return [_name(location, source, texts) for location in locations]


def _name(location: ir.Location, source: Source, texts: dict[str, list[bytes]]) -> str | None:
    name = name_of(location)
    if name is not None:
        return name
    filename, line, column = file_position(location)
    if filename not in texts:
        texts[filename] = _lines(filename, source)
    if not 1 <= line <= len(texts[filename]):
        return None
    found = _VALUE.match(texts[filename][line - 1], column - 1)
    return found.group(1).decode() if found else None


def _lines(filename: str, source: Source) -> list[bytes]:
    if isinstance(source, (str, bytes)):
        return (source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source).split(b"\n")
    try:
        return Path(filename).read_bytes().split(b"\n")
    except OSError:
        return []
