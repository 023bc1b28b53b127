"""`compile`: a program, as text or as a module, to a callable on arrays."""

from __future__ import annotations

from typing import Any

from ragged_dialect.compiler.cpu import Lowered, compile_for_cpu, lower_for_cpu, thread_count
from ragged_dialect.errors import CompileError, DeviceError
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.program import DeviceFunction

__all__ = ["TARGETS", "Lowered", "compile", "lower_for_cpu", "thread_count"]

TARGETS = ("cpu", "gpu", "emulator", "ptx-emulator", "auto")
_CHECKS = (True, False, "sync")
_SYNC = ("allow", "forbid")


def compile(
    source: Any,
    entry: str | None = None,
    target: str = "cpu",
    check: bool | str = True,
    *,
    arch: str | None = None,
    sync: str = "allow",
    fast_math: bool = False,
    schedule: str = "auto",
    index_bits: int | None = None,
) -> CpuFunction | DeviceFunction:
    """Compile a function of a program.

    `source` is text (short or generic form), bytecode, a path, or an `ir.Module`, which is not
    changed. `entry` may be left out when there is one public function.

    Targets: `cpu` takes and returns NumPy arrays, `emulator` too, but runs the GPU's kernels on the
    CPU and watches them; so does `ptx-emulator`, with their PTX, which is what a driver gets, launched as on
    a GPU; `gpu` takes arrays on the device (or NumPy's, which are copied to it) and returns CuPy arrays,
    queued on CuPy's current stream; `auto` is `gpu` where there is one, else `cpu`. The result's `target` says which.

    Without `check` run-time checks are left out, and invalid data is undefined behaviour. On the GPU a
    failed check is raised by a later call or by `synchronize()`; with `check="sync"` by the call
    itself, which then waits.

    For the GPU only: `arch`, like `sm_90`, is what code is made for (default: the current device);
    `sync="forbid"` refuses programs whose calls wait for the device; `fast_math` allows approximate
    functions. For the GPU and the emulator: `schedule` is that of `ragged-map-parallel`; `index_bits`
    is 64, or 32 for kernels with 32-bit indices, which run where every extent fits (the others are made
    when a call needs them; default: 32 on the GPU, 64 on the emulator).

    Threads on the CPU: RAGGED_NUM_THREADS, all cores by default. Raises VerifyError, CompileError,
    PassError or DeviceError.
    """
    if entry is not None and not isinstance(entry, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompileError(f"expected a name for entry, got {type(entry).__name__}")
    _check_options(target, check, arch, sync, index_bits)
    if target == "auto":
        target = _available()
        arch = arch if target == "gpu" else None
    if target == "cpu":
        return compile_for_cpu(source, entry, bool(check))
    from ragged_dialect.compiler.device import (
        KernelOptions,
        compile_for_emulator,
        compile_for_gpu,
        compile_for_ptx_emulator,
    )
    from ragged_dialect.ptx.targets import DEFAULT_ARCH

    if target == "emulator":
        return compile_for_emulator(source, entry, bool(check), sync, KernelOptions(index_bits == 32, schedule))
    narrow = KernelOptions(index_bits != 64, schedule)
    if target == "ptx-emulator":
        return compile_for_ptx_emulator(source, entry, bool(check), sync, narrow, arch or DEFAULT_ARCH, fast_math)
    return compile_for_gpu(source, entry, check, sync, narrow, arch, fast_math)


def _check_options(target: str, check: bool | str, arch: str | None, sync: str, index_bits: int | None) -> None:
    if target not in TARGETS:
        raise CompileError(f"expected a target among {', '.join(TARGETS)}, got '{target}'")
    if check not in _CHECKS:
        raise CompileError(f"expected True, False or 'sync' for check, got {check!r}")
    if sync not in _SYNC:
        raise CompileError(f"expected 'allow' or 'forbid' for sync, got {sync!r}")
    if index_bits not in (None, 32, 64):
        raise CompileError(f"expected 32 or 64 index bits, got {index_bits}")
    if arch is not None and target in ("cpu", "emulator"):
        raise CompileError(f"expected no arch for target '{target}', got '{arch}'")


def _available() -> str:
    from ragged_dialect.runtime.gpu_driver import require_cupy

    try:
        require_cupy()
    except DeviceError:
        return "cpu"
    return "gpu"
