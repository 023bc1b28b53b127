"""Finding the dialect's ops in MLIR text: strings, comments, brackets, operation position.

Nothing here knows MLIR's grammar beyond that. An op name is a bare `ragged.x`, or a string
`"ragged.x"` before `(`, where an operation may start.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from ragged_dialect import extensions

STRING = r'"(?:[^"\\\n]|\\.)*"'
COMMENT = r"//[^\r\n]*(?![^\r\n])"
"""To the end of the line: a pattern that goes on behind it finds nothing in it."""
_BRACKET = re.compile(rf"{STRING}|{COMMENT}|->|>=|<=|[()\[\]{{}}<>,]")
_NOT_BRACKET = re.compile(rf"{STRING}|{COMMENT}|->|>=|<=|[^()\[\]{{}}<>\"/\->]+|[\"/\-=]")
_PAIRS = ("()", "[]", "{}", "<>")
_BLANK = re.compile(rf"(?:\s+|{COMMENT})*")
_GAP = rf"(?:\s|{COMMENT})*"  # one blank at a time: runs of runs would take exponential time to fail
_DIMS = re.compile(rf"{STRING}|{COMMENT}|\){_GAP}(?P<keyword>dimensions|permutation){_GAP}={_GAP}")
_NUMBER = rf"{_GAP}-?(?:0x[\da-fA-F]{{1,15}}|\d{{1,18}}){_GAP}"
_INTEGERS = re.compile(rf"\[(?:{_NUMBER}(?:,{_NUMBER})*|{_GAP})\]")
_CLOSING = {"(": ")", "[": "]", "{": "}", "<": ">"}
_CLOSERS = frozenset(_CLOSING.values())
_RESULT = re.compile(r"%[\w$.\-]+(?:\s*:\s*\d+)?$")
_WORD = re.compile(r"[A-Za-z_][\w$.]*$")
_SCALAR = re.compile(r"(?:index|none|[su]?i\d+|b?f\d+)$")


DEEPEST = 256
"""Brackets nest at most this deep; MLIR's parser overflows its stack at some thousand."""


def too_deep(text: str) -> int | None:
    """Offset of the first bracket that is nested too deep, if there is one."""
    brackets = _NOT_BRACKET.sub("", text)
    for _ in range(DEEPEST):  # each round takes the innermost pairs away
        before = len(brackets)
        for pair in _PAIRS:
            brackets = brackets.replace(pair, "")
        if len(brackets) == before:
            break
    return _first_too_deep(text) if len(brackets) > DEEPEST else None


def _first_too_deep(text: str) -> int | None:
    depth = 0
    for match in _BRACKET.finditer(text):
        depth += (match.group() in _CLOSING) - (match.group() in _CLOSERS and depth > 0)
        if depth > DEEPEST:
            return match.start()
    return None


def bad_dims(text: str) -> tuple[int, str] | None:
    """Offset and keyword of the first `dimensions =` or `permutation =` behind the operands of a linalg op that no
    list of integers follows: MLIR's parser goes on without the attribute, and crashes."""
    if "dimensions" not in text and "permutation" not in text:
        return None
    for match in _DIMS.finditer(text):
        if match["keyword"] and not _INTEGERS.match(text, match.end()):
            return match.end(), match["keyword"]
    return None


class Name(NamedTuple):
    """An op name in operation position: its span (with the quotes) and whether it is quoted.
    `certain` is false for a bare name that may as well be an attribute's."""

    start: int
    end: int
    name: str
    quoted: bool
    certain: bool = True


class Bracket(NamedTuple):
    """A bracketed list: its span, brackets included, and the spans of its items."""

    start: int
    end: int
    items: tuple[tuple[int, int], ...]


@cache
def _interesting(dialects: tuple[str, ...]) -> re.Pattern[str]:
    names = "|".join(map(re.escape, dialects))
    return re.compile(rf"(?P<string>{STRING})|(?P<comment>{COMMENT})|(?<![\w$.%@#!^\-])(?:{names})\.[A-Za-z_][\w$.]*")


class Scanner:
    """One pass over a text; remembers comments, so that it can look back over them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._comments: dict[int, int] = {}

    def names(self) -> Iterator[Name]:
        """The op names of our dialect and those of plug-ins, in order."""
        dialects = extensions.names()
        quoted = tuple(f'"{name}.' for name in dialects)
        for match in _interesting(dialects).finditer(self.text):
            if match.lastgroup == "comment":
                self._comments[match.end()] = match.start()
            elif match.lastgroup == "string":
                if match.group().startswith(quoted) and self._is_generic(match.start(), match.end()):
                    yield Name(match.start(), match.end(), match.group()[1:-1], quoted=True)
            elif self._starts_op(match.start(), quoted=False):
                yield Name(match.start(), match.end(), match.group(), False, self._is_certain(match.end()))

    def _is_generic(self, start: int, end: int) -> bool:
        return self.text.startswith("(", self.skip_blank(end)) and self._starts_op(start, quoted=True)

    def _is_certain(self, end: int) -> bool:
        at = self.skip_blank(end)
        return at < len(self.text) and self.text[at] not in "=,})]>"

    def _starts_op(self, position: int, quoted: bool) -> bool:
        """Whether an operation may start here, judged by what stands before."""
        before = self._before(position)
        if before < 0:
            return True
        char = self.text[before]
        if char in "([<,@#!":
            return False
        if char == "=":
            target = self._before(before)
            return _RESULT.search(self.text, max(0, target - 200), target + 1) is not None
        if quoted and "\n" not in self.text[before:position]:
            # `pdl.operation "ragged.x"(…)`: the string is an operand of the word before it.
            word = _WORD.search(self.text, max(0, before - 200), before + 1)
            return word is None or _SCALAR.match(word.group()) is not None
        return True

    def _before(self, position: int) -> int:
        """Index of the last character before `position` outside blanks and comments, or -1."""
        while True:
            while position > 0 and self.text[position - 1].isspace():
                position -= 1
            if position not in self._comments:
                return position - 1
            position = self._comments[position]

    def skip_blank(self, position: int) -> int:
        """The first position from here that is neither blank nor in a comment."""
        match = _BLANK.match(self.text, position)
        return match.end() if match else position

    def bracket(self, opening: int) -> Bracket | None:
        """The bracket at `opening` with its comma-separated items; None when it does not close."""
        stack = [_CLOSING[self.text[opening]]]
        items: list[tuple[int, int]] = []
        start = opening + 1
        for match in _BRACKET.finditer(self.text, opening + 1):
            token = match.group()
            if token in _CLOSING:
                stack.append(_CLOSING[token])
            elif token == stack[-1]:
                stack.pop()
                if not stack:
                    if items or self.skip_blank(start) < match.start():
                        items.append((start, match.start()))
                    return Bracket(opening, match.end(), tuple(items))
            elif token in _CLOSERS:
                return None
            elif token == "," and len(stack) == 1:
                items.append((start, match.start()))
                start = match.end()
        return None
