"""Exchanges that programs begin, and whose results they take later. Each function takes the address of some i64: what
is asked, and room for the answer."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ragged_dialect.host_memory import copied, room
from ragged_dialect.ranks.calls import memory
from ragged_dialect.ranks.engine import Bytes
from ragged_dialect.ranks.group import Exchange, Words, current


class _Received(NamedTuple):
    """What came: the offsets of ragged levels, how many rows, and these."""

    vectors: list[Words]
    rows: int
    values: Bytes


class _Sent(NamedTuple):
    """A ragged tensor on its way, in memory of its own: the program may free or reuse what it was made of, and where it
    fails it waits for nobody. `levels` are offsets, or extents of dense levels."""

    ranks: int
    levels: list[Words | int]
    what: int
    row_bytes: int
    agreed: int
    values: Bytes

    def exchanged(self, exchange: Exchange) -> _Received:
        """What comes: lengths level by level, then the elements."""
        sent = received = np.arange(self.ranks + 1)
        vectors: list[Words] = []
        for level, known in enumerate(self.levels, 1):
            if isinstance(known, int):
                sent, received = sent * known, received * known
                continue
            lengths = np.empty(received[-1], np.int64)
            exchange(np.diff(known), sent.tolist(), lengths, received.tolist(), 8, self.what + level, True)
            vectors.append(np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]))
            sent, received = known[sent], vectors[-1][received]
        came = room((int(received[-1]) * self.row_bytes,), np.dtype(np.uint8))
        exchange(self.values, sent.tolist(), came, received.tolist(), self.row_bytes, self.agreed, False)
        return _Received(vectors, int(received[-1]), came)


def start(address: int) -> None:
    """Begin an exchange of `ranks, levels, (is ragged, address of offsets or extent) for each, what, bytes of a row,
    what both sides agree on, address of the elements`. The answer is its number. ArgumentError for another number of
    ranks."""
    ranks, count = _words(address, 2).tolist()
    asked = _words(address, 2 + 2 * count + 4)
    levels: list[Words | int] = []
    components = ranks
    for is_ragged, known in asked[2:-4].reshape(-1, 2).tolist():
        offsets = _words(known, components + 1).copy() if is_ragged else None
        levels.append(known if offsets is None else offsets)
        components = components * known if offsets is None else int(offsets[-1])
    what, row_bytes, agreed, values = asked[-4:].tolist()
    sent = _Sent(ranks, levels, what, row_bytes, agreed, copied(memory(values, components * row_bytes)))
    group = current()
    group.require_ranks(ranks)
    asked[0] = group.begin(sent.exchanged)


def wait(address: int) -> None:
    """Wait for an exchange by its number. The answer is how many offsets of each level came, and how many rows.
    RankError."""
    received = _outcome(address)
    for place, size in enumerate([*map(len, received.vectors), received.rows]):
        _words(address, place + 1)[place] = size


def take(address: int) -> None:
    """Write what came to the addresses behind its number: offsets level by level, and rows."""
    received = _outcome(address)
    current().begun.pop(int(_words(address, 1)[0]))
    parts = [*received.vectors, received.values]
    for part, at in zip(parts, _words(address, 1 + len(parts))[1:].tolist(), strict=True):
        memory(at, part.nbytes)[:] = part.view(np.uint8)


def _outcome(address: int) -> _Received:
    received = current().begun[int(_words(address, 1)[0])].result()
    assert isinstance(received, _Received)
    return received


def _words(address: int, count: int) -> Words:
    return memory(address, 8 * count).view(np.int64)
