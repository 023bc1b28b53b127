"""MLIR's locations and diagnostics, brought back to the user's text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from ragged_dialect._mlir import Op, ir
from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.asm.source import MEMORY, Source
from ragged_dialect.ir.match import blocks_of


@contextmanager
def collect(context: Any) -> Generator[list[Diagnostic]]:
    """Collects every diagnostic of the context while it is entered, instead of printing it."""
    diagnostics: list[Diagnostic] = []

    def handler(diagnostic: ir.Diagnostic) -> bool:
        diagnostics.append(from_mlir(diagnostic))
        return True

    # Without this flag errors go into the exception only, in no order with the others.
    before, context.emit_error_diagnostics = context.emit_error_diagnostics, True
    try:
        with context.attach_diagnostic_handler(handler):
            yield diagnostics
    finally:
        context.emit_error_diagnostics = before


def from_mlir(diagnostic: ir.Diagnostic) -> Diagnostic:
    """A copy of MLIR's diagnostic (its own object must not outlive the handler)."""
    filename, line, column = file_position(diagnostic.location)
    notes = tuple(from_mlir(note) for note in diagnostic.notes)
    severity: Any = str(diagnostic.severity).rsplit(".", 1)[-1].lower()
    return Diagnostic(str(diagnostic.message), filename, line, column, severity, notes)


def file_position(location: ir.Location) -> tuple[str, int, int]:
    """File, line and column of a location: of the first file location inside it."""
    location = ir.Location.from_attr(location.attr, location.context)  # of its own class, not Location
    if isinstance(location, ir.FileLineColLoc):
        return location.filename, location.start_line, location.start_col
    for inner in _inner(location):
        place = file_position(inner)
        if place[1]:
            return place
    return "<unknown>", 0, 0


def name_of(location: ir.Location) -> str | None:
    """The name of a named location, None for others."""
    location = ir.Location.from_attr(location.attr, location.context)  # of its own class, not Location
    return str(location.name_str) if isinstance(location, ir.NameLoc) else None


def _inner(location: Any) -> list[Any]:
    if isinstance(location, ir.FusedLoc):
        return list(location.locations)
    if isinstance(location, ir.CallSiteLoc):
        return [location.callee, location.caller]
    return [location.child_loc] if isinstance(location, ir.NameLoc) else []


def to_user(diagnostic: Diagnostic, source: Source) -> Diagnostic:
    """The diagnostic with positions in the generic text moved to the user's text."""
    notes = tuple(to_user(note, source) for note in diagnostic.notes)
    if diagnostic.filename != MEMORY:
        return diagnostic._replace(notes=notes)
    column = source.column(diagnostic.line, diagnostic.column)
    return diagnostic._replace(filename=source.filename, column=column, notes=notes)


def move_locations(op: Op, source: Source) -> None:
    """Move the locations of ops and block arguments from the generic text to the user's."""

    def move(inner: ir.Operation) -> ir.WalkResult:
        location = inner.location
        parent = inner.parent if isinstance(location, ir.UnknownLoc) else None
        if parent is not None and parent.operation.name.startswith("linalg."):  # what the short form implies
            location = parent.operation.location
        inner.location = _moved(location, source)
        for block in blocks_of(inner):
            for argument in block.arguments:
                argument.set_location(_moved(argument.location, source))
        return ir.WalkResult.ADVANCE

    op.walk(move)  # a loop over blocks would import the Python module of every dialect it meets


def _moved(location: ir.Location, source: Source) -> ir.Location:
    if not isinstance(location, ir.FileLineColLoc) or location.filename != MEMORY:
        return location
    line, column = location.start_line, location.start_col
    return ir.Location.file(source.filename, line, source.column(line, column), location.context)
