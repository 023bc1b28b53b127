"""A user's text, the generic form that MLIR parses, and the way back from its columns."""

from __future__ import annotations

from dataclasses import dataclass, field

Insertion = tuple[int, str]

MEMORY = "-"
"""File name that MLIR gives to text it parses from memory."""


@dataclass(frozen=True)
class Source:
    """A text with insertions (offset, string) made, sorted by offset. No insertion has a newline,
    so lines agree; columns are counted in bytes from 1, as MLIR counts them."""

    text: str
    filename: str = MEMORY
    insertions: tuple[Insertion, ...] = ()
    suspects: tuple[tuple[int, str], ...] = ()
    """Offset and name of what looks like an op of the dialect but was left as it is."""
    _lines: dict[int, list[tuple[int, int]]] = field(
        default_factory=dict[int, list[tuple[int, int]]], init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        line, start, last = 1, 0, 0
        for offset, inserted in self.insertions:
            newlines = self.text.count("\n", last, offset)
            if newlines:
                line += newlines
                start = self.text.rfind("\n", last, offset) + 1
            last = offset
            column = len(self.text[start:offset].encode("utf-8", "surrogatepass"))
            self._lines.setdefault(line, []).append((column, len(inserted)))

    @property
    def generic(self) -> str:
        """The text with the insertions made."""
        pieces: list[str] = []
        last = 0
        for offset, inserted in self.insertions:
            pieces += (self.text[last:offset], inserted)
            last = offset
        pieces.append(self.text[last:])
        return "".join(pieces)

    def column(self, line: int, column: int) -> int:
        """Column in the user's text of a line and column of the generic text."""
        shift = 0
        for at, length in self._lines.get(line, ()):
            if column - 1 < at + shift:
                break
            if column - 1 < at + shift + length:
                return at + 1
            shift += length
        return column - shift

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column of an offset in the user's text."""
        start = self.text.rfind("\n", 0, offset) + 1
        line = self.text.count("\n", 0, offset) + 1
        return line, len(self.text[start:offset].encode("utf-8", "surrogatepass")) + 1
