"""A function of a program as one Python file for the GPU, which needs NumPy and CuPy only."""

from __future__ import annotations

import builtins
import keyword
from pathlib import Path

import numpy as np

from ragged_dialect import checks, device_model, errors, narrowing
from ragged_dialect.artifacts.alone import require_alone
from ragged_dialect.artifacts.amalgamation import amalgamate
from ragged_dialect.compiler.device import device_program, wide_kernels
from ragged_dialect.compiler.frontend import Source, load_program
from ragged_dialect.compiler.options import KernelOptions
from ragged_dialect.runtime import (
    arguments,
    gpu,
    gpu_arrays,
    gpu_driver,
    gpu_status,
    host_numbers,
    host_program,
    narrow,
    printing,
    program,
    recompiled,
    signature,
    status,
)
from ragged_dialect.runtime.signature import Group, Part, dtype_name
from ragged_dialect.runtime.stored_program import DeviceProgram
from ragged_dialect.runtime.whole_files import replacing
from ragged_dialect.symbols import spell

RUNTIME = (
    errors,
    narrowing,
    checks,
    device_model,
    status,
    signature,
    arguments,
    host_numbers,
    host_program,
    printing,
    recompiled,
    narrow,
    program,
    gpu_arrays,
    gpu_driver,
    gpu_status,
    gpu,
)
"""The modules a file carries, in the order of their imports."""

_OWN_NAMES = frozenset({"bind", "SIGNATURE", "HOST", "PTX", "WIDE_PTX", "loaded", "cache", "bfloat16"})
_TAKEN = _OWN_NAMES | set(dir(builtins)) | set(keyword.kwlist)

_FILE = '''\
"""{function}, compiled for {arch}. Needs NumPy and CuPy.

{function}({arguments}) -> {results}

Takes arrays on the device (of CuPy, PyTorch, JAX, or others that speak DLPack) without a copy, and
NumPy arrays, which are copied to it. Results are CuPy arrays, queued on CuPy's current stream.{about_checks}
"""

from __future__ import annotations

{imports}

__all__ = ["{function}", "synchronize"]

{code}


# The program.

SIGNATURE = Signature(
    {name!r},
    ({argument_groups}),
    ({result_groups}),
)

HOST = HostProgram(
    "",
    {{{constants}}},
    ({checks}),
    {labels!r},
    {reads_back!r},
)

PTX = r"""{ptx}"""

# The kernels for buffers of 2**30 elements or more.
WIDE_PTX = r"""{wide}"""


{bind}

@cache
def loaded() -> DeviceFunction:
    """The function on the device that is current at the first call."""
    return DeviceFunction(SIGNATURE, bind, CupyDevice(require_cupy(), {name!r}, PTX, HOST, {sync}, lambda: WIDE_PTX))


def {function}(*arguments: Any) -> Any:
    """Queue a call. ArgumentError, RuntimeCheckError or DeviceError, all of them RaggedError."""
    return loaded()(*arguments)
'''

_CHECKS = """
A failed check is raised by a later call on the stream, or by synchronize()."""
_CHECKS_AT_ONCE = """
Every call waits for its checks."""


def write(
    source: Source,
    entry: str | None,
    output: Path | str,
    check: bool | str = True,
    *,
    arch: str,
    fast_math: bool = False,
    schedule: str = "auto",
) -> Path:
    """Write a module to a file; see `python_module`. OSError when the file cannot be written."""
    text = python_module(source, entry, check, arch=arch, fast_math=fast_math, schedule=schedule)
    with replacing(output) as file:
        file.write(text.encode())
    return Path(output)


def python_module(
    source: Source,
    entry: str | None,
    check: bool | str = True,
    *,
    arch: str,
    fast_math: bool = False,
    schedule: str = "auto",
) -> str:
    """The text of a module with a function. It is called as the entry, or has the mangled form of that
    name (`symbols.py`) where it is none of Python's identifiers, or one that Python or the module has.

    The options are those of `ragged_dialect.compile`. VerifyError, PassError, or CompileError for a
    program that cannot be lowered, an unknown arch."""
    kernels = KernelOptions(bool(check), True, schedule, arch, fast_math)
    loaded = load_program(source, entry)
    wide = wide_kernels(loaded, kernels)
    program = device_program(loaded, kernels)
    return module_text(program, wide(), arch, check == "sync")


def module_text(program: DeviceProgram, wide: str, arch: str, sync: bool) -> str:
    """The text of the module; `wide` is the PTX of its kernels with 64-bit indices."""
    name, host = program.signature.name, program.host
    require_alone(name, host.reads_back)
    runtime = amalgamate(RUNTIME)
    groups = program.signature.arguments, program.signature.results
    imports = ["from functools import cache", *runtime.imports.splitlines()]
    if "bfloat16" in host.source:
        imports.append("from ml_dtypes import bfloat16")
    return _FILE.format(
        name=name,
        function=spell(name, (runtime.names | runtime.imported | _TAKEN).__contains__),
        arch=arch,
        arguments=", ".join(_described(group) for group in groups[0]),
        results=", ".join(_described(group) for group in groups[1]) or "None",
        about_checks=(_CHECKS_AT_ONCE if sync else _CHECKS) if host.checks else "",
        imports="\n".join(sorted(imports, key=lambda line: (line.startswith("from"), line))),
        code=runtime.code,
        argument_groups=_listed([_group(group) for group in groups[0]]),
        result_groups=_listed([_group(group) for group in groups[1]]),
        constants=_listed([f"{key!r}: {_array(value)}" for key, value in host.constants.items()]),
        checks=_listed([f"Check({c.kind!r}, {c.op!r}, {c.level})" for c in host.checks]),
        labels=host.labels,
        reads_back=host.reads_back,
        ptx=program.kernels,
        wide=wide,
        bind=host.source,
        sync=sync,
    )


def _listed(items: list[str]) -> str:
    """Elements of a tuple or a dict, one per line."""
    return "".join(f"\n        {item}," for item in items) + ("\n    " if items else "")


def _described(group: Group) -> str:
    parts = [_described_part(part) for part in group.parts]
    return f"({', '.join(parts)})" if group.ragged else parts[0]


def _described_part(part: Part) -> str:
    name = f"{part.name}: " if part.vector or part.extent or part.name == "values" else ""
    if part.shape is None:
        return f"{name}{part.dtype}"
    return f"{name}{part.dtype}[{', '.join('?' if e is None else str(e) for e in part.shape)}]"


def _group(group: Group) -> str:
    parts = "".join(f"{_part(part)}, " for part in group.parts)
    return f"Group(({parts}), {None if group.shape is None else str(group.shape)!r})"


def _part(part: Part) -> str:
    dtype = f"numpy_dtype({dtype_name(part.dtype)!r})"
    return f"Part({part.name!r}, {dtype}, {part.shape!r}, {part.extent}, {part.vector})"


def _array(array: np.ndarray) -> str:
    return f"np.frombuffer({array.tobytes()!r}, numpy_dtype({dtype_name(array.dtype)!r})).reshape({array.shape!r})"
