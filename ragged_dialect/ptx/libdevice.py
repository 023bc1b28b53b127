"""NVIDIA's libdevice, found on the user's machine: the math functions that prelude.ll does not have."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path

import llvmlite.binding as llvm

from ragged_dialect.errors import CompileError
from ragged_dialect.ptx.tools import wheel_folders

_NAME = "libdevice.10.bc"


def find_libdevice() -> Path | None:
    """The bitcode file: in CUDA_HOME, /usr/local/cuda, the nvidia-nvvm wheel, or Triton's copy."""
    return next((path for path in _candidates() if path.is_file()), None)


def _candidates() -> Iterator[Path]:
    home = os.environ.get("CUDA_HOME")
    for folder in ([Path(home)] if home else []) + [Path("/usr/local/cuda"), *wheel_folders()]:
        yield folder / "nvvm" / "libdevice" / _NAME
    yield Path(sysconfig.get_path("purelib")) / "triton" / "backends" / "nvidia" / "lib" / _NAME


def link(module: llvm.ModuleRef, names: Iterable[str]) -> None:
    """Define functions of libdevice in a module. CompileError when there is no libdevice, or it has
    no such function."""
    wanted = sorted(names)
    path = find_libdevice()
    if path is None:
        raise CompileError(
            f"expected libdevice for {', '.join(wanted)}, got none in CUDA_HOME, /usr/local/cuda or the wheels "
            "(pip install nvidia-nvvm, or the CUDA toolkit)"
        )
    module.link_in(llvm.parse_bitcode(_functions(path, tuple(wanted))))


@lru_cache(maxsize=128)
def _functions(path: Path, names: tuple[str, ...]) -> bytes:
    """Bitcode of functions with what they call: linking the whole file takes longer than all else."""
    library = llvm.parse_bitcode(_library(path))
    absent = sorted(set(names) - {f.name for f in library.functions if not f.is_declaration})
    if absent:
        raise CompileError(f"expected functions of {path}, got {', '.join(absent)}")
    user = llvm.parse_assembly("\n".join(_declaration(library.get_function(name)) for name in names))
    user.triple, user.data_layout = library.triple, library.data_layout
    user.link_in(library)
    return user.as_bitcode()


@lru_cache(maxsize=1)
def _library(path: Path) -> bytes:
    """The bitcode, such that the linker takes what is referenced and leaves what is defined."""
    library = llvm.parse_bitcode(path.read_bytes())
    for function in library.functions:
        if not function.is_declaration:
            function.linkage = "linkonce_odr"
    return library.as_bitcode()


def _declaration(function: llvm.ValueRef) -> str:
    result, parameters = str(function.global_value_type).split("(", 1)
    return f"declare {result.strip()} @{function.name}({parameters}"
