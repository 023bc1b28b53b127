"""What the CPU of this machine has, less what RAGGED_CPU_FEATURES takes away."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from functools import cache
from pathlib import Path

from ragged_dialect.errors import CompileError

_VARIABLE = "RAGGED_CPU_FEATURES"
_MASKED = re.compile(r"-[a-z0-9._-]+")
# LLVM's names of x86 features, each with those before it; a name without an entry takes nothing else with it.
_CHAIN = (
    "sse3",
    "ssse3",
    "sse4.1",
    "sse4.2",
    "avx",
    "f16c",
    "fma",
    "avx2",
    "avx512f",
    "avx512dq",
    "avx512bw",
    "avx512bf16",
    "amx-bf16",
)
_INEXACT = ("-avx512bf16", "-avxneconvert")
"""Roundings to bf16 that take subnormals for zeros. LLVM uses them for values that are bf16 already, too, where it has
kept them as f32."""
_NEVER = "amx"
"""Begins names that differ between the LLVMs of the bindings and of llvmlite; code uses none of them by itself."""
_TILES = "amx_bf16"
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA = 158, 0x1023, 18
"""The number of a system call, and its arguments (Documentation/arch/x86/xstate.rst of Linux)."""
_IN_CPUINFO = {"sse3": "pni", "sse4.1": "sse4_1", "sse4.2": "sse4_2", "avx512bf16": "avx512_bf16", "amx-bf16": _TILES}


def masked_features() -> tuple[str, ...]:
    """LLVM's names of the features that code must not use, each after a minus: those of the variable, those that are
    inexact, and all of AVX-512 where there are no masks of 16 bits: LLVM ends the process at comparisons of registers
    of 512 bits then. CompileError when the variable has anything else."""
    without = () if host_has("avx512bw") else ("-avx512f",)
    return (*dict.fromkeys((*taken_away(), *_INEXACT, *without)),) if is_x86() else taken_away()


def taken_away() -> tuple[str, ...]:
    """Those of the variable alone, and what cannot be without them. CompileError as for `masked_features`."""
    names = tuple(filter(None, os.environ.get(_VARIABLE, "").split(",")))
    for name in names:
        if _MASKED.fullmatch(name) is None:
            raise CompileError(f"expected {_VARIABLE} like '-avx512f,-fma', got '{name}'")
    first = min((_CHAIN.index(name[1:]) for name in names if name[1:] in _CHAIN), default=len(_CHAIN))
    after = tuple(f"-{feature}" for feature in _CHAIN[first:])  # LLVM would use FMA without F16C, which we do not
    return (*dict.fromkeys((*names, *after)),) if is_x86() else names


def code_features() -> tuple[str, ...]:
    """LLVM's names of what code may use, after a plus, and what it must not, after a minus: all that LLVM knows of this
    machine, and what is masked. Where a function names any, LLVM asks the machine no more."""
    return (*_own_features(), *masked_features())


def host_has(feature: str) -> bool:
    """Whether this machine has a feature of `_CHAIN` that the variable does not take away."""
    return f"-{feature}" not in taken_away() and _IN_CPUINFO.get(feature, feature) in _flags()


def host_family() -> tuple[str, str]:
    """Who made this machine's processor, and its family, as Linux has them; nothing of other machines."""
    return _entry("vendor_id"), _entry("cpu family")


def is_x86() -> bool:
    """Whether this machine has the features of `_CHAIN` at all."""
    return platform.machine() in ("x86_64", "AMD64", "i686")


def host_flags() -> tuple[str, ...]:
    """What Linux calls the features of this machine, in order."""
    return tuple(sorted(_flags()))


@cache
def _own_features() -> tuple[str, ...]:
    """What LLVM knows of this machine, as LLVM writes it."""
    from llvmlite import binding  # start-up time

    own = binding.get_host_cpu_features().flatten().split(",")
    return tuple(name for name in own if name and not name[1:].startswith(_NEVER))


@cache
def _flags() -> frozenset[str]:
    found = frozenset(_entry("flags").split())
    return found if _TILES not in found or _may_use_tiles() else found - {_TILES}


def _may_use_tiles() -> bool:
    """Whether Linux lets this process, and those it forks, use tiles, which it has to ask for: signals need more of
    their stacks then, and it is refused where one of them is too small."""
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XFEATURE_XTILEDATA) == 0


@cache
def _entry(name: str) -> str:
    """What Linux says of the first processor under a name."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    return next((line for line in lines if line.startswith(name)), "").partition(": ")[2]
