"""Diagnostics for a terminal: with the line they are about, a caret below the column, and colours."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.tools.cli import INPUTS

if TYPE_CHECKING:
    from ragged_dialect.tools.options import Diagnosing

_SEVERITIES = ("remark", "warning", "error")
_COLOURS = {"error": "1;31", "warning": "1;35", "remark": "1;34", "note": "1;30"}
_WIDEST = 2000
_OP_NOTE = "see current operation:"


def on_terminal() -> bool:
    """Whether errors are shown where colours are."""
    return sys.stderr.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


class Renderer:
    """How diagnostics are shown: in colour, and which."""

    def __init__(self, options: Diagnosing | None = None) -> None:
        self.options = options
        wanted = options.color if options is not None else None
        self.colour = on_terminal() if wanted is None else wanted

    def wanted(self, diagnostic: Diagnostic) -> Diagnostic | None:
        """What is to be shown of a diagnostic."""
        options = self.options
        if options is None:
            return diagnostic
        least = _SEVERITIES.index(options.verbosity.removesuffix("s"))
        if diagnostic.severity in _SEVERITIES[:least]:
            return None
        notes = () if options.no_notes else diagnostic.notes
        return diagnostic._replace(
            notes=tuple(n for n in notes if options.op_note or not n.message.startswith(_OP_NOTE))
        )

    def render(self, diagnostic: Diagnostic) -> str:
        """The text of a diagnostic and its notes."""
        return "\n".join(self._lines(diagnostic))

    def _lines(self, diagnostic: Diagnostic) -> Iterator[str]:
        place, _, _ = str(diagnostic._replace(notes=())).partition(f": {diagnostic.severity}: ")
        severity = self._in(_COLOURS[diagnostic.severity], f"{diagnostic.severity}:")
        yield f"{self._in('1', f'{place}:')} {severity} {self._in('1', diagnostic.message)}"
        line = _line(diagnostic)
        if line is not None:
            before = line.encode()[: diagnostic.column - 1].decode(errors="ignore")
            blank = "".join("\t" if char == "\t" else " " for char in before)
            yield from (line, f"{blank}{self._in('1;32', '^')}")
        for note in diagnostic.notes:
            yield from self._lines(note)

    def _in(self, code: str, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def _line(diagnostic: Diagnostic) -> str | None:
    """The line of an input that a diagnostic is about; None where there is none, or it is no use on a screen."""
    data = INPUTS.get(diagnostic.filename)
    if data is None or not diagnostic.line:
        return None
    lines = data.split(b"\n", diagnostic.line)
    line = lines[diagnostic.line - 1] if len(lines) >= diagnostic.line else b""
    shown = line.decode(errors="replace").rstrip("\r")
    return shown if shown and shown.isprintable() | ("\t" in shown) and len(shown) <= _WIDEST else None
