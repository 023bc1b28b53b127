"""Command line of ragged-opt, spelled as mlir-opt spells it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragged_dialect.tools.cli import STREAM

_PASS = re.compile(r"--([A-Za-z][\w.\-]*)(?:=(.*))?$", re.DOTALL)


@dataclass(frozen=True)
class Options:
    """What ragged-opt was asked to do. `pipeline` is None when no pass was named."""

    input: str
    output: str
    pipeline: str | None
    split: bool
    verify_diagnostics: bool
    verify_each: bool
    print_after_all: bool
    print_after_change: bool
    timing: bool
    generic: bool
    debuginfo: bool
    unregistered: bool
    bytecode: bool
    reproducer: str | None
    run_reproducer: bool
    action: str | None


def parse_options(argv: Sequence[str]) -> Options:
    """Read the command line. Flags that are not ours are passes, in the order given: `--cse`,
    `--ragged-canonicalize=…`. SystemExit with a message for a line that makes no sense."""
    parser, flags = _parser()
    own: list[str] = []
    passes: list[str] = []
    for arg in map(_two_dashes, argv):
        match = _PASS.match(arg)
        if match is None or f"--{match.group(1)}" in flags:
            own.append(arg)
        else:
            passes.append(match.group(1) + (f"{{{_bare(match.group(2))}}}" if match.group(2) else ""))
    args = parser.parse_args(own)
    if passes and args.pipeline is not None:
        parser.error(f"expected --pass-pipeline or single passes, got both ('--{passes[0]}')")
    if passes:
        args.pipeline = ",".join(passes)
    if args.run_reproducer and args.pipeline is not None:
        parser.error("expected --run-reproducer without passes, the file names them")
    args.verify_each = args.verify_each in ("1", "true")
    return Options(**vars(args))


def _bare(options: str) -> str:
    """Options with or without the braces of pipeline text."""
    return options[1:-1] if options.startswith("{") and options.endswith("}") else options


def _two_dashes(arg: str) -> str:
    """LLVM's tools take long flags with one dash too."""
    return f"-{arg}" if re.match(r"-[A-Za-z][\w\-]", arg) else arg


def _parser() -> tuple[argparse.ArgumentParser, set[str]]:
    """The parser, and the flags it knows."""
    parser = argparse.ArgumentParser(
        prog="ragged-opt",
        description="Parses a module with ragged tensors, runs passes on it, prints it.",
        epilog="Every pass is a flag too: --ragged-canonicalize, --cse, --canonicalize=max-iterations=1; "
        "they run on the module in the order given.",
        allow_abbrev=False,
    )
    flags = {"--help"}

    def add(*names: str, **settings: Any) -> None:
        flags.update(names)
        parser.add_argument(*names, **settings)

    add("input", nargs="?", default=STREAM, help=".mlir text or bytecode; standard input for '-' or nothing")
    add("-o", dest="output", default=STREAM, metavar="FILE", help="output file, written as a whole or not at all")
    add("--pass-pipeline", dest="pipeline", metavar="TEXT", help="'builtin.module(a{x=1},func.func(b))' or a bare list")

    def flag(name: str, dest: str, text: str) -> None:
        add(name, dest=dest, action="store_true", help=text)

    flag("--split-input-file", "split", "treat the parts between '// -----' lines as files of their own")
    flag("--verify-diagnostics", "verify_diagnostics", "check diagnostics against expected-error comments")
    add(
        "--verify-each",
        nargs="?",
        const="1",
        default="1",
        choices=("0", "1", "true", "false"),
        help="verify after each pass (default)",
    )
    add("--no-verify-each", dest="verify_each", action="store_const", const="0", help="do not verify after each pass")
    flag("--mlir-print-ir-after-all", "print_after_all", "print the IR to stderr after every pass")
    flag("--mlir-print-ir-after-change", "print_after_change", "print the IR to stderr after passes that changed it")
    flag("--mlir-timing", "timing", "print the time of every pass to stderr")
    flag("--mlir-print-op-generic", "generic", "print all ops in generic form")
    flag("--mlir-print-debuginfo", "debuginfo", "print locations")
    flag("--allow-unregistered-dialect", "unregistered", "accept ops of unknown dialects")
    flag("--emit-bytecode", "bytecode", "write bytecode instead of text")
    add("--reproducer", metavar="FILE", help="keep input and pipeline in FILE if a pass fails or crashes")
    flag("--run-reproducer", "run_reproducer", "run the pipeline that a --reproducer file names")
    for name, text in (
        ("--list-passes", "list the passes of this package"),
        ("--emit-irdl", "print the dialect as IRDL"),
        ("--version", "print versions"),
    ):
        add(name, dest="action", action="store_const", const=name[2:], help=text)
    return parser, flags
