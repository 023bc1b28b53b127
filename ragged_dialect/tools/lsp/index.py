"""Where values, symbols and aliases of a text are defined, found without a parser: text that is being typed has none.

Spans are pairs of offsets. Nothing is known of ops but how MLIR's own print what they define.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragged_dialect.asm.scan import COMMENT, STRING

Span = tuple[int, int]

_NAME = r"[\w$.\-]"
_TOKEN = re.compile(rf'%{_NAME}+|@(?:{_NAME}+|{STRING})|[#!][A-Za-z_]{_NAME}*|"?[A-Za-z_]{_NAME}*"?')
_PART = re.compile(r"^// ?-----[ \t]*$", re.MULTILINE)
_SYMBOL_OPS = r"(?<![\w$.])[\w$.]*(?:func|module|global|named_sequence)\s[^@\n(){}]*"

# `%a, %b:2 = …` at the start of a statement; `%i = …` anywhere, as in `scf.for` and `iter_args`.
_FIRST_OF_ROW = re.compile(rf"(?:^|[{{}}])[ \t]*(?:%{_NAME}+(?::\d+)?[ \t]*,[ \t]*)*$")
_ROW = re.compile(r"(?::\d+)?\s*(?:,[^=()\n]*)?=(?!=)")
_ASSIGNED = re.compile(r"(?::\d+)?\s*=(?!=)")
# `@f(%x: …)`, `^bb0(%x: …)`, `dimensions = [1] (%x: …)`, but not `ins(%x : …)`.
_TYPED = re.compile(r"\s*:")
_PARAMETERS = re.compile(rf'(?:[@^]{_NAME}+|[)\]}}"])\s*$')
# `scf.forall (%i, %j) in (…)`, `scf.parallel (%i) = (…)`
_INDICES = re.compile(r"[^()]*\)\s*(?:in\b|=(?!=))")


def token_at(text: str, offset: int) -> Span | None:
    """The name at an offset: of a value, a symbol, an alias, an op."""
    start = text.rfind("\n", 0, offset) + 1
    end = text.find("\n", offset)
    for match in _TOKEN.finditer(text, start, len(text) if end < 0 else end):
        if match.start() <= offset <= match.end():
            return match.span()
    return None


def definition(text: str, token: Span) -> Span | None:
    """Where what a name stands for is defined, in its part of the text."""
    name = text[slice(*token)]
    part = _part(text, token[0])
    if name.startswith("%"):
        return _value(text, token, part)
    if name.startswith("@"):
        bare = re.escape(name[1:].strip('"'))
        sought = rf'{_SYMBOL_OPS}(?P<name>@"?{bare}"?)(?!{_NAME})|sym_name\s*=\s*(?P<quoted>"{bare}")'
    elif name.startswith(("#", "!")):
        sought = rf"(?P<name>{re.escape(name)})(?!{_NAME})\s*=(?!=)"
    else:
        return None
    for match in re.finditer(rf"{sought}|{STRING}|{COMMENT}", text[slice(*part)]):
        for group, found in match.groupdict().items():
            if found is not None:
                return part[0] + match.start(group), part[0] + match.end(group)
    return None


def _part(text: str, offset: int) -> Span:
    """What is a module of its own around an offset."""
    start = 0
    for marker in _PART.finditer(text):
        if marker.start() > offset:
            return start, marker.start()
        start = marker.end()
    return start, len(text)


def _value(text: str, use: Span, part: Span) -> Span | None:
    """The last definition before a use that is in a block around it; where there is none, the first behind."""
    found = list(_occurrences(text, text[slice(*use)], part))
    blocks = next((blocks for start, blocks, _ in found if start == use[0]), None)
    if blocks is None:
        return None
    seen = [start for start, around, defines in found if defines and blocks[: len(around)] == around]
    before = [start for start in seen if start <= use[0]]
    at = before[-1] if before else next(iter(seen), None)
    return None if at is None else (at, at + use[1] - use[0])


def _occurrences(text: str, name: str, part: Span) -> Iterator[tuple[int, tuple[int, ...], bool]]:
    """Offset, offsets of the braces around it, and whether it is a definition, of a value's every occurrence."""
    braces: list[int] = []
    brackets: list[int] = []
    tokens = re.compile(rf"{STRING}|{COMMENT}|(?P<value>{re.escape(name)}(?!{_NAME}))|[{{}}()]")
    for match in tokens.finditer(text, *part):
        stack = braces if match.group() in "{}" else brackets
        if match["value"]:
            yield match.start(), tuple(braces), _defines(text, match.span(), brackets[-1] if brackets else None)
        elif match.group() in "{(":
            stack.append(match.start())
        elif match.group() in "})" and stack:
            stack.pop()


def _defines(text: str, span: Span, bracket: int | None) -> bool:
    start, end = span
    line = text.rfind("\n", 0, start) + 1
    if _ASSIGNED.match(text, end) or (_ROW.match(text, end) and _FIRST_OF_ROW.search(text[line:start])):
        return True
    if bracket is None:
        return False
    before = text[max(0, bracket - 200) : bracket]
    typed = _TYPED.match(text, end) is not None and _PARAMETERS.search(before) is not None
    return typed or _INDICES.match(text, end) is not None
