"""ragged-opt: parse, run a pipeline, verify and print between passes, write the result."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Iterable
from typing import Any

from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.module import decode, load_module, print_module
from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.passes.pipeline import parse_pipeline
from ragged_dialect.passes.running import PassFailed, Stage, run_pipeline
from ragged_dialect.tools.cli import FAILURE, STREAM, SUCCESS, read_input, write_output
from ragged_dialect.tools.expectations import Expectations
from ragged_dialect.tools.options import Options
from ragged_dialect.tools.reproducer import Reproducer, recorded

_MARKER = re.compile(r"^// ?-----[ \t]*$", re.MULTILINE)
_SEPARATOR = "// -----\n"


class OptDriver:
    """One run of ragged-opt."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.filename = "<stdin>" if options.input == STREAM else options.input

    def run(self) -> int:
        """Exit code: 1 when anything was refused. Nothing is written then."""
        if self.options.bytecode and self.options.output == STREAM and sys.stdout.isatty():
            raise RaggedError("expected -o FILE or a pipe for bytecode, got a terminal")
        results = [self._chunk(chunk) for chunk in self._chunks(read_input(self.options.input))]
        if not all(ok for ok, _ in results):
            return FAILURE
        outputs = [output for _, output in results if output is not None]
        if self.options.bytecode:
            write_output(self.options.output, b"".join(o for o in outputs if isinstance(o, bytes)))
        else:
            write_output(self.options.output, _SEPARATOR.join(o for o in outputs if isinstance(o, str)))
        return SUCCESS

    def _chunks(self, data: bytes) -> list[str | bytes]:
        if is_bytecode(data):
            return [data]
        text = decode(data, self.filename)
        return list(split_chunks(text)) if self.options.split else [text]

    def _chunk(self, chunk: str | bytes) -> tuple[bool, str | bytes | None]:
        """Whether a chunk did what was asked, and its output where there is one."""
        diagnostics: list[Diagnostic] = []
        output = None
        try:
            output = self._process(chunk, diagnostics)
        except (ParseError, PassFailed) as failure:
            diagnostics += failure.diagnostics
            if isinstance(failure, PassFailed) and not failure.diagnostics:
                diagnostics.append(Diagnostic(f"{failure.stage} failed", self.filename))
        if self.options.verify_diagnostics and isinstance(chunk, str):
            problems = Expectations(chunk, self.filename).check(diagnostics)
            _to_stderr(problems)
            return not problems, output
        _to_stderr(diagnostics)
        return output is not None, output

    def _process(self, chunk: str | bytes, diagnostics: list[Diagnostic]) -> str | bytes:
        made = context()
        made.allow_unregistered_dialects = self.options.unregistered
        pipeline, verify_each = self.options.pipeline, self.options.verify_each
        if self.options.run_reproducer:
            pipeline, verify_each = recorded(chunk)
        stages = parse_pipeline(pipeline, made) if pipeline is not None else ()
        module = load_module(chunk, made, self.filename)
        with Reproducer(self.options.reproducer, chunk, pipeline or "", verify_each):
            self._run(stages, module, verify_each, diagnostics)
        return self._print(module)

    def _run(self, stages: tuple[Stage, ...], module: Any, verify_each: bool, diagnostics: list[Diagnostic]) -> None:
        times: list[tuple[str, float]] = []
        watch = self.options.print_after_change
        before = self._text(module) if watch else ""
        for stage in stages:
            start = time.perf_counter()
            run_pipeline(module, (stage,), verify_each, diagnostics.append)
            times.append((str(stage), time.perf_counter() - start))
            if watch or self.options.print_after_all:
                after = self._text(module)
                if after != before or not watch:
                    print(f"// -----// IR Dump After {stage} //----- //\n{after}", file=sys.stderr)
                before = after
        if self.options.timing:
            _print_times(times)

    def _text(self, module: Any) -> str:
        text = print_module(module, self.options.generic, self.options.debuginfo)
        return text if text.endswith("\n") else f"{text}\n"

    def _print(self, module: Any) -> str | bytes:
        if not self.options.bytecode:
            return self._text(module)
        buffer = io.BytesIO()
        module.operation.write_bytecode(buffer)
        return buffer.getvalue()


def split_chunks(text: str) -> Iterable[str]:
    """The parts between `// -----` lines, each after as many newlines as keep its line numbers."""
    start = 0
    for marker in _MARKER.finditer(text):
        yield "\n" * text.count("\n", 0, start) + text[start : marker.start()]
        start = marker.end()
    yield "\n" * text.count("\n", 0, start) + text[start:]


def _to_stderr(diagnostics: Iterable[Diagnostic]) -> None:
    for diagnostic in diagnostics:
        print(diagnostic, file=sys.stderr)


def _print_times(times: list[tuple[str, float]]) -> None:
    total = sum(seconds for _, seconds in times)
    for name, seconds in [*times, ("total", total)]:
        print(f"{seconds * 1e3:10.3f} ms  {100 * seconds / total if total else 0:5.1f}%  {name}", file=sys.stderr)
