"""LLVM IR of kernels to PTX by llvmlite, and what ptxas says about it. Knows no MLIR."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ragged_dialect.ptx.targets import DEFAULT_ARCH, PTX_VERSIONS

if TYPE_CHECKING:
    from ragged_dialect.ptx.emission import emit

__all__ = ["DEFAULT_ARCH", "PTX_VERSIONS", "emit"]


def __getattr__(name: str) -> Any:
    """`emit`, imported when it is asked for: llvmlite takes longer to load than most of the tools."""
    if name == "emit":
        from ragged_dialect.ptx.emission import emit  # start-up time

        return emit
    raise AttributeError(name)
