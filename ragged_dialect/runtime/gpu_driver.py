"""CuPy, the device and its driver: what is there, what code it takes, what its errors mean."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from types import ModuleType
from typing import Any

from ragged_dialect.errors import DeviceError, DeviceMemoryError

_PTX_TOO_NEW = 222
"""CUDA_ERROR_UNSUPPORTED_PTX_VERSION."""


def require_cupy() -> ModuleType:
    """The module cupy. DeviceError where it is missing, or finds no GPU."""
    try:
        cupy = importlib.import_module("cupy")
    except ImportError as error:
        raise DeviceError(
            f"expected CuPy to run on a GPU, got: {error}; pip install cupy-cuda12x or cupy-cuda13x"
        ) from None
    try:
        count, reason = cupy.cuda.runtime.getDeviceCount(), "no device"
    except cupy.cuda.runtime.CUDARuntimeError as error:
        count, reason = 0, str(error)
    if not count:
        raise DeviceError(f"expected a GPU, got none ({reason})")
    return cupy


def device_arch(cupy: ModuleType, known: Iterable[str]) -> str:
    """The newest architecture among `known` whose code the current device runs. DeviceError for a
    device older than all."""
    capability = int(cupy.cuda.Device().compute_capability)
    able = [arch for arch in known if arch[-1].isdigit() and int(arch[3:]) <= capability]
    if not able:
        got = f"{capability // 10}.{capability % 10}"
        raise DeviceError(f"expected a GPU of compute capability 8.0 or newer, got one of {got}")
    return max(able, key=lambda arch: int(arch[3:]))


def load_module(cupy: ModuleType, name: str, ptx: str) -> Any:
    """The module of PTX on the current device. DeviceError when device or driver cannot run it."""
    arch = _found(r"^\.target (\w+)", ptx)
    capability = int(cupy.cuda.Device().compute_capability)
    number, exact = int(re.sub(r"\D", "", arch)), not arch[-1].isdigit()
    if number > capability or (exact and number != capability):
        raise DeviceError(f"{name}: expected code for sm_{capability}, got code for {arch}; compile with another arch")
    version = _found(r"^\.version (\d+\.\d+)", ptx)
    needed, driver = cuda_of_ptx(version), cupy.cuda.runtime.driverGetVersion()
    if driver < needed:
        raise _too_old(name, version, needed, driver)
    module = cupy.cuda.function.Module()
    try:
        module.load(ptx.encode())
    except cupy.cuda.driver.CUDADriverError as error:
        if error.status == _PTX_TOO_NEW:
            raise _too_old(name, version, needed, driver) from None
        raise DeviceError(f"{name}: expected PTX that the driver takes, got {error}") from None
    return module


def _found(pattern: str, ptx: str) -> str:
    match = re.search(pattern, ptx, re.MULTILINE)
    if match is None:
        raise DeviceError("expected PTX with .version and .target, got other text")
    return match[1]


def cuda_of_ptx(version: str) -> int:
    """The CUDA version, as drivers tell it (12040 for 12.4), that a PTX version such as `8.4` came with."""
    major, minor = (int(part) for part in version.split("."))
    skipped = major == 8 and minor > 5  # 12.6 brought no new PTX version
    return (major + 4) * 1000 + (minor + skipped) * 10


def _too_old(name: str, version: str, needed: int, driver: int) -> DeviceError:
    return DeviceError(
        f"{name}: expected a driver for CUDA {_dotted(needed)} or newer, which PTX {version} needs, got one for CUDA "
        f"{_dotted(driver)}; update the driver or compile for an older arch"
    )


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


def device_errors(cupy: ModuleType) -> tuple[type[Exception], ...]:
    """The exceptions of CuPy that `explained` knows."""
    return (
        cupy.cuda.memory.OutOfMemoryError,
        cupy.cuda.driver.CUDADriverError,
        cupy.cuda.runtime.CUDARuntimeError,
    )


def explained(cupy: ModuleType, name: str, error: Exception) -> DeviceError:
    """What an exception of CuPy means, and what to do."""
    if isinstance(error, cupy.cuda.memory.OutOfMemoryError):
        advice = "free arrays, or call cupy.get_default_memory_pool().free_all_blocks()"
        return DeviceMemoryError(f"{name}: expected enough free memory on the device, got: {error}; {advice}")
    advice = "after a memory error the process must start again; compile with check=True to find invalid data"
    return DeviceError(f"{name}: expected the device to run, got {error}; {advice}")
