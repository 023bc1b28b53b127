"""NVIDIA's command line tools and libdevice: where a CUDA toolkit or the wheels put them."""

from __future__ import annotations

import os
import shutil
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from ragged_dialect.errors import CompileError

_WHEELS = {"ptxas": "nvidia-cuda-nvcc", "cuobjdump": "nvidia-cuda-cuobjdump", "nvdisasm": "nvidia-cuda-nvdisasm"}


def find_tool(name: str) -> Path | None:
    """The path of ptxas, cuobjdump or nvdisasm: in CUDA_HOME, on PATH, or from NVIDIA's wheels."""
    home = os.environ.get("CUDA_HOME")
    on_path = shutil.which(name)
    candidates = [Path(home) / "bin" / name] if home else []
    candidates += [Path(on_path)] if on_path else []
    candidates += [folder / "bin" / name for folder in wheel_folders()]
    return next((path for path in candidates if os.access(path, os.X_OK)), None)


def require_tool(name: str) -> Path:
    """The path of a tool. CompileError that says what to install when there is none."""
    found = find_tool(name)
    if found is None:
        raise CompileError(
            f"expected {name} in CUDA_HOME/bin, on PATH or from the wheel {_WHEELS[name]}, got none "
            "(pip install 'ragged-dialect[ptx-tools]', or the CUDA toolkit)"
        )
    return found


def wheel_folders() -> Iterator[Path]:
    """Where NVIDIA's wheels unpack: nvidia/cu13 and the like, the newest first."""
    for key in ("purelib", "platlib"):
        yield from sorted(Path(sysconfig.get_path(key), "nvidia").glob("cu[0-9]*"), reverse=True)
        yield from sorted(Path(sysconfig.get_path(key), "nvidia").glob("cuda_nvcc"))
