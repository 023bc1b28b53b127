"""`ragged-transform-interpreter`: a script runs on a module."""

from __future__ import annotations

import re
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from ragged_dialect._mlir import ir, transform
from ragged_dialect.asm.diagnostics import ParseError
from ragged_dialect.asm.files import read_file, reason
from ragged_dialect.asm.module import load_module
from ragged_dialect.errors import RaggedError
from ragged_dialect.ir.functions import name_of
from ragged_dialect.ir.walk import append
from ragged_dialect.passes.base import PassFailure, RaggedPass
from ragged_dialect.transform.actions import report
from ragged_dialect.transform.dialect import check_scopes

_MAIN = "__transform_main"
_LIBRARY = "transform.with_named_sequence"
_AT = r"(?:\n(?:Diagnostic message )?)?at loc\("
_DIAGNOSTIC = re.compile(
    rf'(\n)?(?:Diagnostic message )?at loc\((?:"([^"\n]*)":(\d+):(\d+)|[^)]*)\): (.*?)(?={_AT}|\Z)', re.DOTALL
)
SHIPPED = Path(__file__).parent / "pipelines.mlir"
"""The library of `library=pipelines`: the named pipelines as sequences, a stage an op."""

_running: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("running", default=())
"""Libraries and sequences that are being run: a script may run others, through `ragged_transform.apply`."""


@dataclass(frozen=True)
class RaggedTransformInterpreter(RaggedPass):
    """Run a script of the transform dialect.

    ```mlir
    func.func @f(…) { … }
    transform.named_sequence @__transform_main(%m: !transform.any_op {transform.consumed}) {
      %n = ragged_transform.apply %m {pipeline = "ragged-fuse"} : (!transform.any_op) -> !transform.any_op
      transform.yield
    }
    // becomes
    func.func @f(…) { … } as ragged-fuse leaves it
    ```

    As MLIR's `transform-interpreter`, with two differences: a script in the module is taken out of it before it runs,
    so that it may change the whole module, and `library`, a file that has the script instead, may have the short form.
    `library=pipelines` is one that this package has, with the sequences `ragged_to_llvm` and `ragged_to_gpu`.
    `entry-point` is the sequence that is run.
    """

    library: str = ""
    entry_point: str = _MAIN

    def run(self, op: ir.Operation) -> None:
        """Run the sequence; what it refuses is at its own lines."""
        script = self._load(op) if self.library else _taken_out(op)
        this, running = (self.library, self.entry_point), _running.get()
        if self.library and this in running:
            raise PassFailure(op, f"expected a script that does not run itself, got '{self.library}'")
        token = _running.set((*running, this))
        try:
            self._apply(op, script)
        finally:
            _running.reset(token)

    def _apply(self, op: ir.Operation, script: ir.Module) -> None:
        with script.context, ir.Location.unknown():
            entry = self._entry(op, script)
            check_scopes(script)
            options = transform.interpreter.TransformOptions()
            options.expensive_checks = True  # these find stale handles
            try:
                transform.interpreter.apply_named_sequence(op, entry, script.operation, options)
            except ValueError as error:
                _emit_again(str(error))
                raise PassFailure(op, f"{self.name}: expected '{self.entry_point}' to run, got a failure") from None

    def _load(self, op: ir.Operation) -> ir.Module:
        path = SHIPPED if self.library == "pipelines" else Path(self.library)
        try:
            return load_module(read_file(path), op.context, str(path))
        except OSError as error:
            raise PassFailure(op, f"expected a library, got '{path}': {reason(error)}") from None
        except ParseError as error:
            for diagnostic in error.diagnostics:
                report(diagnostic, op)
            raise PassFailure(op, f"expected a library that is valid, got '{path}'") from None
        except RaggedError as error:
            raise PassFailure(op, f"expected a library that is valid, got {error}") from None

    def _entry(self, op: ir.Operation, script: ir.Module) -> ir.Operation:
        for found in script.body.operations:
            if found.operation.name == "transform.named_sequence" and name_of(found.operation) == self.entry_point:
                return found.operation
        raise PassFailure(op, f"expected a sequence '{self.entry_point}', got none")


def _emit_again(message: str) -> None:
    """Emit the diagnostics that the bindings have put into the text of an exception: each at its line, with its notes,
    which are on lines of their own there, behind it."""
    found: list[tuple[ir.Location, str]] = []
    for match in _DIAGNOSTIC.finditer(message):
        note, file, line, column, text = match.groups()
        if note and found:
            found[-1] = found[-1][0], f"{found[-1][1]}; {text}" + (f" at {file}:{line}:{column}" if file else "")
        else:
            place = ir.Location.file(file, int(line), int(column)) if file else ir.Location.unknown()
            found.append((place, text))
    for place, text in found:
        place.emit_error(text)


def _taken_out(op: ir.Operation) -> ir.Module:
    """A module of the sequences of a module, which it loses."""
    script = ir.Module.create(op.location)
    script.operation.attributes[_LIBRARY] = ir.UnitAttr.get()
    found = op.regions[0].blocks[0].operations
    append(script.body, [inner for inner in found if inner.operation.name == "transform.named_sequence"])
    if _LIBRARY in op.attributes:
        del op.attributes[_LIBRARY]
    return script
