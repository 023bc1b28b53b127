"""Command line of ragged-opt: the flags, spelled as mlir-opt spells them, and how they are read."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.cli import RESULT, STREAM
from ragged_dialect.tools.flags import BINDINGS, STOCK, Flag, Known, flag, known, require_utf8, written

MARKER = "// -----"
_SHORT = {"o": "-o", "h": "--help"}
_LONG = re.compile(r"--?([A-Za-z][\w.\-]+|[oh])(?:=(.*))?$", re.DOTALL)


@dataclass(repr=False, eq=False)  # start-up time
class Reading:
    """Reading"""

    split: str | None = flag(
        "--split-input-file", "treat the parts between lines of this text as files of their own",
        default=None, metavar="MARKER", implied=MARKER, value=MARKER,
    )  # fmt: skip
    unregistered: bool = flag(
        "--allow-unregistered-dialect", "accept ops of unknown dialects", BINDINGS, needs="{foreign}"
    )
    no_implicit_module: bool = flag("--no-implicit-module", "expect one op, and put no module around it", needs="{one}")
    irdl_files: tuple[str, ...] = flag(
        "--irdl-file", "load the dialects of an IRDL file first", BINDINGS,
        default=(), metavar="FILE", value="{irdl}", needs="{foreign}",
    )  # fmt: skip
    run_reproducer: bool = flag(
        "--run-reproducer", "run the pipeline that the file's mlir_reproducer names", needs="{reproducer}"
    )


@dataclass(repr=False, eq=False)  # start-up time
class Passes:
    """Passes"""

    pipeline: str | None = flag(
        "--pass-pipeline", "'builtin.module(a{x=1},func.func(b))' or a bare list",
        default=None, metavar="TEXT", value="builtin.module(func.func(cse))",
    )  # fmt: skip
    verify_each: bool = flag(
        "--verify-each", "verify after each pass (default)", default=True, silent=True, needs="--cse"
    )
    dump_pipeline: bool = flag("--dump-pass-pipeline", "print the pipeline to stderr before it runs", needs="--cse")
    pipeline_file: str | None = flag(
        "--dump-pipeline-file", "write stages and passes as JSON, which --ragged-file-pipeline=file=FILE runs",
        default=None, metavar="FILE", value="{out}", needs="--cse",
    )  # fmt: skip
    plugins: tuple[str, ...] = flag(
        "--load-pass-plugin", "register the passes of a Python module first; no shared libraries",
        default=(), metavar="MODULE", value="rowtools.plugin", needs="{one} --rowtools-drop-prints",
    )  # fmt: skip
    no_plugins: bool = flag("--no-plugins", "look for no passes in installed packages", silent=True)
    disable_threading: bool = flag("--mlir-disable-threading", "no effect: there is one thread always", silent=True)


@dataclass(repr=False, eq=False)  # start-up time
class Output:
    """Output"""

    output: str = flag("-o", "output file, written as a whole or not at all", default=STREAM, metavar="FILE",
                       value="{out}")  # fmt: skip
    split_marker: str = flag(
        "--output-split-marker", "what stands between the outputs of --split-input-file",
        default=MARKER, metavar="TEXT", value="// ===", needs="--split-input-file",
    )  # fmt: skip
    bytecode: bool = flag("--emit-bytecode", "write bytecode instead of text", BINDINGS)
    bytecode_version: int | None = flag(
        "--emit-bytecode-version", "version of the bytecode", BINDINGS,
        default=None, metavar="N", value="3", needs="--emit-bytecode",
    )  # fmt: skip
    bytecode_producer: str | None = flag(
        "--emit-bytecode-producer", "what the bytecode says it is made by", STOCK,
        default=None, metavar="TEXT", value="me", needs="--emit-bytecode",
    )  # fmt: skip
    elide_resource_data: bool = flag(
        "--elide-resource-data-from-bytecode", "write resources without their data", STOCK, needs="--emit-bytecode"
    )
    roundtrip: bool = flag(
        "--verify-roundtrip", "check that text and bytecode of the module are read as it is", silent=True
    )


@dataclass(repr=False, eq=False)  # start-up time
class Printing:
    """Printing: of the result, and of dumps"""

    generic: bool = flag("--mlir-print-op-generic", "print all ops in generic form", BINDINGS)
    debuginfo: bool = flag("--mlir-print-debuginfo", "print locations", BINDINGS)
    pretty: bool = flag(
        "--mlir-pretty-debuginfo", "print locations shorter, not to be parsed", BINDINGS, needs="--mlir-print-debuginfo"
    )
    local_scope: bool = flag("--mlir-print-local-scope", "print without aliases", BINDINGS)
    name_prefix: bool = flag("--mlir-use-nameloc-as-prefix", "name values by their named locations", BINDINGS)
    assume_verified: bool = flag("--mlir-print-assume-verified", "do not verify what is printed", BINDINGS, silent=True)
    skip_regions: bool = flag("--mlir-print-skip-regions", "print ops without their regions", BINDINGS)
    elements: int | None = flag(
        "--mlir-elide-elementsattrs-if-larger", "print dense attributes of more elements as `__elided__`", BINDINGS,
        default=None, metavar="N", value="2",
    )  # fmt: skip
    resources: int | None = flag(
        "--mlir-elide-resource-strings-if-larger", "leave out resources of more characters", BINDINGS,
        default=None, metavar="N", value="4",
    )  # fmt: skip
    hex_if_larger: int | None = flag(
        "--mlir-print-elementsattrs-with-hex-if-larger", "print larger dense attributes of the result in hex", STOCK,
        default=None, metavar="N", value="2",
    )  # fmt: skip
    value_users: bool = flag("--mlir-print-value-users", "say in comments where values are used (of the result)", STOCK)
    unique_ids: bool = flag("--mlir-print-unique-ssa-ids", "number values through all functions (of the result)", STOCK)

    def more(self) -> dict[str, bool | int | None]:
        """Further arguments of `print_module`."""
        return {
            "pretty_debug_info": self.pretty,
            "use_local_scope": self.local_scope, "use_name_loc_as_prefix": self.name_prefix,
            "assume_verified": self.assume_verified, "skip_regions": self.skip_regions,
            "large_elements_limit": self.elements, "large_resource_limit": self.resources,
        }  # fmt: skip


@dataclass(repr=False, eq=False)  # start-up time
class Dumping:
    """IR between passes, on stderr"""

    before: tuple[str, ...] = flag(
        "--mlir-print-ir-before", "before these passes", default=(), metavar="PASS,…", value="cse", needs="--cse"
    )
    after: tuple[str, ...] = flag(
        "--mlir-print-ir-after", "after these passes", default=(), metavar="PASS,…", value="cse", needs="--cse"
    )
    before_all: bool = flag("--mlir-print-ir-before-all", "before every pass", needs="--cse")
    after_all: bool = flag("--mlir-print-ir-after-all", "after every pass", needs="--cse")
    after_change: bool = flag("--mlir-print-ir-after-change", "after passes that changed it", needs="--cse")
    after_failure: bool = flag(
        "--mlir-print-ir-after-failure", "after a pass that failed", needs="--one-shot-bufferize"
    )
    module_scope: bool = flag(
        "--mlir-print-ir-module-scope", "the whole module, also for passes that run on what is inside",
        needs="--pass-pipeline=func.func(cse) --mlir-print-ir-after-all",
    )  # fmt: skip
    tree: str | None = flag(
        "--mlir-print-ir-tree-dir", "to files in a folder instead, for every op its own folder",
        default=None, metavar="DIR", value="{out}", needs="--cse --mlir-print-ir-after-all",
    )  # fmt: skip


@dataclass(repr=False, eq=False)  # start-up time
class Measuring:
    """Times and statistics, on stderr"""

    timing: bool = flag("--mlir-timing", "print the time that reading, every pass and writing took", needs="--cse")
    timing_display: str = flag(
        "--mlir-timing-display", "passes below the ops they run on, or sorted by time (default: tree)",
        default="tree", choices=("tree", "list"), needs="--cse --mlir-timing",
    )  # fmt: skip
    timing_format: str = flag(
        "--mlir-output-format", "how times are written (default: text)",
        default="text", choices=("text", "json"), needs="--cse --mlir-timing",
    )  # fmt: skip
    statistics: bool = flag(
        "--mlir-pass-statistics", "print what passes counted: nothing in wheels built without statistics", BINDINGS,
        needs="--cse",
    )  # fmt: skip
    statistics_display: str = flag(
        "--mlir-pass-statistics-display", "by pass, or as the pipeline is nested (default: pipeline)", BINDINGS,
        default="pipeline", choices=("pipeline", "list"), needs="--cse --mlir-pass-statistics",
    )  # fmt: skip


@dataclass(repr=False, eq=False)  # start-up time
class Diagnosing:
    """Diagnostics"""

    verify: str | None = flag(
        "--verify-diagnostics", "check diagnostics against expected-error comments; only-expected takes others too",
        default=None, choices=("all", "only-expected"), implied="all", needs="{expected}",
    )  # fmt: skip
    color: bool | None = flag("--color", "in colour (default: on a terminal)", default=None, implied="true",
                              needs="{expected}")  # fmt: skip
    op_note: bool = flag(
        "--mlir-print-op-on-diagnostic", "with the op as a note, where MLIR attaches it (default)",
        default=True, value="false", needs="{invalid}",
    )  # fmt: skip
    no_notes: bool = flag("--mlir-disable-diagnostic-notes", "without notes", needs="{invalid}")
    verbosity: str = flag(
        "--mlir-diagnostic-verbosity-level", "the least severe kind that is shown (default: remarks)",
        default="remarks", choices=("remarks", "warnings", "errors"), needs="{remark} --transform-interpreter",
    )  # fmt: skip


@dataclass(repr=False, eq=False)  # start-up time
class Reproducing:
    """Reproducers"""

    crash: str | None = flag(
        "--mlir-pass-pipeline-crash-reproducer",
        "keep input and pipeline in a file if a pass fails or crashes: of the first part that does",
        default=None, metavar="FILE", value="{out}", also="--reproducer", needs="--one-shot-bufferize",
    )  # fmt: skip
    local: bool = flag(
        "--mlir-pass-pipeline-local-reproducer", "keep there what the pass that failed was given, and it alone",
        needs="--cse --one-shot-bufferize --reproducer={out}",
    )  # fmt: skip
    generate: str | None = flag(
        "--mlir-generate-reproducer", "write the file, whatever happens: of the first part that fails, or the last",
        default=None, metavar="FILE", value="{out}", needs="--cse",
    )  # fmt: skip


@dataclass(repr=False, eq=False)  # start-up time
class Telling:
    """What the tool tells of itself"""

    list_passes: bool = flag("--list-passes", "list the passes of this package")
    show_dialects: bool = flag("--show-dialects", "list the dialects")
    emit_irdl: bool = flag("--emit-irdl", "print the dialect as IRDL, for stock tools", BINDINGS)
    version: bool = flag("--version", "print versions")
    help: bool = flag("--help", "print the flags, and the passes with their options", also="--help-hidden")
    help_list: bool = flag("--help-list", "print the flags in alphabetical order")


_NATIVE = "it is for code in C++, and is in neither the bindings nor the C interface"
IMPOSSIBLE = tuple(
    Flag(name, reason)
    for names, reason in (
        ("--debug --debug-only", "release builds of LLVM have no debug output"),
        ("--mlir-debug-counter --mlir-print-debug-counter", f"debug counters: {_NATIVE}"),
        ("--log-actions-to --log-mlir-actions-filter --profile-actions-to --mlir-enable-debugger-hook",
         f"action logs: {_NATIVE}"),
        ("--remarks-filter --remark-format --remark-policy --remarks-output-file", f"remarks: {_NATIVE}"),
        ("--load-dialect-plugin", f"dialects as plug-ins: {_NATIVE}"),
        ("--mlir-print-stacktrace-on-diagnostic", f"stack traces: {_NATIVE}"),
        ("--mlir-very-unsafe-disable-verifier-on-parsing", "the bindings verify what they parse"),
    )
    for name in names.split()
)  # fmt: skip
"""What mlir-opt takes and we cannot, each with the reason."""

GROUPS = (Reading, Passes, Output, Printing, Dumping, Measuring, Diagnosing, Reproducing, Telling)


@dataclass(repr=False, eq=False)  # start-up time
class Options:
    """What ragged-opt was asked to do. `named` are the passes that were flags, `responses` the files that flags are
    from."""

    input: str
    named: tuple[str, ...]
    reading: Reading
    passes: Passes
    output: Output
    printing: Printing
    dumping: Dumping
    measuring: Measuring
    diagnosing: Diagnosing
    reproducing: Reproducing
    telling: Telling
    responses: tuple[str, ...] = ()


def parse_options(argv: Sequence[str]) -> Options:
    """Read the command line. Flags that are not ours are passes, in the order given: `--cse`,
    `--ragged-canonicalize=…`. RaggedError for a line that makes no sense."""
    reader = _Reader(argv)
    values: dict[tuple[type, str], Any] = {}
    for one, text in reader.flags():
        key = one.group, one.field.name
        values[key] = one.read(text, values.get(key, one.field.default))
    if len(reader.inputs) > 1:
        raise RaggedError(f"expected one input, got '{reader.inputs[0]}' and '{reader.inputs[1]}'")
    groups: list[Any] = [
        group(**{name: value for (of, name), value in values.items() if of is group}) for group in GROUPS
    ]
    names = tuple(name for name, _ in reader.passes)
    return _checked(Options((*reader.inputs, STREAM)[0], names, *groups, responses=tuple(reader.files)), reader)


def _checked(options: Options, reader: _Reader) -> Options:
    from dataclasses import replace

    passes = options.passes
    if options.reading.split == "":  # as in mlir-opt
        options = replace(options, reading=replace(options.reading, split=MARKER))
    if options.named and passes.pipeline is not None:
        raise RaggedError(f"expected --pass-pipeline or single passes, got both ('--{options.named[0]}')")
    if options.reading.run_reproducer and (options.named or passes.pipeline is not None):
        raise RaggedError("expected --run-reproducer without passes, the file names them")
    check_files(options)
    if not reader.passes:
        return options
    for name, given in reader.passes:
        require_utf8(f"--{name}", given or "")
    text = ",".join(_as_text(name, given) for name, given in reader.passes)
    return replace(options, passes=replace(passes, pipeline=text))


def check_files(options: Options, pipelines: Sequence[str] = ()) -> None:
    """Refuse to write two things to one file, and anything but the result over what is read: an input, a response file,
    a plug-in, or a file or folder that an option of a pass names. What a folder of dumps gets is apart from all."""
    outputs = [
        (one.name, text.partition("=")[2])
        for group in (options.output, options.passes, options.reproducing)
        for one, text in written(group)
        if one.metavar == "FILE"
    ]
    tree = options.dumping.tree
    if tree is None and all(name == RESULT for name, _ in outputs):
        return
    from ragged_dialect.tools.apart import require_apart  # start-up time

    words = [word for text in pipelines for word in _option_words(text) if word]
    read = [options.input, *options.reading.irdl_files, *options.responses, *words]
    require_apart(outputs, read, options.passes.plugins)
    for path in (*read, *(path for _, path in outputs)) if tree is not None else ():
        inside = os.path.relpath(os.path.realpath(path), os.path.realpath(tree or "")).split(os.sep)
        if path != STREAM and len(inside) > 1 and inside[0].startswith("builtin_module_"):
            raise RaggedError(f"expected a file apart from those of --mlir-print-ir-tree-dir, got '{path}'")


def _option_words(pipeline: str) -> Iterator[str]:
    """What the passes of a pipeline are told, word by word."""
    from ragged_dialect.passes.pipeline.text import parse_text  # start-up time

    rest = list(parse_text(pipeline))
    while rest:
        element = rest.pop()
        rest += element.nested or ()
        for option in element.parsed_options():
            if option.name in ("from", "to"):  # of named pipelines: stages
                continue
            yield from (option.value or "", *(option.value or "").split(","))


def _as_text(name: str, options: str | None) -> str:
    """A pass of the command line as pipeline text."""
    from ragged_dialect.passes.pipeline.text import parse_text  # start-up time

    if not options:
        return name
    text = f"{name}{{{_bare(options)}}}"
    elements = parse_text(text)
    if len(elements) != 1 or elements[0].text != text:
        raise RaggedError(f"expected options of '--{name}', got more than that: '{options}'")
    return text


class _Reader:
    """Divides a command line into flags, inputs and passes."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.files: list[str] = []
        self.argv = list(_expanded(argv, (), self.files))
        self.known = known(GROUPS)
        self.inputs: list[str] = []
        self.passes: list[tuple[str, str | None]] = []

    def flags(self) -> Iterator[tuple[Known, str | None]]:
        """The flags in order, each with its value where it is written."""
        rest = iter(self.argv)
        for arg in rest:
            if arg == "--":
                self.inputs += rest
                return
            match = _LONG.match(arg)
            if match is None:
                self._input(arg)
                continue
            one, value = self._look_up(match.group(1), match.group(2))
            if one is None:
                self.passes.append((match.group(1), value))
                continue
            if value is None and one.flag.implied is None:
                value = next(rest, None)
            yield one, value

    def _input(self, arg: str) -> None:
        if arg.startswith("-") and arg != STREAM:
            raise RaggedError(unknown_flag(arg))
        self.inputs.append(arg)

    def _look_up(self, name: str, value: str | None) -> tuple[Known | None, str | None]:
        negated = self.known.get(f"--{name.removeprefix('no-')}")
        if f"--{name}" not in self.known and negated is not None and negated.field.default is True:
            return negated, "false"
        for impossible in IMPOSSIBLE:
            if impossible.name == f"--{name}":
                raise RaggedError(f"expected a flag that can be had here, got '{impossible.name}' ({impossible.help})")
        return self.known.get(_SHORT.get(name, f"--{name}")), value


def _expanded(argv: Iterable[str], inside: tuple[str, ...], files: list[str]) -> Iterator[str]:
    """The words of a command line; `@file` stands for those of a file, as in LLVM's tools, where there is one. `files`
    gets those."""
    for arg in argv:
        file = arg.removeprefix("@")
        if file == arg or not os.path.isfile(file):
            yield arg
            continue
        if file in inside:
            raise RaggedError(f"expected response files that do not name themselves, got '{arg}'")
        files.append(file)
        with open(file, encoding="utf-8", errors="surrogateescape") as opened:
            text = opened.read()
        if "\0" in text:  # no argument of a process has one, and no path
            raise RaggedError(f"expected words in '{arg}', got a zero byte")
        try:
            words = shlex.split(text)
        except ValueError as error:
            raise RaggedError(f"expected words in '{arg}', got {str(error).lower()}") from None
        yield from _expanded(words, (*inside, file), files)


def _bare(options: str) -> str:
    """Options with or without the braces of pipeline text."""
    return options[1:-1] if options.startswith("{") and options.endswith("}") else options


def unknown_flag(flag: str) -> str:
    """What to say of a flag that is neither ours nor a pass, with the nearest that are."""
    from difflib import get_close_matches

    from ragged_dialect.passes import registry

    names = [*known(GROUPS), *(f"--{name}" for name in (*registry.names(), *registry.pipelines()))]
    near = get_close_matches(flag, names, n=3)
    suggestion = f" (did you mean {' or '.join(repr(name) for name in near)}?)" if near else ""
    return f"expected a known flag or pass, got the unknown flag '{flag}'{suggestion}"
