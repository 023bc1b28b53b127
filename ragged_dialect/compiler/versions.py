"""What a compiled program depends on beside its source."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from ragged_dialect.host_cpu import code_features, host_flags, taken_away
from ragged_dialect.mlir_packages import mlir_libraries
from ragged_dialect.plugins import digest

_ROOT = Path(__file__).resolve().parent.parent


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """The state of this package's sources, which in a checkout change between releases, and of MLIR's libraries, which
    need not be loaded; llvmlite and the LLVM in it."""
    import llvmlite  # start-up time
    from llvmlite import binding

    llvm = ".".join(str(part) for part in binding.llvm_version_info)
    mlir = [f"{name} {digest(place)}" for name, place in mlir_libraries()]
    return (f"ragged-dialect {digest(_ROOT)}", *mlir, f"llvmlite {llvmlite.__version__}", f"LLVM {llvm}")


def own_version() -> str:
    """That of this package, or what says that it is none that is installed."""
    from importlib import metadata  # start-up time

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
