"""Files that run again what failed, in upstream's format: a program, and a resource that names the pipeline."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from contextlib import suppress

from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.asm.scan import COMMENT, STRING
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError, RaggedError
from ragged_dialect.passes.pipeline.running import Stage, Watcher
from ragged_dialect.tools.cli import STREAM, write_output

# The parser takes the resource as one that nobody asks for, and says nothing of it: it is read from the text.
_GAP = rf"(?:\s|{COMMENT})*"
_TOKEN = re.compile(
    rf"(?P<open>\{{-#)|(?P<close>#-\}})|(?:,{_GAP})?(?P<name>(?<![\w$.])mlir_reproducer){_GAP}:{_GAP}"
    rf"\{{(?P<entries>(?:{COMMENT}|{STRING}|[^\"}}])*)\}}|{COMMENT}|{STRING}"
)
_COMMA = re.compile(rf"{_GAP},")
_ENTRY = re.compile(rf"([\w.]+)\s*:\s*({STRING}|[^\s,}}]+)")
_BOOLEAN = re.compile("true|false")
_VALUES = {"pipeline": re.compile(STRING), "disable_threading": _BOOLEAN, "verify_each": _BOOLEAN}


def reproducer(program: str, pipeline: str, verify_each: bool) -> str:
    """The text of a file. The resource is at its end, so that line numbers stay true; one that the program has is
    taken out."""
    escaped = re.sub(r'[\\"]', lambda char: f"\\{ord(char.group()):02X}", pipeline)
    lines = [
        "{-#",
        "  external_resources: {",
        "    mlir_reproducer: {",
        f'      pipeline: "{escaped}",',
        "      disable_threading: true,",
        f"      verify_each: {str(verify_each).lower()}",
        "    }",
        "  }",
        "#-}",
    ]
    return "\n".join([_without(program).rstrip(), "", *lines, ""])


def _resources(text: str) -> list[re.Match[str]]:
    """The resources `mlir_reproducer` of a text, in order."""
    found: list[re.Match[str]] = []
    inside = False
    for token in _TOKEN.finditer(text):
        inside = token["open"] is not None or (inside and token["close"] is None)
        if inside and token["entries"] is not None:
            found.append(token)
    return found


def _without(text: str) -> str:
    """A text with blanks where it has the resources."""
    for found in reversed(_resources(text)):
        comma = _COMMA.match(text, found.end())
        start = found.start() if comma is None else found.start("name")
        end = found.end() if comma is None else comma.end()
        text = text[:start] + re.sub(r"[^\n]", " ", text[start:end]) + text[end:]
    return text


def recorded(chunk: str | bytes) -> tuple[str, bool]:
    """The pipeline that a reproducer names, the last one as in mlir-opt, and whether to verify after each pass.
    PassError when the input is none."""
    resources = [] if isinstance(chunk, bytes) else _resources(chunk)
    text = resources[-1]["entries"] if resources else ""
    text = re.sub(rf"({STRING})|{COMMENT}", lambda token: token[1] or " ", text)
    entries: dict[str, str] = dict(_ENTRY.findall(text))
    if "pipeline" not in entries:
        raise PassError("expected a resource 'mlir_reproducer' with a pipeline in the text, got none")
    for key, value in entries.items():
        if key not in _VALUES:
            raise PassError(f"expected {', '.join(_VALUES)} in 'mlir_reproducer', got '{key}'")
        if not _VALUES[key].fullmatch(value):
            kind = "a string" if key == "pipeline" else "true or false"
            raise PassError(f"expected {kind} for '{key}' in 'mlir_reproducer', got {value}")
    text = re.sub(r"\\([\dA-Fa-f]{2}|.)", _unescaped, entries["pipeline"][1:-1])
    return text, entries.get("verify_each") != "false"


def _unescaped(escape: re.Match[str]) -> str:
    code = escape.group(1)
    return chr(int(code, 16)) if len(code) == 2 else {"n": "\n", "t": "\t"}.get(code, code)


def as_text(chunk: str | bytes) -> str:
    """The program of an input as text."""
    if isinstance(chunk, str):
        return chunk
    made = context()
    made.allow_unregistered_dialects = True
    return print_module(parse_module(chunk, made)) if is_bytecode(chunk) else chunk.decode()


_KEEPER = """import os, sys
if not sys.stdin.buffer.read(1):
    try: os.replace(*sys.argv[1:])
    except OSError as error: print(f"{sys.argv[2]}: {error.strerror}", file=sys.stderr)
"""


class CrashReproducer(Watcher):
    """Writes a file where a pass fails, or ends the process. That leaves no time to write: what might be needed is in a
    file beside it, and another process, which sees this one end, moves it to its place. Otherwise nothing changes. With
    `local` the file has what the running pass was given, and the pass alone."""

    def __init__(self, path: str, program: str, pipeline: str, verify_each: bool, local: bool) -> None:
        self.verify_each, self.local, self.kept = verify_each, local, False
        self.target = os.path.realpath(path)
        self.path = os.path.join(os.path.dirname(self.target), f".ragged.{os.getpid()}")
        try:
            write_output(self.path, reproducer(program, pipeline, verify_each))
        except OSError as error:
            raise OSError(error.errno, error.strerror, path) from None
        if os.path.exists(self.target):
            shutil.copymode(self.target, self.path)
        command = [sys.executable, "-I", "-S", "-c", _KEEPER, self.path, self.target]
        # It has standard error for as long as this process: who reads that to its end, as a test runner does, waits for
        # the move. A shell does not, and may see the file a moment after the tool has ended.
        self._keeper = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def __enter__(self) -> CrashReproducer:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.kept:
                os.replace(self.path, self.target)
        finally:
            self._keeper.communicate(b"0")
            with suppress(FileNotFoundError):
                os.unlink(self.path)

    def before(self, stage: Stage, module: ir.Operation) -> None:
        if self.local:
            text = reproducer(print_module(module), f"builtin.module({stage})", self.verify_each)
            write_output(self.path, text)

    def failed(self, stage: Stage, module: ir.Operation) -> None:
        self.kept = True


def check_place(path: str) -> None:
    """Refuse to move a reproducer over anything but a regular file. OSError for what is no path of a file."""
    try:
        is_regular = stat.S_ISREG(os.stat(path).st_mode)
    except FileNotFoundError:
        is_regular = not path.endswith(os.sep)
    if path == STREAM or not is_regular:
        raise RaggedError(f"expected a regular file for --mlir-pass-pipeline-crash-reproducer, got '{path}'")
