"""--verify-diagnostics: expectations in comments against diagnostics."""

from __future__ import annotations

import pytest

from ragged_dialect.asm.diagnostics import Diagnostic
from ragged_dialect.errors import RaggedError
from ragged_dialect.tools.expectations import Expectations


def _error(line: int, message: str = "expected less, got more", **more: object) -> Diagnostic:
    return Diagnostic(message, "f.mlir", line, 1, **more)  # type: ignore[arg-type]


MET = [
    ("x // expected-error {{got more}}", 1),
    ("// expected-error@+1 {{got more}}\nx", 2),
    ("x\n// expected-error@-1 {{got more}}", 1),
    ("// expected-error@below {{got more}}\n// expected-error@below {{expected less}}\nx", 3),
    ("x\n// expected-error@above {{got more}}\n// expected-error @above {{expected less}}", 1),
    ("// expected-error@unknown {{got more}}", 0),
    ("x // expected-error-re {{{{less|fewer}}, got {{[a-z]+}}}}", 1),
    ("// expected-error@+1 {{got {{1}}}}\nx", 2),
]


@pytest.mark.parametrize(("text", "line"), MET)
def test_met(text: str, line: int) -> None:
    found = [_error(line, "got {{1}}")] if "{{1}}" in text else [_error(line)] * text.count("expected-error")
    assert Expectations(text, "f.mlir").check(found) == []


def test_each_expectation_meets_one_diagnostic() -> None:
    problems = Expectations("x // expected-error {{got more}}", "f.mlir").check([_error(1), _error(1)])
    assert [str(p) for p in problems] == ["f.mlir:1:1: error: unexpected error: expected less, got more"]


def test_missing() -> None:
    problems = Expectations("\nx // expected-error {{got more}}", "f.mlir").check([])
    assert [str(p) for p in problems] == ['f.mlir:2:1: error: expected error "got more" was not produced']


@pytest.mark.parametrize(
    "found", [_error(2), _error(1, "other"), _error(1, severity="warning")], ids=["line", "text", "severity"]
)
def test_what_does_not_meet(found: Diagnostic) -> None:
    problems = [str(p) for p in Expectations("x // expected-error {{got more}}", "f.mlir").check([found])]
    assert len(problems) == 2
    assert f"unexpected {found.severity}: {found.message}" in problems[0]
    assert "was not produced" in problems[1]


def test_notes() -> None:
    """A note needs no comment; one that has a comment must come."""
    found = _error(1, notes=(Diagnostic("see here", "f.mlir", 1, 1, "note"),))
    assert Expectations("x // expected-error {{got more}}", "f.mlir").check([found]) == []
    text = "// expected-note@+1 {{see here}}\nx"
    moved = Diagnostic("m", "f.mlir", 2, 1, "error", (Diagnostic("see here", "f.mlir", 2, 1, "note"),))
    assert [p.message for p in Expectations(text, "f.mlir").check([moved])] == ["unexpected error: m"]
    assert len(Expectations(text, "f.mlir").check([])) == 1


@pytest.mark.parametrize("text", ["expected-error {{no end", "expected-error {missing}", "expected-fatal {{x}}"])
def test_no_expectation(text: str) -> None:
    assert Expectations(text, "f.mlir").expected == []


def test_a_malformed_expression() -> None:
    with pytest.raises(
        RaggedError,
        match=r"^f.mlir:2:6: error: expected a regular expression in 'has \{\{\[0-9\}\} operands', got one with",
    ):
        Expectations("\nx // expected-error-re {{has {{[0-9}} operands}}", "f.mlir")


def test_an_empty_pattern_is_taken_literally() -> None:
    assert Expectations("x // expected-error-re {{(a}}", "f.mlir").check([_error(1, "(a")]) == []
