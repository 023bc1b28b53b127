"""Fixtures of the tests of plug-ins."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.merges import MERGE
from support.packages import PRINTS, install

from conftest import ROOT
from ragged_dialect import plugins


@pytest.fixture(name="file")
def _file(tmp_path: Path) -> Path:
    """A file with the program of `support.merges`."""
    path = tmp_path / "in.mlir"
    path.write_text(MERGE)
    return path


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is registered meanwhile is taken back."""

    class Done(Exception):
        pass

    (tmp_path / "in.mlir").write_text(PRINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_loaded", {})
    modules = set(sys.modules)
    try:
        with plugins.all_or_none():
            yield tmp_path
            raise Done
    except Done:
        pass
    for name in set(sys.modules) - modules:
        if name.startswith(("rowtools", "wrong")):
            del sys.modules[name]


@pytest.fixture(name="rowtools")
def _rowtools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, installed."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "plugin"))
    assert (
        f'"{plugins.GROUP}"]\nrowtools = "rowtools.plugin:register"'
        in (ROOT / "examples" / "plugin" / "pyproject.toml").read_text()
    )
    install(folder, "rowtools", "rowtools.plugin:register")
    return folder
