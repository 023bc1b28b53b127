"""Programs of plug-ins in the cache: what changes when a plug-in's sources do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from conftest import ROOT

PLUGIN = """
from ragged_dialect import ops
from ragged_dialect._mlir import ext
class Kept(ext.Dialect, name="kept"): pass
def register(): ops.register_dialect(Kept, lowering="LOWERING")
"""
SAY = """
import pathlib, sys
from ragged_dialect import plugins
plugins.load(sys.argv[1])
if len(sys.argv) > 2:
    pathlib.Path(sys.argv[2]).write_text("EXPANSIONS = dict()")
print(plugins.versions())
"""


def state(folder: Path, name: str, edited: str | None = None) -> str:
    """What programs of a plug-in depend on; a file may be edited after it was loaded."""
    done = subprocess.run(
        [sys.executable, "-c", SAY, name, *([] if edited is None else [edited])],
        cwd=folder, env={**os.environ, "PYTHONPATH": f"{ROOT}:{folder}"}, capture_output=True, text=True, check=True,
        timeout=60,
    )  # fmt: skip
    return done.stdout


def test_modules_that_are_registered_count(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(PLUGIN.replace("LOWERING", "kept_lowering"))
    lowering = tmp_path / "kept_lowering.py"
    lowering.write_text("EXPANSIONS = {}")
    before = state(tmp_path, "kept")
    assert state(tmp_path, "kept") == before
    lowering.write_text("EXPANSIONS = {}  # others")
    assert state(tmp_path, "kept") != before


def test_packages_without_an_init_count(tmp_path: Path) -> None:
    (tmp_path / "names").mkdir()
    (tmp_path / "names" / "kept.py").write_text(PLUGIN.replace("LOWERING", "names.lowering"))
    lowering = tmp_path / "names" / "lowering.py"
    lowering.write_text("EXPANSIONS = {}")
    before = state(tmp_path, "names.kept")
    lowering.write_text("EXPANSIONS = {}  # others")
    assert state(tmp_path, "names.kept") != before


def test_sources_count_as_they_were_when_they_were_loaded(tmp_path: Path) -> None:
    (tmp_path / "kept.py").write_text(PLUGIN.replace("LOWERING", "kept_lowering"))
    (tmp_path / "kept_lowering.py").write_text("EXPANSIONS = {}")
    before = state(tmp_path, "kept")
    assert state(tmp_path, "kept", "kept_lowering.py") == before
    assert state(tmp_path, "kept") != before
