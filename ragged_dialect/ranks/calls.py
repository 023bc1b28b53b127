"""What programs call to exchange rows with other ranks."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragged_dialect.ranks.engine import Bytes
from ragged_dialect.ranks.group import Words, current


def exchange_rows(
    rows: NDArray[np.generic],
    sent: Words,
    room: NDArray[np.generic],
    received: Words,
    ranks: int,
    row_bytes: int,
    what: int,
    is_lengths: int,
) -> None:
    """An exchange of the group that is entered (`Group.exchange`): `sent` and `received` bound the rows of every rank.
    ArgumentError, RankError."""
    current().exchange(rows, sent.tolist(), room, received.tolist(), row_bytes, what, bool(is_lengths))


def exchange(
    rows: int, sent: int, room: int, received: int, ranks: int, row_bytes: int, what: int, is_lengths: int
) -> None:
    """The same by the addresses of the arrays."""
    sends, receives = (memory(at, 8 * (ranks + 1)).view(np.int64) for at in (sent, received))
    send, receive = memory(rows, int(sends[-1]) * row_bytes), memory(room, int(receives[-1]) * row_bytes)
    exchange_rows(send, sends, receive, receives, ranks, row_bytes, what, is_lengths)


def memory(address: int, size: int) -> Bytes:
    """Bytes that are somewhere; of none, the address may be any."""
    if not size:
        return np.empty(0, np.uint8)
    memory: Any = (ctypes.c_uint8 * size).from_address(address)
    return np.frombuffer(memory, np.uint8)
