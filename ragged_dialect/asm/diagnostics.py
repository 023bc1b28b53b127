"""Diagnostics as plain data, at the user's own lines and columns."""

from __future__ import annotations

from typing import Literal, NamedTuple

from ragged_dialect.errors import VerifyError

Severity = Literal["error", "warning", "remark", "note"]


class Diagnostic(NamedTuple):
    """A message at a place. `line` and `column` count from 1; 0 where the place is not known."""

    message: str
    filename: str = "<unknown>"
    line: int = 0
    column: int = 0
    severity: Severity = "error"
    notes: tuple[Diagnostic, ...] = ()

    def __str__(self) -> str:
        place = f"{self.filename}:{self.line}:{self.column}" if self.line else self.filename
        return "\n".join([f"{place}: {self.severity}: {self.message}", *map(str, self.notes)])


class ParseError(VerifyError):
    """Text that does not parse or verify, with its diagnostics."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics
