"""The emulator and GPU targets: kernels and a host program, from the cache where it has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from typing import Any

from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import print_module
from ragged_dialect.compiler.frontend import find_entry, functions, keep_only, load_program, mangle_symbols
from ragged_dialect.compiler.signatures import signature_of
from ragged_dialect.compiler.versions import versions
from ragged_dialect.errors import CompileError
from ragged_dialect.locks import once
from ragged_dialect.lowering import pipelines
from ragged_dialect.runtime import cache
from ragged_dialect.runtime.host_loading import load_host_program
from ragged_dialect.runtime.program import DeviceFunction
from ragged_dialect.runtime.stored_program import DeviceProgram

Finish = Callable[[str], str]


@dataclass(frozen=True)
class KernelOptions:
    """How kernels are made: with `narrow`, for 32-bit indices where a kernel may have them; `schedule` as
    `ragged-map-parallel` takes it."""

    narrow: bool = True
    schedule: str = "auto"


def compile_for_emulator(
    source: Any, entry: str | None, check: bool, sync: str, kernels: KernelOptions
) -> DeviceFunction:
    """A function on NumPy arrays whose kernels the emulator runs."""
    from ragged_dialect.emulator import Emulator
    from ragged_dialect.runtime.emulated import EmulatedDevice

    def build(source: Any, kernels: KernelOptions) -> DeviceProgram:
        return device_program(source, entry, check, kernels, ["llvm"], _unchanged)

    program, wide = build(source, kernels), _wide_kernels(build, source, kernels)
    _check_sync(program, sync)
    name = program.signature.name
    device = EmulatedDevice(Emulator(program.kernels), name, program.host, lambda: Emulator(wide()))
    return DeviceFunction(program.signature, load_host_program(program.host.source), device)


def compile_for_gpu(
    source: Any,
    entry: str | None,
    check: bool | str,
    sync: str,
    kernels: KernelOptions,
    arch: str | None,
    fast_math: bool,
) -> DeviceFunction:
    """A function on arrays of the GPU that is current. DeviceError where there is none."""
    from ragged_dialect.ptx.targets import PTX_VERSIONS, ptx_version
    from ragged_dialect.runtime.gpu import CupyDevice
    from ragged_dialect.runtime.gpu_driver import device_arch, require_cupy

    if arch is not None:
        ptx_version(arch)
    cupy = require_cupy()
    chosen = arch or device_arch(cupy, PTX_VERSIONS)

    def build(source: Any, kernels: KernelOptions) -> DeviceProgram:
        return ptx_program(source, entry, bool(check), chosen, fast_math, kernels)

    program, wide = build(source, kernels), _wide_kernels(build, source, kernels)
    _check_sync(program, sync)
    device = CupyDevice(cupy, program.signature.name, program.kernels, program.host, check == "sync", wide)
    return DeviceFunction(program.signature, load_host_program(program.host.source), device)


def compile_for_ptx_emulator(
    source: Any, entry: str | None, check: bool, sync: str, kernels: KernelOptions, arch: str, fast_math: bool
) -> DeviceFunction:
    """A function on NumPy arrays whose kernels run as PTX text, launched as on a GPU."""
    from ragged_dialect.emulator.cupy_stand_in import StandIn
    from ragged_dialect.emulator.ptx import loader
    from ragged_dialect.runtime.gpu import HostedDevice

    def build(source: Any, kernels: KernelOptions) -> DeviceProgram:
        return ptx_program(source, entry, check, arch, fast_math, kernels)

    program, wide = build(source, kernels), _wide_kernels(build, source, kernels)
    _check_sync(program, sync)
    cupy = StandIn(loader(), re.sub(r"\D", "", arch))
    device = HostedDevice(cupy, program.signature.name, program.kernels, program.host, check, wide)
    return DeviceFunction(program.signature, load_host_program(program.host.source), device)


def ptx_program(
    source: Any,
    entry: str | None,
    check: bool,
    arch: str,
    fast_math: bool = False,
    kernels: KernelOptions = KernelOptions(),
) -> DeviceProgram:
    """A function of a program with kernels in PTX. CompileError for an unknown arch."""
    from ragged_dialect.ptx import emit
    from ragged_dialect.ptx.targets import ptx_version

    ptx_version(arch)
    options = ["ptx", arch, fast_math]
    return device_program(source, entry, check, kernels, options, lambda ir: emit(ir, arch, fast_math))


def device_program(
    source: Any, entry: str | None, check: bool, kernels: KernelOptions, options: list[Any], finish: Finish
) -> DeviceProgram:
    """A function of a program with its kernels in the form that `finish` makes of LLVM IR; `options`
    tell that form apart. From the cache where it is there."""
    module = load_program(source)
    with module.context, ir.Location.unknown():
        function = find_entry(module, entry)
        name = function.attributes["sym_name"].value
        key = cache.key([print_module(module, generic=True), name, check, *astuple(kernels), *options, *versions()])

        def make() -> DeviceProgram:
            stored = _stored(key)
            if stored is not None:
                return stored
            keep_only(module, function)
            program = _lower(module, name, check, kernels, finish)
            cache.store(key, program.to_bytes())
            return program

        return once(key, make)


def _stored(key: str) -> DeviceProgram | None:
    content = cache.load(key)
    try:
        return None if content is None else DeviceProgram.from_bytes(content)
    except (ValueError, TypeError, LookupError, RecursionError):  # whole, but written by something else
        return None


def _lower(module: Any, name: str, check: bool, kernels: KernelOptions, finish: Finish) -> DeviceProgram:
    from ragged_dialect.lowering.gpu.device_modules import gpu_modules
    from ragged_dialect.lowering.gpu.host_program import host_source
    from ragged_dialect.lowering.gpu.translate import kernels_to_llvm, narrow_kernels_to_llvm, narrow_names

    layouts, *rest = pipelines.gpu_pipeline(check, kernels.schedule)
    layouts.run(module, verify=False)
    signature = signature_of(functions(module)[name])
    mangle_symbols(module)
    for stage in rest:
        stage.run(module, verify=False)
    narrow = narrow_names(module) if kernels.narrow else set[str]()
    host = host_source(module, narrow)
    if not gpu_modules(module.operation):
        return DeviceProgram(signature, host, "")
    translate = narrow_kernels_to_llvm if narrow else kernels_to_llvm
    return DeviceProgram(signature, host, finish(translate(module)))


def _wide_kernels(
    build: Callable[[Any, KernelOptions], DeviceProgram], source: Any, kernels: KernelOptions
) -> Callable[[], str]:
    """What makes the kernels with 64-bit indices, which few launches need, from the program as it is now."""
    kept = _kept(source) if kernels.narrow else source  # without narrow kernels nothing asks for these
    return lambda: build(kept, replace(kernels, narrow=False)).kernels


def _kept(source: Any) -> Any:
    """A program that does not change when a file or a module does."""
    if isinstance(source, Path):
        return source.read_bytes()
    return print_module(source, generic=True) if isinstance(source, ir.Module) else source


def _unchanged(text: str) -> str:
    return text


def _check_sync(program: DeviceProgram, sync: str) -> None:
    if sync == "forbid" and program.host.reads_back:
        raise CompileError(
            f"{program.signature.name}: expected a program that never waits for the device, got one with "
            f"{', '.join(program.host.reads_back)} on the host"
        )
