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
_SYMBOL_OP = re.compile(r"(?<![\w$.])[\w$.]*(?:func|module|global|named_sequence)\s[^@\n(){}]*$")
_HIDDEN = rf"{STRING}|{COMMENT}|\\."  # the last so that no string starts at a quote that is escaped
_NEAR = 500
"""Characters before and behind a name that are looked at to tell whether it is defined there: lines may be long."""

# `%a, %b:2 = …` at the start of a statement; `%i = …` anywhere, as in `scf.for` and `iter_args`.
_FIRST_OF_ROW = re.compile(rf"(?:^|[{{}}])[ \t]*(?:%{_NAME}+(?::\d+)?[ \t]*,[ \t]*)*$", re.MULTILINE)
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
        sought = rf'(?P<symbol>@"?{bare}"?)(?!{_NAME})|sym_name\s*=\s*(?P<quoted>"{bare}")'
    elif name.startswith(("#", "!")):
        sought = rf"(?P<name>{re.escape(name)})(?!{_NAME})\s*=(?!=)"
    else:
        return None
    for match in re.compile(rf"{sought}|{_HIDDEN}").finditer(text, *part):
        for group, found in match.groupdict().items():
            start, end = match.span(group)
            if found is not None and (group != "symbol" or _SYMBOL_OP.search(text, _near(text, start), start)):
                return start, end
    return None


def _near(text: str, offset: int) -> int:
    """Where what is looked at before an offset starts, in its line."""
    start = max(0, offset - _NEAR)
    return max(start, text.rfind("\n", start, offset) + 1)


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
    around: dict[int, int] = {}
    found = list(_occurrences(text, text[slice(*use)], part, around))
    block = next((block for start, block, _ in found if start == use[0]), None)
    blocks: set[int] = set()
    while block is not None:
        blocks.add(block)
        block = around.get(block)
    seen = [start for start, block, defines in found if defines and block in blocks]
    before = [start for start in seen if start <= use[0]]
    at = before[-1] if before else next(iter(seen), None)
    return None if at is None else (at, at + use[1] - use[0])


def _occurrences(text: str, name: str, part: Span, around: dict[int, int]) -> Iterator[tuple[int, int, bool]]:
    """Offset, block, and whether it is a definition, of a value's every occurrence. A block is the offset of its brace;
    `around` gets the block around every block."""
    braces: list[int] = [part[0] - 1]
    brackets: list[int] = []
    tokens = re.compile(rf"{_HIDDEN}|(?P<value>{re.escape(name)}(?!{_NAME}))|[{{}}()]")
    for match in tokens.finditer(text, *part):
        if match["value"]:
            yield match.start(), braces[-1], _defines(text, match.span(), brackets[-1] if brackets else None)
        elif match.group() == "{":
            around[match.start()] = braces[-1]
            braces.append(match.start())
        elif match.group() == "(":
            brackets.append(match.start())
        elif match.group() == "}" and len(braces) > 1:
            braces.pop()
        elif match.group() == ")" and brackets:
            brackets.pop()


def _defines(text: str, span: Span, bracket: int | None) -> bool:
    start, end = span
    if _ASSIGNED.match(text, end):
        return True
    if _ROW.match(text, end, end + _NEAR) and _FIRST_OF_ROW.search(text, _near(text, start), start):
        return True
    if bracket is None:
        return False
    before = text[max(0, bracket - 200) : bracket]
    typed = _TYPED.match(text, end) is not None and _PARAMETERS.search(before) is not None
    return typed or _INDICES.match(text, end, end + _NEAR) is not None
