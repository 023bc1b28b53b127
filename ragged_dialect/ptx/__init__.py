"""LLVM IR of kernels to PTX by llvmlite, and what ptxas says about it. Knows no MLIR."""

from ragged_dialect.ptx.emission import emit
from ragged_dialect.ptx.targets import DEFAULT_ARCH, PTX_VERSIONS

__all__ = ["DEFAULT_ARCH", "PTX_VERSIONS", "emit"]
