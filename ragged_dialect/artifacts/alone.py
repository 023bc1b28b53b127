"""What compiled files have no groups of ranks for."""

from __future__ import annotations

from collections.abc import Container

from ragged_dialect.errors import CompileError
from ragged_dialect.ops.exchange import AllToAllOp


def require_alone(name: str, ops: Container[str]) -> None:
    """CompileError for a program that exchanges data with other ranks."""
    if AllToAllOp.OPERATION_NAME in ops:
        raise CompileError(f"{name}: expected a program of one rank for a file, got one with ragged.all_to_all")
