"""Files that run again what failed, in upstream's format: a program, and a resource that names the pipeline."""

from __future__ import annotations

import re
from pathlib import Path

from ragged_dialect._mlir import ir
from ragged_dialect.asm.module import parse_module, print_module
from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.dialect import context
from ragged_dialect.errors import PassError
from ragged_dialect.passes.running import Stage, Watcher
from ragged_dialect.tools.cli import write_output

# The parser takes the resource as one that nobody asks for, and says nothing of it: it is read from the text.
_STRING = r'"(?:[^"\\]|\\.)*"'
_RESOURCE = re.compile(rf"\{{-#(?:(?!#-\}}).)*?\bmlir_reproducer\s*:\s*\{{((?:{_STRING}|[^\"}}])*)\}}", re.DOTALL)
_ENTRY = re.compile(rf"([\w.]+)\s*:\s*({_STRING}|[^\s,}}]+)")
_BOOLEAN = re.compile("true|false")
_VALUES = {"pipeline": re.compile(_STRING), "disable_threading": _BOOLEAN, "verify_each": _BOOLEAN}


def reproducer(program: str, pipeline: str, verify_each: bool) -> str:
    """The text of a file. The resource is at its end, so that line numbers stay true."""
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
    return "\n".join([program.rstrip(), "", *lines, ""])


def recorded(chunk: str | bytes) -> tuple[str, bool]:
    """The pipeline that a reproducer names, and whether to verify after each pass. PassError when
    the input is none."""
    resource = None if isinstance(chunk, bytes) else _RESOURCE.search(chunk)
    entries: dict[str, str] = dict(_ENTRY.findall(resource.group(1))) if resource else {}
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


class CrashReproducer(Watcher):
    """Writes a file before anything runs, as a crash leaves no time for it; `done` removes it. With `local` the file
    has what the running pass was given, and the pass alone."""

    def __init__(self, path: str, program: str, pipeline: str, verify_each: bool, local: bool) -> None:
        self.path, self.verify_each, self.local = path, verify_each, local
        write_output(path, reproducer(program, pipeline, verify_each))

    def before(self, stage: Stage, module: ir.Operation) -> None:
        if self.local:
            text = reproducer(print_module(module), f"builtin.module({stage})", self.verify_each)
            write_output(self.path, text)

    def done(self) -> None:
        """Everything ran: there is nothing to reproduce."""
        Path(self.path).unlink()
