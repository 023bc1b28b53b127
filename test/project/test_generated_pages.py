"""Writing and comparing generated pages: `docs/generated.py`."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

from conftest import ROOT


@pytest.fixture
def generated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """The module, for pages in a folder of their own."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    found = importlib.import_module("generated")
    monkeypatch.setattr(found, "ROOT", tmp_path)
    return found


@pytest.mark.parametrize("before", [None, "old"])
def test_an_old_page(generated: Any, tmp_path: Path, before: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing page is an old one. `--check` names it and leaves it alone."""
    page, other = tmp_path / "page.md", tmp_path / "other.md"
    other.write_text("other")
    if before is not None:
        page.write_text(before)
    pages = {page: "new", other: "other"}
    assert generated.write_or_check(pages, "/docs/generate_it.py", ["--check"]) == 1
    expected = "expected page.md up to date, got an old one (run python docs/generate_it.py)\n"
    assert capsys.readouterr() == ("", expected)
    assert (page.read_text() if page.exists() else None) == before
    assert generated.write_or_check(pages, "/docs/generate_it.py", []) == 0
    assert (page.read_text(), other.read_text()) == ("new", "other")
    assert generated.write_or_check(pages, "/docs/generate_it.py", ["--check"]) == 0
    assert capsys.readouterr() == ("", "")
