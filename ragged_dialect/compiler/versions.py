"""What a compiled program depends on beside its source."""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import metadata
from pathlib import Path

from ragged_dialect.host_cpu import code_features, host_flags, taken_away
from ragged_dialect.plugins import digest

_ROOT = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """This package, the state of its sources (in a checkout they change between releases), MLIR,
    llvmlite and the LLVM in it."""
    import llvmlite  # start-up time
    from llvmlite import binding

    from ragged_dialect._mlir import mlir_version  # start-up time

    llvm = ".".join(str(part) for part in binding.llvm_version_info)
    own = f"ragged-dialect {own_version()}"
    return (own, digest(_ROOT), mlir_version(), f"llvmlite {llvmlite.__version__}", f"LLVM {llvm}")


def own_version() -> str:
    """That of this package, or what says that it is none that is installed."""
    try:
        return metadata.version("ragged-dialect")
    except metadata.PackageNotFoundError:
        return "(not installed)"


@lru_cache(maxsize=1)
def _host() -> tuple[str, ...]:
    from llvmlite import binding  # start-up time

    libc = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    return (binding.get_host_cpu_name(), libc or "", *host_flags())


def machine() -> tuple[str, ...]:
    """What machine code depends on beside its program: the CPU and what is not to be used of it, and the C library,
    whose vector functions are called."""
    return (*_host(), *taken_away(), *code_features())
