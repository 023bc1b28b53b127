"""Reading files that a user names: they may be pipes or devices, which have no size and may be endless."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import BinaryIO

from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.errors import RaggedError

LONGEST_STREAM = 1 << 28

_PIECE = 1 << 20


def read_file(path: str | Path) -> bytes:
    """The bytes of a file. RaggedError for what is endless, OSError for what cannot be read."""
    if stat.S_ISREG(os.stat(path).st_mode):
        return Path(path).read_bytes()
    with open(path, "rb") as file:
        return read_stream(file)


def read_stream(stream: BinaryIO) -> bytes:
    """The bytes of a stream. RaggedError for more than `LONGEST_STREAM` of them, or for what starts as neither text
    nor bytecode does."""
    data = bytearray()
    while piece := stream.read(_PIECE):
        if not data and b"\0" in piece and not is_bytecode(piece):
            raise RaggedError("expected MLIR text or bytecode, got a zero byte")
        data += piece
        if len(data) > LONGEST_STREAM:
            raise RaggedError(f"expected at most {LONGEST_STREAM >> 20} MiB from a stream, got more")
    return bytes(data)


def reason(error: OSError | UnicodeDecodeError) -> str:
    """Why a file could not be read, in words."""
    return (error.strerror or str(error)).lower() if isinstance(error, OSError) else "bytes that are not UTF-8"
