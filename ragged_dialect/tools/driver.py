"""ragged-opt: parse, run a pipeline, verify and print between passes, write the result."""

from __future__ import annotations

import re
import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from ragged_dialect._mlir import has_dialect, ir, load_irdl, passmanager
from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.locations import collect, file_position
from ragged_dialect.asm.module import decode, load_module, print_module
from ragged_dialect.asm.probe import is_bytecode
from ragged_dialect.asm.short import to_short
from ragged_dialect.dialect import context
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.clone import bytecode
from ragged_dialect.ir.walk import ops_in
from ragged_dialect.passes.pipeline.running import MODULE, PassFailed, Stage, Watcher, run_pipeline
from ragged_dialect.passes.pipeline.stages import UnknownPass, is_known, parse_pipeline
from ragged_dialect.tools.cli import FAILURE, STREAM, SUCCESS, read_input, shown_name, tell, write_output
from ragged_dialect.tools.flags import STOCK, written
from ragged_dialect.tools.options import MARKER, Options, Output, Printing, check_files, unknown_flag
from ragged_dialect.tools.rendering import Renderer

if TYPE_CHECKING:
    from ragged_dialect.tools.timing import Times


class OptDriver:
    """One run of ragged-opt."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.filename = shown_name(options.input)
        self.renderer = Renderer(options.diagnosing)
        self.times = self._times()
        self.watchers: list[Watcher] = []
        self.reproduced = False
        if [*options.reading.irdl_files, options.input].count(STREAM) > 1:
            raise RaggedError("expected standard input once, got '-' for several files")
        self.irdl = [read_input(path) for path in options.reading.irdl_files]

    def run(self) -> int:
        """Exit code: 1 when anything was refused. Nothing is written then."""
        options = self.options
        if options.output.bytecode and options.output.output == STREAM and sys.stdout.isatty():
            raise RaggedError("expected -o FILE or a pipe for bytecode, got a terminal")
        made = self._context()
        stages = self._stages(made)
        self._watch(made)
        results: list[tuple[bool, str | bytes | None]] = []
        for chunk in self._chunks(read_input(options.input)):
            results.append(self._chunk(chunk, made or self._context(), stages))
            made = None  # for the next chunk a context of its own
        if self.times is not None:
            measuring = options.measuring
            sys.stderr.write(self.times.report(measuring.timing_display, measuring.timing_format))
        if not all(ok for ok, _ in results):
            return FAILURE
        if options.passes.pipeline_file is not None:
            from ragged_dialect.lowering import pipeline_files

            write_output(options.passes.pipeline_file, pipeline_files.written(stages))
        self._write([output for _, output in results if output is not None])
        return SUCCESS

    def _times(self) -> Times | None:
        if not self.options.measuring.timing:
            return None
        from ragged_dialect.tools.timing import Times

        return Times()

    def _context(self) -> ir.Context:
        made = context()
        made.allow_unregistered_dialects = self.options.reading.unregistered
        for path, text in zip(self.options.reading.irdl_files, self.irdl, strict=True):
            definitions = load_module(text, made, path)
            _check_loadable(definitions, path)
            _load_irdl(definitions)
        return made

    def _stages(self, made: ir.Context) -> tuple[Stage, ...]:
        options = self.options
        try:
            stages = parse_pipeline(options.passes.pipeline or "", made, flags=bool(options.named))
        except UnknownPass as error:
            raise RaggedError(unknown_flag(f"--{error.name}")) if error.name in options.named else error from None
        check_files(options, [options.passes.pipeline or "", _text_of(stages)])
        if options.passes.dump_pipeline:
            passes = "".join(f"  {stage}{',' if stage is not stages[-1] else ''}\n" for stage in stages)
            print(f"Pass Manager with {len(stages)} passes:\n{MODULE}(\n{passes})\n", file=sys.stderr)
        return stages

    def _watch(self, made: ir.Context) -> None:
        """Those who are told of every pass. RaggedError for passes to be watched that are not known."""
        dumping = self.options.dumping
        for name in (*dumping.before, *dumping.after):
            if not is_known(name, made):
                raise RaggedError(f"expected known passes for --mlir-print-ir-before and -after, got '{name}'")
        if written(dumping):
            from ragged_dialect.tools.dumps import Dumps

            self.watchers.append(Dumps(dumping, self._text))
        if self.times is not None:
            self.watchers.append(self.times)

    def _chunks(self, data: bytes) -> list[str | bytes]:
        if is_bytecode(data):
            if self.options.reading.split is not None:
                raise RaggedError("expected text for --split-input-file, got bytecode")
            return [data]
        text, marker = decode(data, self.filename), self.options.reading.split
        return [text] if marker is None else list(split_chunks(text, marker))

    def _chunk(self, chunk: str | bytes, made: ir.Context, stages: Sequence[Stage]) -> tuple[bool, str | bytes | None]:
        """Whether a chunk did what was asked, and its output where there is one."""
        diagnostics: list[Diagnostic] = []
        output = None
        try:
            output = self._process(chunk, made, stages, diagnostics)
        except (ParseError, PassFailed) as failure:
            diagnostics += failure.diagnostics
            if isinstance(failure, PassFailed) and not failure.diagnostics:
                diagnostics.append(Diagnostic(f"{failure.stage} failed", self.filename))
        wanted = [shown for shown in map(self.renderer.wanted, diagnostics) if shown is not None]
        if self.options.diagnosing.verify is not None and isinstance(chunk, str):
            from ragged_dialect.tools.expectations import Expectations

            only_expected = self.options.diagnosing.verify == "only-expected"
            problems = Expectations(chunk, self.filename).check(wanted, only_expected)
            self._to_stderr(problems)
            return not problems, output
        self._to_stderr(wanted)
        return output is not None, output

    def _process(
        self, chunk: str | bytes, made: ir.Context, stages: Sequence[Stage], diagnostics: list[Diagnostic]
    ) -> str | bytes:
        pipeline, verify_each = self.options.passes.pipeline or "", self.options.passes.verify_each
        if self.options.reading.run_reproducer:
            from ragged_dialect.tools.reproducer import recorded

            pipeline, verify_each = recorded(chunk)
            stages = parse_pipeline(pipeline, made)
            check_files(self.options, [pipeline, _text_of(stages)])
        with self._phase("Parser"):
            module = load_module(chunk, made, self.filename)
        alone = self.options.reading.no_implicit_module and not file_position(module.operation.location)[1]
        if alone:
            _only_op(module, "in the file")
        if self.options.output.roundtrip:
            self._check_roundtrip(module)
        self._run(module, chunk, stages, verify_each, diagnostics)
        with self._phase("Output"):
            return self._output(_only_op(module, "after the passes") if alone else module)

    def _run(
        self,
        module: ir.Module,
        chunk: str | bytes,
        stages: Sequence[Stage],
        verify_each: bool,
        diagnostics: list[Diagnostic],
    ) -> None:
        measuring = self.options.measuring
        display = passmanager.PassDisplayMode[measuring.statistics_display.upper()] if measuring.statistics else None
        with self._reproducing(chunk, stages, verify_each) as watchers:
            run_pipeline(module, stages, verify_each, diagnostics.append, [*self.watchers, *watchers], display)

    @contextmanager
    def _reproducing(
        self, chunk: str | bytes, stages: Sequence[Stage], verify_each: bool
    ) -> Generator[Sequence[Watcher]]:
        """Who writes reproducers of a run that is made while this is entered: of the first part of the input that
        fails, as a path is one file."""
        options = self.options.reproducing
        if self.reproduced or (options.crash is None and options.generate is None):
            yield ()
            return
        from ragged_dialect.tools.reproducer import CrashReproducer, as_text, check_place, reproducer

        program, pipeline = as_text(chunk), _text_of(stages)
        try:
            if options.generate is not None:
                write_output(options.generate, reproducer(program, pipeline, verify_each))
            if options.crash is None:
                yield ()
                return
            check_place(options.crash)
            with CrashReproducer(options.crash, program, pipeline, verify_each, options.local) as watcher:
                yield (watcher,)
        except PassFailed:
            self.reproduced = True
            raise

    def _check_roundtrip(self, module: ir.Module) -> None:
        """ParseError when text or bytecode of a module is not read as the module that it is. Bytecode has all
        locations, text lacks those of some block arguments."""
        for name, program, located in (
            ("text", print_module(module), False),
            ("bytecode", _bytecode(module, None), True),
        ):
            after = load_module(program, self._context())
            if print_module(after, True, located) != print_module(module, True, located):
                message = f"expected {name} of the module that is read as it is, got another module"
                raise ParseError(Diagnostic(message, self.filename))

    def _phase(self, name: str) -> AbstractContextManager[None]:
        return nullcontext() if self.times is None else self.times.phase(name)

    def _text(self, op: ir.Module | ir.Operation) -> str:
        printing = self.options.printing
        text = print_module(op, printing.generic, printing.debuginfo, **printing.more())
        return text if text.endswith("\n") else f"{text}\n"

    def _output(self, op: ir.Module | ir.Operation) -> str | bytes:
        output, printing = self.options.output, self.options.printing
        by_stock = _stock_flags(printing, output)
        if by_stock:
            from ragged_dialect.tools import info, stock
            from ragged_dialect.tools.reproducer import as_text

            # Without aliases: the tool takes attributes of dialects that it does not have as the text they are.
            program = print_module(op, generic=True, debuginfo=True, use_local_scope=True)
            data = stock.rewritten(program, [info.irdl(), *map(as_text, self.irdl)], by_stock)
            if output.bytecode:
                return data
            text = data.decode().rstrip("\n") + "\n"
            return text if printing.generic else to_short(text)
        return _bytecode(op, output.bytecode_version) if output.bytecode else self._text(op)

    def _write(self, outputs: Sequence[str | bytes]) -> None:
        output = self.options.output
        if output.bytecode:
            if len(outputs) > 1:
                raise RaggedError(f"expected one module for --emit-bytecode, got {len(outputs)} of --split-input-file")
            write_output(output.output, b"".join(o for o in outputs if isinstance(o, bytes)))
        else:
            write_output(output.output, f"{output.split_marker}\n".join(o for o in outputs if isinstance(o, str)))

    def _to_stderr(self, diagnostics: Iterable[Diagnostic]) -> None:
        for diagnostic in diagnostics:
            tell(self.renderer.render(diagnostic))


def _text_of(stages: Sequence[Stage]) -> str:
    return f"{MODULE}({','.join(map(str, stages))})"


def split_chunks(text: str, marker: str = MARKER) -> Iterable[str]:
    """The parts between lines of a marker, each after as many newlines as keep its line numbers."""
    spelled = re.escape(marker).replace(r"//\ ", "// ?")  # `//-----` is one too
    start = 0
    for found in re.finditer(rf"^{spelled}[ \t]*$", text, re.MULTILINE):
        yield "\n" * text.count("\n", 0, start) + text[start : found.start()]
        start = found.end()
    yield "\n" * text.count("\n", 0, start) + text[start:]


def _only_op(module: ir.Module, where: str) -> ir.Operation:
    """The op that stands for the module with --no-implicit-module."""
    ops = list(module.body.operations)
    if len(ops) != 1:
        raise RaggedError(f"expected one op {where} with --no-implicit-module, got {len(ops)}")
    return ops[0].operation


def _bytecode(op: ir.Module | ir.Operation, version: int | None) -> bytes:
    try:
        with collect(op.operation.context):  # what it says goes to stderr
            return bytecode(op, version)
    except ValueError:
        raise RaggedError(f"expected a version of bytecode that can be written, got {version}") from None


def _stock_flags(printing: Printing, output: Output) -> list[str]:
    """The flags for the stock tool where it has to write the output; none where it need not."""
    flags = [*written(printing), *written(output)]
    if not any(one.served == STOCK for one, _ in flags):
        return []
    return [text for one, text in flags if one.name.startswith(("--mlir-print", "--mlir-", "--emit", "--elide"))]


def _load_irdl(definitions: ir.Module) -> None:
    """Load dialects. ParseError for what MLIR refuses then, as names of types that it does not know."""
    with collect(definitions.context) as diagnostics:
        try:
            load_irdl(definitions)
            return
        except RuntimeError:
            pass
    raise ParseError(*diagnostics)


def _check_loadable(definitions: ir.Module, path: str) -> None:
    """Refuse definitions that would end the process, where they are loaded or where a program uses them."""
    names: set[str] = set()
    for op in ops_in(definitions.operation):
        message = None
        if op.name == "irdl.c_pred":
            message = "expected constraints without code in C++, got 'irdl.c_pred'"
        elif op.name == "irdl.dialect":
            name = ir.StringAttr(op.attributes["sym_name"]).value
            if name in names or definitions.context.is_dialect_loaded(name) or has_dialect(name):
                message = f"expected a new dialect, got '{name}', which is there"
            names.add(name)
        if message is not None:
            raise ParseError(Diagnostic(message, path, *file_position(op.location)[1:]))
    if not names:
        raise ParseError(Diagnostic("expected an irdl.dialect, got none", path, 1, 1))
