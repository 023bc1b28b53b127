"""--verify-diagnostics: `expected-error@+1 {{…}}` comments against what was reported."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragged_dialect.asm.diagnostics import Diagnostic, ParseError

_EXPECTED = re.compile(
    r"expected-(?P<severity>error|warning|remark|note)(?P<regex>-re)? *"
    r"(?:@(?P<where>[+-]\d+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)


@dataclass
class _Expectation:
    line: int
    at: int
    severity: str
    text: str
    pattern: re.Pattern[str]
    met: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        same = diagnostic.severity == self.severity and diagnostic.line == self.at
        return same and self.pattern.search(diagnostic.message) is not None


class Expectations:
    """The expectations written in a text: on the line given by `@+n`, `@-n`, `@above`, `@below`
    (past other expectations), `@unknown`, or their own."""

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        self.expected = list(_find(text.split("\n"), filename))

    def check(self, diagnostics: Iterable[Diagnostic], only_expected: bool = False) -> list[Diagnostic]:
        """What differs: diagnostics that no comment expects (notes may go without one, with `only_expected`
        all may), and expectations that nothing met."""
        problems: list[Diagnostic] = []
        for found in _flat(diagnostics):
            hit = next((e for e in self.expected if not e.met and e.matches(found)), None)
            if hit is not None:
                hit.met = True
            elif found.severity != "note" and not only_expected:
                message = f"unexpected {found.severity}: {found.message}"
                problems.append(Diagnostic(message, found.filename, found.line, found.column))
        missing = [e for e in self.expected if not e.met]
        return problems + [
            Diagnostic(f'expected {e.severity} "{e.text}" was not produced', self.filename, e.line, 1) for e in missing
        ]


def _flat(diagnostics: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        yield diagnostic
        yield from _flat(diagnostic.notes)


def _find(lines: list[str], filename: str) -> Iterator[_Expectation]:
    found = {number: m for number, line in enumerate(lines, 1) if (m := _EXPECTED.search(line))}
    for number, match in found.items():
        where = match["where"]
        at = number
        if where == "unknown":
            at = 0
        elif where in ("above", "below"):
            step = 1 if where == "below" else -1
            at += step
            while at in found:
                at += step
        elif where:
            at += int(where)
        try:
            pattern = _pattern(match["text"], bool(match["regex"]))
        except re.error as error:
            message = f"expected a regular expression in '{match['text']}', got one with {error.msg}"
            raise ParseError(Diagnostic(message, filename, number, match.start() + 1)) from None
        yield _Expectation(number, at, match["severity"], match["text"], pattern)


def _pattern(text: str, has_regex: bool) -> re.Pattern[str]:
    """`-re` texts hold regular expressions in `{{…}}`; the rest is taken literally."""
    parts = re.split(r"\{\{(.*?)\}\}", text) if has_regex else [text]
    return re.compile("".join(f"(?:{part})" if i % 2 else re.escape(part) for i, part in enumerate(parts)))
