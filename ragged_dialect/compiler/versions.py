"""What a compiled program depends on beside its source."""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from importlib import metadata
from pathlib import Path


@lru_cache(maxsize=1)
def versions() -> tuple[str, ...]:
    """This package, the state of its sources (in a checkout they change between releases), MLIR,
    llvmlite and the LLVM in it."""
    import llvmlite
    from llvmlite import binding

    from ragged_dialect._mlir import mlir_version

    llvm = ".".join(str(part) for part in binding.llvm_version_info)
    return (_own_version(), _sources(), mlir_version(), f"llvmlite {llvmlite.__version__}", f"LLVM {llvm}")


def _own_version() -> str:
    try:
        return f"ragged-dialect {metadata.version('ragged-dialect')}"
    except metadata.PackageNotFoundError:
        return "ragged-dialect (not installed)"


def _sources() -> str:
    """A digest of names, sizes and times of the source files."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for folder, _, names in sorted(os.walk(root, followlinks=True)):
        for name in sorted(names):
            if not name.endswith(".pyc"):
                state = os.stat(os.path.join(folder, name))
                digest.update(f"{folder}/{name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()
