"""Modules from what users give the tools."""

from __future__ import annotations

import contextlib
from typing import Any

from ragged_dialect.asm.module import BYTECODE, load_module, print_module
from ragged_dialect.dialect import context as make_context
from ragged_dialect.errors import RaggedError


def load(data: str | bytes, context: Any, filename: str) -> Any:
    """The module of text or bytecode, verified. ParseError, or RaggedError for damaged bytecode."""
    if isinstance(data, bytes) and data.startswith(BYTECODE):
        _check_bytecode(data)
    return load_module(data, context, filename)


def _check_bytecode(data: bytes) -> None:
    """MLIR's bytecode reader can crash on damaged bytecode: a child reads and prints it first."""
    from ragged_dialect.tools.child import in_child

    def survive() -> bytes:
        with contextlib.suppress(RaggedError):
            return print_module(load_module(data, make_context())).encode()
        return b""

    if in_child(survive) is None:
        raise RaggedError("expected MLIR bytecode, got some that MLIR cannot read")
