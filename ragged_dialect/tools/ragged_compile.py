"""`ragged-compile`: a function of a module as a file that runs without this package."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ragged_dialect.errors import CompileError
from ragged_dialect.tools.apart import require_apart
from ragged_dialect.tools.cli import program_parser, read_input, run_program_tool, shown_name, write_output

_DESCRIPTION = """Compiles a function of a module to a file.

--target sm_XY: a Python module with the function, for GPUs; it needs NumPy and CuPy.
--target cpu:   a shared library, and a C header beside it."""


def _parser() -> argparse.ArgumentParser:
    parser = program_parser("ragged-compile", _DESCRIPTION)
    parser.add_argument("--target", default="cpu", help="cpu (default), or the GPU architecture: sm_80, sm_90, …")
    parser.add_argument("-o", dest="output", metavar="FILE", help="the file: libNAME.so, or a Python module")
    parser.add_argument("--cpu", default="host", help="for --target cpu: which CPU, host (default) or a portable one")
    parser.add_argument("--fast-math", action="store_true", help="for GPUs: allow approximate functions")
    return parser


def _run(options: argparse.Namespace) -> None:
    for name, value, is_for_cpu in (
        ("cpu", options.cpu, True), ("fast-math", options.fast_math, False), ("schedule", options.schedule, False)
    ):  # fmt: skip
        if value not in (False, "auto", "host") and is_for_cpu != (options.target == "cpu"):
            raise CompileError(f"expected no --{name} for --target={options.target}, got one")
    if options.output is None:
        raise CompileError("expected -o FILE, got none")
    from ragged_dialect.compiler.frontend import load_program

    filename = shown_name(options.file)
    require_apart([("the compiled program", options.output)], [options.file])
    if options.target == "cpu" and Path(options.output).name:
        from ragged_dialect.artifacts.cpu_library import header_of

        require_apart([("the C header", str(header_of(Path(options.output))))], [options.file])
    program = load_program(read_input(options.file), options.entry, filename)
    check = not options.no_check
    if options.target == "cpu":
        from ragged_dialect.artifacts import cpu_library

        cpu_library.write(program, None, Path(options.output), check, options.cpu)
    else:
        from ragged_dialect.artifacts.gpu_module import python_module

        kernels = {"arch": options.target, "fast_math": options.fast_math, "schedule": options.schedule}
        write_output(options.output, python_module(program, None, check, **kernels))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_program_tool(_parser(), _run, argv)


if __name__ == "__main__":
    sys.exit(main())
