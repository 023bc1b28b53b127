"""Translation between the short form of the dialect's ops and MLIR's generic form.

    %r = ragged.partition %x, %o {dim = 0} : (tensor<?xf32>, tensor<4xi64>) -> tensor<…>
    %r = "ragged.partition"(%x, %o) {dim = 0 : i64} : (tensor<?xf32>, tensor<4xi64>) -> tensor<…>

A region is in parentheses after the operands; an empty one, `({})`, is left out. The bindings know only the
generic form for ops defined from Python. Neither direction adds or removes a newline, but that of an empty
region. `operandSegmentSizes` and `resultSegmentSizes` are filled in on the way in and dropped on the way out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ragged_dialect.asm.bounds import refuse
from ragged_dialect.asm.diagnostics import Diagnostic, ParseError
from ragged_dialect.asm.scan import COMMENT, STRING, Bracket, Name, Scanner
from ragged_dialect.asm.source import MEMORY, Insertion, Source
from ragged_dialect.errors import LayoutError
from ragged_dialect.segments import MIXED_OPS, MIXED_RESULTS, REGION_OPS, segments

_EMPTY = " ({})"
_SEGMENTS = "operandSegmentSizes"
_RESULT_SEGMENTS = "resultSegmentSizes"
_NAME = re.compile(r"[\w$\-]+\.[A-Za-z_][\w$.]*")
_OPERAND = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_OPERANDS = rf"(?P<operands>{_OPERAND.pattern}(?:, {_OPERAND.pattern})*)"
_TYPES = rf' : \((?:[^()"/]|{STRING})*\) ->'
# Most ops look like this and need no closer look, which takes several times as long. Single blanks
# only: runs of optional blanks would make the match quadratic.
_PLAIN = re.compile(rf'(?: {_OPERANDS})?(?: \{{[^{{}}"/[]*\}})?{_TYPES}')
_PLAIN_GENERIC = re.compile(rf'\({_OPERANDS}?\)(?P<attributes> \{{[^{{}}"/[<]*\}})?(?={_TYPES})')
_KEY = re.compile(rf'(?:\s+|{COMMENT})*"?([A-Za-z_][\w$.]*)"?')
_BLANKS = re.compile(rf"({STRING})|{COMMENT}|\s+")
_INTEGER = re.compile(rf"{STRING}|{COMMENT}|->|[<>]|(?<![\w.])(-?\d+) : i64\b")


class _Deviation(Exception):
    """Text that does not continue as an op must: offset and what was expected there."""

    def __init__(self, offset: int, expected: str) -> None:
        super().__init__(expected)
        self.offset = offset


class _Op:
    """The parts of one op's text after its name; _Deviation when they are not there."""

    def __init__(self, scanner: Scanner, name: Name) -> None:
        self.scanner, self.text, self.name = scanner, scanner.text, name
        self.operands, self.operands_end = self._parenthesised() if name.quoted else self._bare()
        at = self.operands_end
        self.region: Bracket | None = None
        if name.name in REGION_OPS and self._next(at) == "(":
            self.region = self._bracket(at)
            at = self.region.end
        self.attributes: Bracket | None = None
        if self._next(at) == "{":
            self.attributes = self._bracket(at)
            at = self.attributes.end
        self.end = at
        self.colon = self._expect(at, ":", "':' and the types of its operands and results")
        self.types = self._bracket(self._expect(self.colon + 1, "(", "the types of its operands in parentheses"))
        arrow = self._expect(self.types.end, "->", "'->' and the types of its results")
        self.results: Bracket | None = None
        if name.name in MIXED_RESULTS and self._next(arrow + 2) == "(":
            self.results = self._bracket(arrow + 2)

    def _next(self, at: int) -> str:
        at = self.scanner.skip_blank(at)
        return self.text[at : at + 1]

    def _expect(self, at: int, token: str, what: str) -> int:
        at = self.scanner.skip_blank(at)
        if not self.text.startswith(token, at):
            raise _Deviation(at, what)
        return at

    def _bracket(self, at: int) -> Bracket:
        at = self.scanner.skip_blank(at)
        bracket = self.scanner.bracket(at)
        if bracket is None:
            raise _Deviation(at, f"'{self.text[at]}' to be closed")
        return bracket

    def _bare(self) -> tuple[None, int]:
        match = _OPERAND.match(self.text, self.scanner.skip_blank(self.name.end))
        if match is None:
            return None, self.name.end
        while self._next(match.end()) == ",":
            at = self.scanner.skip_blank(self.scanner.skip_blank(match.end()) + 1)
            match = _OPERAND.match(self.text, at)
            if match is None:
                raise _Deviation(at, "an operand after ','")
        return None, match.end()

    def _parenthesised(self) -> tuple[Bracket, int]:
        bracket = self._bracket(self.name.end)
        if not all(_OPERAND.fullmatch(self.text[a:b].strip()) for a, b in bracket.items):
            raise _Deviation(bracket.start, "operands")
        return bracket, bracket.end

    def sizes(self, missing: bool = False) -> list[str]:
        """The sizes of groups by the types as written, or those that are missing among the attributes; LayoutError when
        there are too many runs."""
        groups = {_SEGMENTS: self.types.items}
        if self.name.name in MIXED_RESULTS:  # of one type it is not in parentheses
            groups[_RESULT_SEGMENTS] = self.results.items if self.results else ((0, 1),)
        items = self.attributes.items if missing and self.attributes else ()
        there = {match.group(1) for a, b in items if (match := _KEY.match(self.text, a, b))}
        return [
            f"{name} = array<i32: {', '.join(map(str, segments(self._types(own))))}>"
            for name, own in groups.items()
            if name not in there
        ]

    def _types(self, items: Sequence[tuple[int, int]]) -> list[str]:
        return [_BLANKS.sub(lambda m: m.group(1) or "", self.text[a:b]) for a, b in items]


def to_generic(text: str) -> str:
    """The text with every short op in generic form; other text stays as it is.
    ParseError for a short op that cannot be read."""
    return translate(text).generic


def translate(text: str, filename: str = MEMORY) -> Source:
    """As `to_generic`, with the way back to the user's columns. ParseError also for what MLIR's parser must not see."""
    refused = refuse(text)
    if refused is not None:
        offset, message = refused
        raise ParseError(Diagnostic(message, filename, *Source(text, filename).position(offset)))
    scanner = Scanner(text)
    insertions: list[Insertion] = []
    suspects: list[tuple[int, str]] = []
    for name in scanner.names():
        if not name.certain:
            suspects.append((name.start, name.name))
        elif not name.quoted or name.name in MIXED_OPS:
            plain = None if name.name in MIXED_OPS else _PLAIN.match(text, name.end)
            if plain is not None:
                insertions += _parentheses(name, max(plain.end("operands"), name.end), name.name in REGION_OPS)
                continue
            try:
                insertions += _insertions(_Op(scanner, name))
            except _Deviation as error:
                if not name.quoted:
                    raise _refusal(text, filename, error.offset, name, f"expected {error}") from None
            except LayoutError as error:
                raise _refusal(text, filename, name.start, name, str(error)) from None
    insertions.sort(key=lambda insertion: insertion[0])  # attributes come behind the region, and what is in it
    return Source(text, filename, tuple(insertions), tuple(suspects))


def _refusal(text: str, filename: str, offset: int, name: Name, message: str) -> ParseError:
    line, column = Source(text, filename).position(offset)
    return ParseError(Diagnostic(f"'{name.name}' op {message}", filename, line, column))


def _parentheses(name: Name, operands_end: int, region: bool) -> list[Insertion]:
    """Around operands, with an empty region after them."""
    return [(name.start, '"'), (name.end, '"('), (operands_end, f"){_EMPTY}" if region else ")")]


def _insertions(op: _Op) -> list[Insertion]:
    name = op.name
    absent = name.name in REGION_OPS and op.region is None
    out = [] if name.quoted else _parentheses(name, op.operands_end, absent)
    if name.name in MIXED_OPS and (missing := op.sizes(missing=True)):
        sizes = ", ".join(missing)
        if op.attributes is None:
            out.append((op.colon, f"{{{sizes}}} "))
        else:
            out.append((op.attributes.start + 1, sizes + (", " if op.attributes.items else "")))
    return out


def to_short(text: str) -> str:
    """The text with every generic op of the dialect in short form; other text stays as it is."""
    scanner = Scanner(text)
    edits: list[tuple[int, int, str]] = []
    for name in scanner.names():
        if not name.quoted or not _NAME.fullmatch(name.name):
            continue
        plain = None if name.name in MIXED_OPS | REGION_OPS else _PLAIN_GENERIC.match(text, name.end)
        if plain is not None:
            edits.append((name.start, plain.end(), _plain_head(name, plain)))
            continue
        try:
            op = _Op(scanner, name)
        except _Deviation:
            continue
        edits.append((name.start, op.operands_end, _name_and_operands(op)))
        is_empty = op.region is None or not text[op.region.start : op.region.end].strip("({ \n})")
        behind = op.operands_end if op.region is None or is_empty else op.region.end
        edits.append((behind, op.end, _short_attributes(op)))
    pieces: list[str] = []
    last = 0
    for start, end, short in sorted(edits):
        pieces += (text[last:start], short)
        last = end
    return "".join([*pieces, text[last:]])


def _plain_head(name: Name, plain: re.Match[str]) -> str:
    operands, attributes = plain["operands"], plain["attributes"] or ""
    head = f"{name.name} {operands}" if operands else name.name
    return head + _short_integers(attributes)


def _name_and_operands(op: _Op) -> str:
    """Those of a generic op in short form."""
    text, operands = op.text, op.operands
    assert operands is not None
    inside = text[operands.start + 1 : operands.end - 1]
    blank = " " if inside and not inside[0].isspace() else ""
    return op.name.name + text[op.name.end : operands.start] + blank + inside


def _short_attributes(op: _Op) -> str:
    """The attributes of a generic op in short form, and what is before them."""
    text, attributes = op.text, op.attributes
    if attributes is None:
        return ""
    items = [text[a:b] for a, b in attributes.items]
    kept = [_short_integers(item) for item in items if not _is_implied(op, item)]
    body = ",".join(kept)
    if len(kept) < len(items):
        body = body.lstrip(" ")
    elif not items:
        body = text[attributes.start + 1 : attributes.end - 1]
    blank = text[op.operands_end if op.region is None else op.region.end : attributes.start]
    return f"{blank}{{{body}}}" if body or not items else blank.rstrip(" ")


def _is_implied(op: _Op, item: str) -> bool:
    """Whether an attribute is one of the sizes of groups that the way in would compute."""
    if op.name.name not in MIXED_OPS or "\n" in item:
        return False
    try:
        return item.replace(" ", "") in [sizes.replace(" ", "") for sizes in op.sizes()]
    except LayoutError:
        return False


def _short_integers(attribute: str) -> str:
    """Drops `: i64` after integers, which is what they are without; not inside `<…>`, where a
    foreign attribute may mean something else by it."""
    depth = 0

    def shorten(match: re.Match[str]) -> str:
        nonlocal depth
        depth += {"<": 1, ">": -1}.get(match.group(), 0)
        return match.group(1) if match.group(1) and depth == 0 else match.group()

    return _INTEGER.sub(shorten, attribute)
