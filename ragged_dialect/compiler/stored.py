"""What is compiled, from the cache where it has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from ragged_dialect import plugins
from ragged_dialect.compiler.versions import machine, versions
from ragged_dialect.locks import once
from ragged_dialect.runtime import cache
from ragged_dialect.runtime.stored_program import Stored

S = TypeVar("S", bound=Stored)


def stored(kind: type[S], parts: Sequence[object], make: Callable[[], S]) -> S:
    """What `make` makes of `parts`, or made in another process: all that it depends on beside versions, of plug-ins
    too, and, where it has code of a machine, that machine. Threads that ask for the same get one."""
    key = _key(kind, parts)

    def find() -> S:
        found = _read(kind, cache.load(key))
        if found is None:
            found = make()
            content = found.to_bytes()
            if content is not None:
                cache.store(key, content)
        return found

    return once(key, find)


def kept(kind: type[S], parts: Sequence[object]) -> S | None:
    """What was made of `parts`, in this process or another, if the cache has it."""
    return _read(kind, cache.load(_key(kind, parts)))


def _key(kind: type[S], parts: Sequence[object]) -> str:
    return cache.key([kind.__name__, *parts, *versions(), *plugins.versions(), *(machine() if kind.native else ())])


def _read(kind: type[S], content: bytes | None) -> S | None:
    try:
        return None if content is None else kind.from_bytes(content)
    except (ValueError, TypeError, LookupError, RecursionError):  # whole, but written by something else
        return None
