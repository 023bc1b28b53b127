"""`ragged-run`: compile a function and run it on arrays in files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from ragged_dialect.errors import ArgumentError
from ragged_dialect.tools.apart import require_apart
from ragged_dialect.tools.cli import STREAM, program_parser, read_input, run_program_tool, shown_name, write_output

_DESCRIPTION = """Compiles a function of a module and runs it.

Inputs are in the order of the function's arguments: an .npy file for a tensor; 3, 3.5 or true for a
scalar; the parts of a ragged tensor one after the other: values, index vectors, extents. Results
are printed, or saved as result0, result1, …; a ragged one as result0, result0.1, …"""


def _parser() -> argparse.ArgumentParser:
    parser = program_parser("ragged-run", _DESCRIPTION)
    parser.add_argument("--input", action="append", default=[], dest="inputs", metavar="X", help="a file or a number")
    parser.add_argument(
        "--target",
        default="cpu",
        help="where to run: cpu (default), gpu, emulator, ptx-emulator, or auto: gpu where there is one",
    )
    parser.add_argument("--arch", metavar="sm_XY", help="what GPU code is made for (default: the device)")
    parser.add_argument("--output", metavar="FILE", help="save the results as .npz instead of printing them")
    parser.add_argument("--threads", type=int, metavar="N", help="threads (default: RAGGED_NUM_THREADS or all cores)")
    return parser


def _run(options: argparse.Namespace) -> None:
    if options.threads is not None and options.threads < 1:
        raise ArgumentError(f"expected --threads of at least 1, got {options.threads}")
    with _threads(options.threads):
        _execute(options)


@contextmanager
def _threads(count: int | None) -> Generator[None]:
    """RAGGED_NUM_THREADS while a program is compiled."""
    name, before = "RAGGED_NUM_THREADS", os.environ.get("RAGGED_NUM_THREADS")
    if count is not None:
        os.environ[name] = str(count)
    try:
        yield
    finally:
        if before is not None:
            os.environ[name] = before
        elif count is not None:
            del os.environ[name]


def _execute(options: argparse.Namespace) -> None:
    from ragged_dialect.compiler.frontend import load_program
    from ragged_dialect.execution import compile
    from ragged_dialect.tools import run_results
    from ragged_dialect.tools.run_inputs import read_arguments

    if options.output is not None:
        require_apart([("--output", options.output)], [options.file, *options.inputs])
    filename = shown_name(options.file)
    program = load_program(read_input(options.file), options.entry, filename)
    check = False if options.no_check else "sync"
    function = compile(program, target=options.target, check=check, arch=options.arch, schedule=options.schedule)
    if options.target == "auto":
        print(f"target: {function.target}", file=sys.stderr)
    returned = function(*read_arguments(function.signature, options.inputs))
    results = run_results.as_list(function.signature, returned)
    if options.output is not None:
        run_results.save(function.signature, results, options.output)
    else:
        write_output(STREAM, run_results.show(function.signature, results))


def main(argv: Sequence[str] | None = None) -> int:
    """Run the tool; the exit code."""
    return run_program_tool(_parser(), _run, argv)


if __name__ == "__main__":
    sys.exit(main())
