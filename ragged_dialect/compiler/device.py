"""The emulator and GPU targets: kernels and a host program, from the cache where it has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, replace

from ragged_dialect.compiler.frontend import Program, Source, load_program
from ragged_dialect.compiler.options import KernelOptions, Options
from ragged_dialect.compiler.stored import stored
from ragged_dialect.errors import CompileError
from ragged_dialect.lowering import pipelines
from ragged_dialect.lowering.attributes import AUTO, schedule_names
from ragged_dialect.runtime.gpu_exchange import exchange_alone, exchange_on_device
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import Device, DeviceFunction
from ragged_dialect.runtime.stored_program import DeviceProgram

MakeDevice = Callable[[DeviceProgram, Callable[[], str]], Device]
"""Takes a program and what makes its kernels with 64-bit indices."""


def compile_for_device(source: Source, entry: str | None, options: Options, filename: str) -> DeviceFunction:
    """A function of a program whose kernels a device runs. DeviceError where there is none."""
    arch, make_device = _DEVICES[options.target](options)
    kernels = options.kernels(arch)
    loaded = load_program(source, entry, filename)
    wide = wide_kernels(loaded, kernels)
    program = device_program(loaded, kernels)
    _check_sync(program, options.sync)
    return DeviceFunction(program.signature, load_host_program(program.host.source), make_device(program, wide))


def _emulator(options: Options) -> tuple[None, MakeDevice]:
    """NumPy arrays; the emulator runs LLVM IR."""
    from ragged_dialect.emulator import Emulator  # start-up time
    from ragged_dialect.runtime.emulated import EmulatedDevice

    def make(program: DeviceProgram, wide: Callable[[], str]) -> Device:
        emulator = Emulator(program.kernels)
        return EmulatedDevice(emulator, program.signature.name, program.host, lambda: Emulator(wide()))

    return None, make


def _ptx_emulator(options: Options) -> tuple[str, MakeDevice]:
    """NumPy arrays; the PTX text is launched as on a GPU."""
    from ragged_dialect.emulator.cupy_stand_in import StandIn  # start-up time
    from ragged_dialect.emulator.ptx import loader
    from ragged_dialect.ptx.targets import DEFAULT_ARCH
    from ragged_dialect.runtime.gpu import HostedDevice

    arch = DEFAULT_ARCH if options.arch is None else options.arch

    def make(program: DeviceProgram, wide: Callable[[], str]) -> Device:
        cupy = StandIn(loader(), re.sub(r"\D", "", arch))
        return HostedDevice(cupy, program.signature.name, program.kernels, program.host, True, wide, exchange_alone)

    return arch, make


def _gpu(options: Options) -> tuple[str, MakeDevice]:
    """Arrays of the GPU that is current."""
    from ragged_dialect.ptx.targets import PTX_VERSIONS, ptx_version  # start-up time
    from ragged_dialect.runtime.gpu import CupyDevice
    from ragged_dialect.runtime.gpu_driver import device_arch, require_cupy

    if options.arch is not None:
        ptx_version(options.arch)
    cupy = require_cupy()

    def make(program: DeviceProgram, wide: Callable[[], str]) -> Device:
        sync = options.check == "sync"
        return CupyDevice(cupy, program.signature.name, program.kernels, program.host, sync, wide, exchange_on_device)

    return device_arch(cupy, PTX_VERSIONS) if options.arch is None else options.arch, make


_DEVICES: dict[str, Callable[[Options], tuple[str | None, MakeDevice]]] = {
    "emulator": _emulator,
    "ptx-emulator": _ptx_emulator,
    "gpu": _gpu,
}
"""By target: the architecture whose PTX the device runs, and the device of a program."""


def device_program(program: Program, kernels: KernelOptions) -> DeviceProgram:
    """A program with its kernels, from the cache where it is there."""
    for name in (kernels.schedule, *re.findall(r'schedule = "([^"]*)"', program.text)):
        if name != AUTO:
            schedule_names(name)  # of which plug-in, whose version is part of what the cache is asked for
    return stored(DeviceProgram, [program.text, *astuple(kernels)], lambda: _lower(program, kernels))


def _lower(program: Program, kernels: KernelOptions) -> DeviceProgram:
    from ragged_dialect.lowering.gpu.host.program import host_source  # start-up time
    from ragged_dialect.lowering.gpu.nvvm.device_modules import gpu_modules
    from ragged_dialect.lowering.gpu.nvvm.translate import kernels_to_llvm, narrow_kernels_to_llvm, narrow_names

    module = program.module
    signature = program.lower(*pipelines.gpu_pipeline(kernels.check, kernels.schedule))
    with module.context:
        narrow = narrow_names(module) if kernels.narrow else set[str]()
        host = host_source(module, narrow)
        if not gpu_modules(module.operation):
            return DeviceProgram(signature, host, "")
        text = (narrow_kernels_to_llvm if narrow else kernels_to_llvm)(module)
    return DeviceProgram(signature, host, _in_ptx(text, kernels))


def _in_ptx(llvm_ir: str, kernels: KernelOptions) -> str:
    if kernels.arch is None:
        return llvm_ir
    from ragged_dialect.ptx import emit  # start-up time

    return emit(llvm_ir, kernels.arch, kernels.fast_math)


def wide_kernels(program: Program, kernels: KernelOptions) -> Callable[[], str]:
    """What makes the kernels with 64-bit indices, which few launches need."""
    again = program.again()
    return lambda: device_program(again(), replace(kernels, narrow=False)).kernels


def _check_sync(program: DeviceProgram, sync: str) -> None:
    if sync == "forbid" and program.host.reads_back:
        raise CompileError(
            f"{program.signature.name}: expected a program that never waits for the device, got one with "
            f"{', '.join(program.host.reads_back)} on the host"
        )
