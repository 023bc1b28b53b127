"""Runs kernels as PTX text: what the driver of a GPU gets, after LLVM's optimiser."""

from ragged_dialect.emulator.ptx.executor import PtxExecutor
from ragged_dialect.emulator.ptx.loader import loader

__all__ = ["PtxExecutor", "loader"]
