"""Bytecode, read where it can do no harm."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.child import in_child
from ragged_dialect.errors import VerifyError

BYTECODE = b"ML\xefR"
_STDERR = 2

# Reading runs at a few hundred kilobytes per second.
_LEAST_SECONDS = 5
_BYTES_PER_SECOND = 1 << 15


def is_bytecode(data: str | bytes) -> bool:
    """Whether a program is MLIR bytecode and not text."""
    return isinstance(data, bytes) and data.startswith(BYTECODE)


def probe(load: Callable[[], Any], size: int) -> None:
    """Refuse what `load` cannot read of `size` bytes, before this process tries: MLIR's bytecode
    reader can crash on damaged bytecode or never end, and corrupts memory when it refuses some. A
    child loads and prints the module first. ParseError with what the child was told; VerifyError
    when it died."""

    def survive() -> bytes:
        os.dup2(os.open(os.devnull, os.O_WRONLY), _STDERR)  # the C++ runtime prints how it dies
        try:
            load().operation.get_asm()
        except ParseError as error:
            import pickle  # start-up time

            return pickle.dumps(error.diagnostics)
        return b""

    refused = in_child(survive, _LEAST_SECONDS + size // _BYTES_PER_SECOND)
    if refused is None:
        raise VerifyError("expected MLIR bytecode, got some that MLIR cannot read")
    if refused:
        import pickle  # start-up time

        raise ParseError(*pickle.loads(refused))
