"""Modules from what users give the tools."""

from __future__ import annotations

import pickle
from typing import Any

from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.asm.module import BYTECODE, load_module, print_module
from ragged_dialect.dialect import context as make_context
from ragged_dialect.errors import RaggedError


def load(data: str | bytes, context: Any, filename: str) -> Any:
    """The module of text or bytecode, verified. ParseError, or RaggedError for damaged bytecode."""
    if isinstance(data, bytes) and data.startswith(BYTECODE):
        _check_bytecode(data, filename)
    return load_module(data, context, filename)


def _check_bytecode(data: bytes, filename: str) -> None:
    """MLIR's bytecode reader can crash on damaged bytecode, and corrupt memory when it refuses it: a
    child reads and prints it first, and what the child refuses is not read here."""
    from ragged_dialect.tools.child import in_child

    def survive() -> bytes:
        try:
            print_module(load_module(data, make_context(), filename))
        except ParseError as error:
            return pickle.dumps(error.diagnostics)
        return b""

    refused = in_child(survive)
    if refused is None:
        raise RaggedError("expected MLIR bytecode, got some that MLIR cannot read")
    if refused:
        raise ParseError(*pickle.loads(refused))
