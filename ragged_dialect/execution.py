"""`compile`: a program, as text or as a module, to a callable on arrays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ragged_dialect._mlir import ir
from ragged_dialect.asm.files import read_file
from ragged_dialect.compiler.cpu import Lowered, compile_for_cpu, lower_for_cpu
from ragged_dialect.compiler.frontend import PROGRAM, Program, Source, load_program
from ragged_dialect.compiler.loading import thread_count
from ragged_dialect.compiler.options import TARGETS, Options
from ragged_dialect.errors import CompileError, DeviceError
from ragged_dialect.runtime.cpu import CpuFunction
from ragged_dialect.runtime.program import DeviceFunction
from ragged_dialect.runtime.recompiled import Recipe

__all__ = ["TARGETS", "Lowered", "compile", "lower_for_cpu", "thread_count"]


def compile(
    source: Source,
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

    `source` is text (short or generic form), bytecode, a `pathlib.Path`, or an `ir.Module`, which is not
    changed. `entry` may be left out when there is one public function.

    Targets: `cpu` takes and returns NumPy arrays, `emulator` too, but runs the GPU's kernels on the
    CPU and watches them; so does `ptx-emulator`, with their PTX, which is what a driver gets, launched as on
    a GPU; `gpu` takes arrays on the device (or NumPy's, which are copied to it) and returns CuPy arrays,
    queued on CuPy's current stream; `auto` is `gpu` where there is one, else `cpu`. The result's `target` says which.

    Without `check` run-time checks are left out, and invalid data is undefined behaviour. On the GPU a
    failed check is raised by a later call or by `synchronize()`; with `check="sync"` by the call
    itself, which then waits.

    For kernels, so not for `cpu`: `arch`, such as `sm_90`, is what PTX is made for (not for `emulator`; default: the
    current device); `sync="forbid"` refuses programs whose calls wait for the device; `fast_math` allows
    approximate functions; `schedule` is that of `ragged-map-parallel`; `index_bits` is 64, or 32 for kernels with
    32-bit indices, which run where every extent fits (the others are made when a call needs them; default: 32 on
    the GPU, 64 on the emulator).

    Threads on the CPU: RAGGED_NUM_THREADS, all cores by default. A compiled function in a pickle is what it was
    compiled of, and is compiled again where it is read, or found in the cache. Raises VerifyError, CompileError,
    PassError or DeviceError.
    """
    if entry is not None and not isinstance(entry, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompileError(f"expected a name for entry, got {type(entry).__name__}")
    filename = PROGRAM
    if isinstance(source, Path):
        filename, source = str(source), read_file(source)
    elif isinstance(source, ir.Module):
        source, entry = load_program(source, entry), None
    asked = Options(target, check, arch, sync, fast_math, schedule, index_bits)
    made = _compiled(source, entry, asked, filename)
    options = {"arch": arch, "sync": sync, "fast_math": fast_math, "schedule": schedule, "index_bits": index_bits}
    # The text of a program is there already: the cache was asked for it.
    text = source.text if isinstance(source, Program) else source
    made.recipe = Recipe(text, entry, target, check, tuple(options.items()))
    return made


def _compiled(source: Source, entry: str | None, options: Options, filename: str) -> CpuFunction | DeviceFunction:
    check = options.check
    if options.target == "auto":
        options = replace(options, target="gpu") if _has_gpu() else Options("cpu", check)
    if options.target == "cpu":
        return compile_for_cpu(source, entry, bool(check), filename)
    from ragged_dialect.compiler.device import compile_for_device  # start-up time

    return compile_for_device(source, entry, options, filename)


def _has_gpu() -> bool:
    from ragged_dialect.runtime.gpu_driver import require_cupy  # start-up time

    try:
        require_cupy()
    except DeviceError:
        return False
    return True
