"""The error texts of run-time checks, as C."""

from __future__ import annotations

from collections.abc import Sequence
from string import Formatter

from ragged_dialect.checks import CHECK_KINDS, Check
from ragged_dialect.runtime.status import Status


def explain(checks: Sequence[Check]) -> str:
    """What is where in a status record, in C, and a function that turns one into the text that `Check.message` makes
    of it."""
    entries = [f"STATUS_{name.upper()}" for name in (*Status._fields, "entries")]
    lines = [
        f"enum {{ {', '.join(entries)} }};",
        "",
        "static int _explain(const int64_t *status) {",
        "  const int64_t i = status[STATUS_COMPONENT], j = i + 1, a = status[STATUS_A], b = status[STATUS_B];",
        "  (void)i, (void)j, (void)a, (void)b;",
    ]
    for number, check in enumerate(checks, 1):
        for case in range(len(CHECK_KINDS[check.kind].cases)):
            lines += _case(number, check, case)
    return "\n".join([*lines, "  return 1;", "}\n"])


def _case(number: int, check: Check, case: int) -> list[str]:
    whole, placed = (_call(check.template(case, component)) for component in (False, True))
    condition = f"  if (status[STATUS_NUMBER] == {number} && status[STATUS_CASE] == {case})"
    if whole == placed:
        return [f"{condition} return {whole};"]
    return [f"{condition} return i < 0 ? {whole} : {placed};"]


def _call(template: str) -> str:
    """A call of `_fail` that fills a text in, where `{name}` stands for an int64_t of that name."""
    pieces: list[str] = []
    values: list[str] = []
    for literal, name, _, _ in Formatter().parse(template):
        pieces.append(literal.replace("%", "%%"))
        if name is not None:
            pieces.append("%lld")
            values.append(f"(long long){name}")
    return f"_fail({', '.join([c_string(''.join(pieces)), *values])})"


def c_string(text: str) -> str:
    """A C string literal of a text, in UTF-8."""
    return '"' + "".join(_character(byte) for byte in text.encode()) + '"'


def _character(byte: int) -> str:
    plain = 32 <= byte < 127 and byte not in b'"\\?'  # ? could be part of a trigraph
    return chr(byte) if plain else f"\\{byte:03o}"
