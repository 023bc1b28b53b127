"""GPU architectures and the PTX version each gets."""

from __future__ import annotations

from ragged_dialect.errors import CompileError

DEFAULT_ARCH = "sm_80"

# The lowest PTX version that knows the architecture: a driver refuses versions newer than itself.
PTX_VERSIONS = {
    "sm_80": 70,
    "sm_86": 71,
    "sm_87": 74,
    "sm_89": 78,
    "sm_90": 78,
    "sm_90a": 80,
    "sm_100": 86,
    "sm_100a": 86,
    "sm_103": 88,
    "sm_110": 90,
    "sm_120": 87,
    "sm_121": 88,
}


def ptx_version(arch: str) -> int:
    """Ten times the PTX version for an architecture. CompileError for an unknown one."""
    version = PTX_VERSIONS.get(str(arch))
    if version is None:
        raise CompileError(f"expected an arch among {', '.join(PTX_VERSIONS)}, got '{arch}'")
    return version
