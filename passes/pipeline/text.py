"""Reading pipeline text: `builtin.module(a{x=1 y-z=2},func.func(b,cse))`, or a bare list."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from ragged_dialect.errors import PassError

_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_DEEPEST = 64
_MODULE = "builtin.module"


class Option(NamedTuple):
    """`name=value` in the braces of a pass, or a bare name, whose value is None."""

    name: str
    value: str | None
    column: int


class Element(NamedTuple):
    """A pass with its options as written (braces included), or an op name with what is nested in it."""

    name: str
    column: int
    options: str = ""
    nested: tuple[Element, ...] | None = None

    @property
    def text(self) -> str:
        """A pass as it is written."""
        return self.name + self.options

    def parsed_options(self) -> list[Option]:
        """The options one by one; values may hold balanced braces and quoted blanks."""
        start = self.column + len(self.name) + 1
        inside = self.options[1:-1]
        return [_option(inside[a:b], start + a) for a, b in _words(inside)]


def pipeline_error(column: int, message: str) -> PassError:
    """An error at a column (from 1) of pipeline text."""
    return PassError(f"pipeline:1:{column}: error: {message}")


@lru_cache  # the named pipelines are read once per program that is compiled
def parse_text(text: str, root: str = _MODULE) -> tuple[Element, ...]:
    """The elements that run on `root`. PassError with the column when the text is malformed."""
    if (zero := text.find("\0") + 1) > 0:  # no path has one, and text of MLIR's passes ends there
        raise pipeline_error(zero, "expected text, got a zero byte")
    reader = _Reader(text)
    elements = reader.elements() if text.strip() else ()
    if reader.rest():
        raise pipeline_error(reader.at + 1, f"expected ',' or the end, got '{reader.rest()[0]}'")
    if len(elements) == 1 and elements[0].nested is not None and elements[0].name in (root, "any"):
        return elements[0].nested
    return elements


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def rest(self) -> str:
        """What is left, from the next character that is not blank."""
        self.at += len(self.text[self.at :]) - len(self.text[self.at :].lstrip())
        return self.text[self.at :]

    def take(self, token: str) -> bool:
        found = self.rest().startswith(token)
        self.at += len(token) * found
        return found

    def elements(self) -> tuple[Element, ...]:
        out = [self.element()]
        while self.take(","):
            out.append(self.element())
        return tuple(out)

    def element(self) -> Element:
        match = _NAME.match(self.rest())
        if match is None:
            got = f"'{self.rest()[0]}'" if self.rest() else "the end"
            raise pipeline_error(self.at + 1, f"expected a pass name, got {got}")
        column = self.at + 1
        self.at += match.end()
        if self.take("("):
            nested = () if self.rest().startswith(")") else self._nested(column)
            if not self.take(")"):
                raise pipeline_error(self.at + 1, f"expected ')' to close '{match.group()}('")
            return Element(match.group(), column, nested=nested)
        return Element(match.group(), column, self._options(match.group()))

    def _nested(self, column: int) -> tuple[Element, ...]:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise pipeline_error(column, f"expected lists nested at most {_DEEPEST} deep")
        elements = self.elements()
        self.depth -= 1
        return elements

    def _options(self, name: str) -> str:
        if not self.text.startswith("{", self.at):
            return ""
        start, depth = self.at, 0
        for self.at in range(start, len(self.text)):
            depth += {"{": 1, "}": -1}.get(self.text[self.at], 0)
            if depth == 0:
                self.at += 1
                return self.text[start : self.at]
        raise pipeline_error(start + 1, f"expected '}}' to close the options of '{name}'")


def _words(text: str) -> list[tuple[int, int]]:
    """Spans of the words of option text: blanks inside braces and quotes do not divide."""
    return [match.span() for match in re.finditer(r"(?:\{[^{}]*\}|\"[^\"]*\"|'[^']*'|\S)+", text)]


def _option(word: str, column: int) -> Option:
    name, equals, value = word.partition("=")
    if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
        value = value[1:-1]
    return Option(name, value if equals else None, column)
