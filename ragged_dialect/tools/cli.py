"""What the tools share: exit codes, reading input, writing output."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING

from ragged_dialect import plugins
from ragged_dialect.asm.files import read_file, read_stream, reason
from ragged_dialect.errors import RaggedError, said_by
from ragged_dialect.runtime.whole_files import replacing

if TYPE_CHECKING:
    import argparse

    from ragged_dialect.asm.diagnostics import Diagnostic

SUCCESS, FAILURE, INTERRUPTED = 0, 1, 130
STREAM = "-"
RESULT = "-o"
"""The output that may take the place of the input, as in mlir-opt."""
INPUTS: dict[str, bytes] = {}
"""What the process has read, for the lines that diagnostics are about."""


def run_tool(name: str, body: Callable[[], int], alone: bool = False) -> int:
    """Exit code of a tool: 0, 1 with the user's error on stderr, 130 when interrupted. Of a process that is the tool
    `alone`, what plug-ins crash is a child."""
    _open_closed_streams()
    try:
        try:
            with plugins.before_the_first(lambda: _split(name)) if alone else nullcontext():
                code = body()
        except SystemExit as error:  # argparse: 2 on a wrong flag
            code = SUCCESS if error.code in (None, 0) else FAILURE
        _write_stream(b"")
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # whoever read the output has gone
        return FAILURE
    except OSError as error:
        place = error.filename2 or error.filename
        tell(f"{name}: {f'{place}: ' if place else ''}{reason(error)}")
    except RaggedError as error:
        _show(name, error)
    except MemoryError:
        tell(f"{name}: expected more memory, got no more")
    return FAILURE


def _split(name: str) -> None:
    from ragged_dialect.tools import crashes  # start-up time

    crashes.split(name, FAILURE)


def tell(text: str) -> None:
    """A line on stderr, whatever encoding that has: names of files and what users gave may be no text."""
    print(text.encode(errors="backslashreplace").decode(), file=sys.stderr)


def _show(name: str, error: RaggedError) -> None:
    """An error on stderr; its diagnostics with the lines they are about."""
    diagnostics: tuple[Diagnostic, ...] = getattr(error, "diagnostics", ())
    said = said_by(error)
    head = (type(error).__name__ if said is None else said).removesuffix("\n".join(map(str, diagnostics))).rstrip("\n")
    if head:
        tell(f"{name}: {head}")
    if diagnostics:
        from ragged_dialect.tools.rendering import Renderer

        renderer = Renderer()
        for diagnostic in diagnostics:
            tell(renderer.render(diagnostic))


def _open_closed_streams() -> None:
    """A tool may be started with standard streams closed (`>&-`). The next file opened would have their
    descriptors, and get what is printed; so they are open, to what reading and writing fail on."""
    for descriptor, mode in enumerate((os.O_WRONLY, os.O_RDONLY, os.O_WRONLY)):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, mode)  # the lowest that is free: this one
    sys.stdin = sys.stdin or open(0, closefd=False)
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False, errors="backslashreplace")


def program_parser(tool: str, description: str) -> argparse.ArgumentParser:
    """The parser of a tool for a function of a program in a file."""
    import argparse  # start-up time

    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(tool, description=description, formatter_class=formatter, allow_abbrev=False)
    parser.add_argument("file", nargs="?", default=STREAM, help=".mlir text or bytecode; standard input for '-'")
    parser.add_argument("--entry", metavar="NAME", help="the function (default: the only public one)")
    parser.add_argument("--schedule", default="auto", help="how GPU kernels are spread (default: auto)")
    parser.add_argument("--no-check", action="store_true", help="leave run-time checks out: invalid data is undefined")
    parser.add_argument("--version", action="store_true", help="print versions")
    return parser


def run_program_tool(
    parser: argparse.ArgumentParser, body: Callable[[argparse.Namespace], None], argv: Sequence[str] | None
) -> int:
    """Exit code of such a tool: what it does with its options, but for `--version`."""

    def run() -> int:
        options = parser.parse_args(sys.argv[1:] if argv is None else argv)
        if options.version:
            from ragged_dialect.tools.info import version  # start-up time

            write_output(STREAM, f"{version(parser.prog)}\n")
        else:
            body(options)
        return SUCCESS

    return run_tool(parser.prog, run, argv is None)


def read_input(path: str) -> bytes:
    """The bytes of a file, or of standard input for `-`, as `files` reads them."""
    try:
        data = read_stream(sys.stdin.buffer) if path == STREAM else read_file(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, "standard input" if path == STREAM else path) from None
    INPUTS[shown_name(path)] = data
    return data


def shown_name(path: str) -> str:
    """What diagnostics call an input."""
    return "<stdin>" if path == STREAM else path


def write_output(path: str, data: str | bytes) -> None:
    """Write a file as a whole or not at all; `-` is standard output."""
    payload = data.encode() if isinstance(data, str) else data
    if path == STREAM:
        _write_stream(payload)
        return
    with replacing(path) as file:
        file.write(payload)


def _write_stream(payload: bytes) -> None:
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(payload)
        sys.stdout.buffer.flush()
    except (ValueError, AttributeError):
        if payload:  # else it does not matter that a plug-in has closed it, or put None in its place
            raise OSError(errno.EBADF, "expected an open stream, got one that was closed", "standard output") from None
    except OSError as error:
        # Keep the interpreter from writing at its end what could not be written now.
        with open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
        raise OSError(error.errno, error.strerror, "standard output") from None
