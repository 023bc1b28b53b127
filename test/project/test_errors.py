"""Every error text has a negative test: in a lit file's expected-error, or in a string of a pytest file."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import pytest

from conftest import ROOT
from ragged_dialect import errors

EXCEPTIONS = {name for name in vars(errors) if name.endswith("Error")} | {
    "PassFailure",
    "DerivativeFailure",
    "ParseError",
}
CALLS = ROOT / "ragged_dialect" / "execution.py"
CORE = sorted({*(ROOT / "ragged_dialect").glob("*.py"), *(ROOT / "ragged_dialect" / "ops").glob("*.py")} - {CALLS})
# The reference interpreter is part of the tests; its errors are for who writes them.
FOLDERS = (
    *(f"ragged_dialect/{name}" for name in ("arrays", "asm", "compat", "compiler", "runtime", "tools")),
    "passes",
    "lowering",
)
OTHERS = [CALLS, *sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))]
# Guards that no input is known to reach: patterns that never settle, symbols no library has,
# lowerings that go wrong.
UNREACHED = (
    "expected a normal form within",
    "expected a compiled entry, got none (unresolved symbols)",
    "expected valid IR after the lowering",
)


class Raised(NamedTuple):
    """An error text in the sources: where, and its literal parts."""

    place: str
    parts: tuple[str, ...]

    @property
    def pattern(self) -> str:
        """The text as a pattern."""
        return ".+?".join(re.escape(part) for part in self.parts)


def raised(path: Path) -> Iterator[Raised]:
    """Every error that a file raises with a text of its own; the text is the last argument."""
    for node in ast.walk(ast.parse(path.read_text())):
        call = node.exc if isinstance(node, ast.Raise) else None
        if isinstance(call, ast.Call) and ast.unparse(call.func) in EXCEPTIONS and call.args:
            parts = _literal_parts(call.args[-1])
            if parts:
                yield Raised(f"{path.relative_to(ROOT)}:{node.lineno}", parts)


def _literal_parts(node: ast.expr) -> tuple[str, ...]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return (node.value,)
    if not isinstance(node, ast.JoinedStr):
        return ()
    text = "".join(str(v.value) if isinstance(v, ast.Constant) else "\0" for v in node.values)
    return tuple(text.split("\0"))


@cache
def expected_texts() -> str:
    """Every text that a negative test expects."""
    texts: list[str] = []
    for path in (ROOT / "lit_tests").rglob("*.mlir"):
        texts += re.findall(r"(?:expected-error\S*\s*\{\{|CHECK\S*:)(.*)", path.read_text())
    for path in {*(ROOT / "test").rglob("test_*.py")} - {Path(__file__).resolve()}:
        nodes = ast.walk(ast.parse(path.read_text()))
        texts += [n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    return "\n".join(re.sub(r"\\([^\w\s])", r"\1", text) for text in texts)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_every_text_of_the_core_is_tested_whole(path: Path) -> None:
    missing = [f"{e.place}: {e.pattern}" for e in raised(path) if not re.search(e.pattern, expected_texts())]
    assert not missing, "\n".join(missing)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_text_is_tested(path: Path) -> None:
    known = [e for e in raised(path) if not any(text in "".join(e.parts) for text in UNREACHED)]
    missing = [f"{e.place}: {e.pattern}" for e in known if max(e.parts, key=len) not in expected_texts()]
    assert not missing, "\n".join(missing)


def test_every_error_is_a_runtime_error() -> None:
    """As what PyTorch, fvdb and FBGEMM raise."""
    found = [getattr(errors, name) for name in vars(errors) if name.endswith("Error")]
    assert len(found) > 8
    assert all(issubclass(error, errors.RaggedError) and issubclass(error, RuntimeError) for error in found)


def test_texts_are_found() -> None:
    for paths, least in ((CORE, 80), (OTHERS, 20)):
        found = (error for path in paths for error in raised(path))
        assert len(list(islice(found, least))) == least
