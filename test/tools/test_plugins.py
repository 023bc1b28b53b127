"""Passes and pipelines of other packages: the example, and plug-ins that go wrong."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ROOT
from ragged_dialect.passes import plugins, registry
from ragged_dialect.tools import ragged_opt

PRINTS = """func.func @f(%x: tensor<?xf32>) {
  ragged.print %x {label = "a"} : (tensor<?xf32>) -> ()
  ragged.print %x {label = "b"} : (tensor<?xf32>) -> ()
  return
}
"""
ROWTOOLS = (ROOT / "examples" / "plugin" / "pyproject.toml").read_text()


@pytest.fixture(name="folder")
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path; what is registered meanwhile is taken back."""

    class Done(Exception):
        pass

    (tmp_path / "in.mlir").write_text(PRINTS)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(plugins, "_loaded", set())
    modules = set(sys.modules)
    try:
        with registry.all_or_none():
            yield tmp_path
            raise Done
    except Done:
        pass
    for name in set(sys.modules) - modules:
        if name.startswith(("rowtools", "wrong")):
            del sys.modules[name]


def install(folder: Path, name: str, entry: str) -> None:
    """The metadata that an installed package leaves."""
    made = folder / f"{name}-0.1.0.dist-info"
    made.mkdir()
    (made / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.1.0\n")
    (made / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {entry}\n")


@pytest.fixture(name="rowtools")
def _rowtools(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The example, installed."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "plugin"))
    assert f'"{plugins.GROUP}"]\nrowtools = "rowtools.plugin:register"' in ROWTOOLS
    install(folder, "rowtools", "rowtools.plugin:register")
    return folder


def opt(folder: Path, *flags: str) -> int:
    """Exit code of the tool on the program."""
    return ragged_opt.main([str(folder / "in.mlir"), *flags])


def test_passes_are_found_by_name(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--rowtools-drop-prints=keep=b") == 0
    assert capfd.readouterr().out.count("ragged.print") == 1
    assert opt(rowtools, "--rowtools-drop-prints", "--mlir-print-ir-after=rowtools-drop-prints") == 0
    assert "IR Dump After rowtools-drop-prints" in capfd.readouterr().err


def test_pipelines_are_found_by_name(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--rowtools-release-pipeline", "--mlir-print-ir-after=rowtools-drop-prints") == 0
    assert "IR Dump After rowtools-drop-prints (stage 'quiet')" in capfd.readouterr().err


def test_they_are_listed(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert ragged_opt.main(["--list-passes"]) == 0
    out = capfd.readouterr().out
    assert "--rowtools-drop-prints: Drop `ragged.print`, but for those with a label to keep.\n    keep  (str)\n" in out
    assert "--rowtools-release-pipeline: Ragged IR to the LLVM dialect" in out


def test_they_are_not_looked_for_without_a_reason(rowtools: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert opt(rowtools, "--cse", "--ragged-canonicalize") == 0
    assert "rowtools.plugin" not in sys.modules
    capfd.readouterr()
    assert opt(rowtools, "--no-plugins", "--rowtools-drop-prints") == 1
    assert "unknown flag '--rowtools-drop-prints'" in capfd.readouterr().err


def test_a_module_by_name(folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "plugin"))
    for _ in range(2):  # the second time it is there
        assert opt(folder, "--no-plugins", "--load-pass-plugin=rowtools.plugin", "--rowtools-drop-prints") == 0
        assert "ragged.print" not in capfd.readouterr().out


WRONG: dict[str, tuple[str, str]] = {
    "import": ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
    "missing": ("", "AttributeError: module 'wrong' has no attribute 'register'"),
    "raises": ("def register(): raise ValueError('boom')", "ValueError: boom"),
    "twice": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n  registry.register('wrong-a', None)",
        "expected a new pass name, got 'wrong-a', which is registered",
    ),
    "taken": (
        "from ragged_dialect.passes import registry\n"
        "def register():\n  registry.register('wrong-a', None)\n"
        "  registry.register_pipeline('ragged-fuse', 'wrong', 'f')",
        "expected a new pipeline name, got 'ragged-fuse', which is registered",
    ),
}


@pytest.mark.parametrize("how", WRONG)
def test_plugins_that_go_wrong(how: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """They are named, and leave nothing; programs that do not need them run."""
    text, reason = WRONG[how]
    (folder / "wrong.py").write_text(text)
    install(folder, "wrong", "wrong:register")
    before = registry.names(), registry.pipelines()
    assert opt(folder, "--cse") == 0
    capfd.readouterr()
    assert opt(folder, "--wrong-a") == 1
    expected = f"ragged-opt: expected plug-in 'wrong:register' to register what it adds, got {reason}\n"
    assert capfd.readouterr() == ("", expected)
    assert (registry.names(), registry.pipelines()) == before


def test_a_pass_that_raises(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (folder / "wrong.py").write_text(
        "from ragged_dialect.passes import registry\nfrom ragged_dialect.passes.base import RaggedPass\n"
        "class Wrong(RaggedPass):\n  name = 'wrong-b'\n  def run(self, op): raise KeyError('boom')\n"
        "def register(): registry.register('wrong-b', lambda: Wrong)"
    )
    assert opt(folder, "--load-pass-plugin=wrong", "--wrong-b") == 1
    assert "error: internal error in wrong-b: KeyError: 'boom' (wrong.py:5)" in capfd.readouterr().err
