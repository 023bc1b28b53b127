"""Whether lowered IR may be translated."""

from __future__ import annotations

from ragged_dialect._mlir import ir
from ragged_dialect.errors import CompileError


def require_valid(module: ir.Module, name: str) -> None:
    """CompileError when a lowered module does not verify: translating it would take the process down."""
    try:
        module.operation.verify()
    except ir.MLIRError as error:
        raise CompileError(f"{name}: expected valid IR after the lowering, got: {error}") from None
