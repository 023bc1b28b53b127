"""What programs on a device call to exchange rows with other ranks."""

from __future__ import annotations

from ragged_dialect import host_memory
from ragged_dialect.errors import ArgumentError
from ragged_dialect.ranks.calls import exchange_rows
from ragged_dialect.ranks.group import current
from ragged_dialect.runtime.signature import Argument


def exchange_on_device(rows: Argument, sent: Argument, room: Argument, received: Argument, *numbers: int) -> None:
    """`exchange_rows` of arrays on a device, after everything queued: elements go from device to device where the group
    has a link (`nccl`); others, and lengths, by way of the host's memory."""
    group, sends, receives = current(), sent.get(), received.get()
    ranks, row_bytes, what, lengths = numbers
    if group.link is not None and not lengths and rows.flags.c_contiguous and room.flags.c_contiguous:
        group.exchange_on_device(rows, sends.tolist(), room, receives.tolist(), row_bytes, what)
        return
    taken = host_memory.room(room.shape, room.dtype)
    exchange_rows(rows.get(), sends, taken, receives, ranks, row_bytes, what, lengths)
    room.set(taken)


def exchange_alone(rows: Argument, sent: Argument, room: Argument, received: Argument, *numbers: int) -> None:
    """The same where there is one rank. ArgumentError for others."""
    if current().size > 1:
        raise ArgumentError(f"expected one rank for target ptx-emulator, got {current().size}")
    exchange_on_device(rows, sent, room, received, *numbers)
