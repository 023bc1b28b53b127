"""Programs as every PTX text that they become: on three architectures, with 32-bit and 64-bit indices, with
shared variables as ptxas places them and as badly aligned as they may be. Where there is a GPU, programs run on that
instead, with both widths of indices."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from support.targets import has_gpu

from ragged_dialect.compiler.device import device_program
from ragged_dialect.compiler.frontend import load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.emulator.cupy_stand_in import StandIn
from ragged_dialect.emulator.ptx import loader
from ragged_dialect.ptx import emit
from ragged_dialect.runtime.gpu import HostedDevice
from ragged_dialect.runtime.gpu_driver import device_arch
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import DeviceFunction

ARCHS = ("sm_80", "sm_90", "sm_100")
_HEADER = re.compile(r"^\.(?:version|target) .*$", re.M)


def variants(source: Any, entry: str | None = None) -> Iterator[tuple[str, DeviceFunction]]:
    """Functions on NumPy arrays by what they are. Texts that differ in their header only are one, and so are both
    places of shared variables where there are none."""
    seen: set[tuple[str, bool]] = set()
    for narrow in (True, False):
        program = device_program(load_program(source, entry), KernelOptions(narrow=narrow))
        host = load_host_program(program.host.source)
        for arch, strict, cupy in _on_gpu() if has_gpu() else _on_stand_ins():
            ptx = emit(program.kernels, arch) if program.kernels else ""
            strict = strict and ".shared" in ptx
            if (_HEADER.sub("", ptx), strict) in seen:
                continue
            seen.add((_HEADER.sub("", ptx), strict))
            name = f"{arch}, {'narrow' if narrow else 'wide'}, {'strict' if strict else 'packed'}"
            device = HostedDevice(cupy, program.signature.name, ptx, program.host, True, _too_large)
            yield name, DeviceFunction(program.signature, host, device)


def _on_stand_ins() -> Iterator[tuple[str, bool, Any]]:
    """Architecture, whether shared variables are as badly aligned as they may be, and what runs it."""
    for arch in ARCHS:
        for strict in (False, True):
            yield arch, strict, StandIn(loader(strict), arch.removeprefix("sm_"))


def _on_gpu() -> Iterator[tuple[str, bool, Any]]:
    import cupy

    yield device_arch(cupy, ARCHS), False, cupy


def _too_large() -> str:
    raise AssertionError("expected arrays that 32-bit indices are enough for")
